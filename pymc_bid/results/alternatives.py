"""How much is explained with fewer or more columns, and with others in their place."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pymc.model import Model

from pymc_bid.evidence import SetsOfModel
from pymc_bid.inputs import read_whole_number
from pymc_bid.results.posterior import read_state
from pymc_bid.results.rows import Rows
from pymc_bid.results.scores import Scorer, summarise
from pymc_bid.results.search import BestSets

OF_ROWS = ("r2", "lower", "upper", "error")


def size_curve(
    model: Model,
    sizes: Iterable[int],
    rows: Any = None,
    *,
    idata: Any = None,
    draws: int = 200,
    ci_prob: float = 0.94,
    random_seed: int | np.random.Generator | None = None,
    state: str | None = None,
) -> pd.DataFrame:
    """Explained variance and error against the number of columns, without sampling.

    Of each size the best set is taken that a search finds by the evidence in closed form. From sets
    that columns were added to one by one, and from random ones, columns are exchanged as long as
    that is better, and what is found of one size leads to sets of the others.

    Parameters
    ----------
    model : pymc.Model
        From `column_selection`, `gbt` or `gbtn`, or one that is recognised like them.
    sizes : iterable of int
        Numbers of columns. Those that the prior rules out are left out.
    rows : array_like, pandas.DataFrame or xarray.DataArray, optional
        Held-out rows, see `score_sets`. R² of the rows that the model was made of hardly ever falls
        with one more column; that of others tells which columns help. Where they have gaps, all
        sizes are measured on the same rows nevertheless.
    idata : arviz.InferenceData or xarray.DataTree, optional
        Draws of the model. With them the table says how probable each size is, and sets that were
        visited are tried as well.
    draws, ci_prob, random_seed, state
        As for `score_sets`.

    Returns
    -------
    pandas.DataFrame
        Index `K`; `log_evidence` and `standard_error` of the best set found; `r2`, `lower`, `upper`
        and `error` on the rows of the model, as in `score_sets`, and with `held_out_` before them
        on others, where there is `coverage` too; `probability` of the size in the draws; and the
        `columns`. All these are over the columns that are not in the set, and nan if there are
        none.

    Examples
    --------
    >>> curve = bid.size_curve(model, range(3), random_seed=1)
    >>> curve["r2"].round(1).tolist()
    [-0.0, 0.4, 0.9]
    """
    if not isinstance(sizes, Iterable):
        raise TypeError(f"sizes must be a list of numbers of columns, got {sizes!r}.")
    sizes = sorted({read_whole_number(size, "sizes", least=0) for size in sizes})
    sets = SetsOfModel(model, state)
    scorer = Scorer(sets, draws, ci_prob, random_seed)
    tables = [Rows(sets, model)] + ([] if rows is None else [Rows(sets, model, rows)])
    best, visited = BestSets(sets), None
    if idata is not None:
        name = sets.decomposition.roles.state.name
        visited = read_state(idata, name)[0].reshape(-1, len(sets.labels))
        best.learn(np.unique(visited, axis=0).astype(np.int64))
    found = best.of_sizes(sizes)
    if not found:
        raise ValueError(
            f"sizes has no number of columns that a set can have: there are {len(sets.labels)} "
            f"columns, and the prior may rule out some numbers; got {sizes}."
        )
    lines: dict[int, dict[str, Any]] = {}
    for size, one in found.items():
        inside, *outside = (
            summarise(one.state, score, scorer) for score in scorer.score(one.state, *tables)
        )
        lines[size] = {name: inside[name] for name in ("log_evidence", "standard_error", *OF_ROWS)}
        for line in outside:
            lines[size] |= {f"held_out_{name}": line[name] for name in (*OF_ROWS, "coverage")}
        if visited is not None:
            lines[size]["probability"] = float((visited.sum(axis=1) == size).mean())
        lines[size]["columns"] = sets.labels_of(one.state)
    return pd.DataFrame(list(lines.values()), index=pd.Index(list(lines), name="K"))


def replacements(model: Model, columns: Sequence[Any], *, state: str | None = None) -> pd.DataFrame:
    """Return what it costs to replace one chosen column by another, in log evidence.

    Parameters
    ----------
    model : pymc.Model
        From `column_selection`, `gbt` or `gbtn`, or one that is recognised like them.
    columns : sequence
        The chosen columns: their labels, or their numbers where there are no labels.
    state : str, optional
        Name of the state vector, if there are several in the model.

    Returns
    -------
    pandas.DataFrame
        A row for each chosen column that the prior does not force in, a column for each one that
        can take its place: the log of the evidence and the prior of that set less that of the
        chosen one. 0 where it does as well, -3 where it has a twentieth of the probability;
        positive where it is better. Closed form; what the bounds of the weights make of it is
        approximate (expectation propagation).

    Examples
    --------
    >>> cost = bid.replacements(model, planted.columns)
    >>> cost.shape
    (2, 4)
    """
    sets = SetsOfModel(model, state)
    chosen = sets.read(columns)
    if sets.log_prior(chosen) == -np.inf:
        raise ValueError(
            f"columns is a set that the prior of the model rules out: {sets.labels_of(chosen)}."
        )

    def measure(moved):
        return sets.with_bounds(moved) + sets.log_prior(moved)

    changeable = np.isfinite(sets.log_odds)
    outgoing = np.flatnonzero(changeable & (chosen == 1))
    incoming = np.flatnonzero(changeable & (chosen == 0))
    cost, here = np.empty((outgoing.size, incoming.size)), measure(chosen)
    for row, one in enumerate(outgoing):
        for column, other in enumerate(incoming):
            moved = chosen.copy()
            moved[[one, other]] = 0, 1
            cost[row, column] = measure(moved) - here
    labels = [[sets.labels[place] for place in places] for places in (outgoing, incoming)]
    index, names = (
        pd.Index(found, name=name) for found, name in zip(labels, ("replaced", "by"), strict=True)
    )
    return pd.DataFrame(cost, index=index, columns=names)
