"""What sets of columns are worth: their evidence, and how well they explain the others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pymc.model import Model
from scipy.special import softmax

from pymc_bid.evidence import LogEvidence, SetsOfModel
from pymc_bid.inputs import read_whole_number
from pymc_bid.results.rows import Rows
from pymc_bid.results.search import BestSets

BY = ("set", "column")
BEST = "best found"


class Score(NamedTuple):
    """How well a set explains the other columns of some rows."""

    evidence: LogEvidence
    shares: NDArray[np.float64]
    """R², (draw, column)."""
    error: NDArray[np.float64]
    """Mean squared error of C·W, (column,)."""
    coverage: NDArray[np.float64] | None
    """Of the predictive intervals of held-out rows, (column,)."""


class Scorer:
    """Scores sets of a model on its own rows, and on held-out ones if there are any."""

    def __init__(self, sets: SetsOfModel, draws: int, ci_prob: float, seed: Any):
        if not 0 < ci_prob < 1:
            raise ValueError(f"ci_prob must be between 0 and 1, got {ci_prob}.")
        self._sets, self._ci_prob = sets, ci_prob
        self._draws = read_whole_number(draws, "draws", least=2)
        self._rng = np.random.default_rng(seed)

    def score(self, state: NDArray[np.int64], *tables: Rows) -> list[Score]:
        """Score a set on each of some tables, with the same draws of the weights."""
        active = np.flatnonzero(state)
        drawn = self._sets.draw(state, self._draws, self._rng)
        weights, noise = drawn.resampled(self._rng)
        if tables[0].shared:
            weights[:, :, active] = np.eye(active.size)
        return [
            Score(
                drawn.evidence,
                rows.shares(active, weights),
                rows.errors(active, weights),
                rows.coverage(active, weights, noise, self._ci_prob) if rows.are_held_out else None,
            )
            for rows in tables
        ]

    def interval(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return mean, lower and upper end of the interval of draws of R²."""
        tail = 0.5 - self._ci_prob / 2
        ends = np.quantile(shares, [tail, 1 - tail], axis=0)
        return np.array([shares.mean(axis=0), *ends])

    def mean_interval(self, score: Score) -> NDArray[np.float64]:
        """Return that of the mean over the columns that are not chosen; nan if there are none."""
        explained = score.shares[:, np.isfinite(score.shares).all(axis=0)]
        if explained.shape[1] == 0:
            return np.full(3, np.nan)
        return self.interval(explained.mean(axis=1))


def score_sets(
    model: Model,
    sets: Mapping[str, Sequence[Any]],
    rows: Any = None,
    *,
    by: str = "set",
    best: bool = True,
    draws: int = 400,
    ci_prob: float = 0.94,
    random_seed: int | np.random.Generator | None = None,
    state: str | None = None,
) -> pd.DataFrame:
    """Score sets of columns that somebody names, without sampling.

    Parameters
    ----------
    model : pymc.Model
        From `column_selection`, `gbt` or `gbtn`, or one that is recognised like them.
    sets : dict
        A name for each set, and the labels of its columns (their numbers if there are no labels).
    rows : array_like, pandas.DataFrame or xarray.DataArray, optional
        Held-out rows with the columns of the data, in their units. R² and error are those of these
        rows then; else of the rows that the model was made of. Entries may be missing: those of
        chosen columns are taken for the column's mean in the rows of the model, as the model does
        with its own (with ``missing="mask"``), so that all sets are measured on the same entries of
        a column, and gaps cost a set what they cost it in the model; those of other columns do not
        count.
    by : {"set", "column"}
        A row of the table for each set, or one for each set and column that it does not have.
    best : bool
        Whether to add the best set that a search finds ("best found"), if none of `sets` is it. It
        takes a second or two where there are 30 columns, and some ten where there are a hundred.
    draws : int
        Draws of weights and noise given each set, by importance: where the standard error of the
        evidence is not small, take more.
    ci_prob : float
        Probability of the intervals.
    random_seed : int or numpy.random.Generator, optional
    state : str, optional
        Name of the state vector, if there are several in the model.

    Returns
    -------
    pandas.DataFrame
        By set: `size`; `log_evidence`, as by `bid.log_evidence`, and its `standard_error`;
        `probability` among the sets in the table, which add up to 1, with what the prior of the
        model says of each set (where the number of columns is fixed, sets of any size count alike;
        0 for a set that `include` or `exclude` rules out, nan if they rule out all);
        `r2`, the mean over the columns that are not in the set, with its interval `lower` to
        `upper`; `error`, the mean over these columns of the mean squared error of C·W in the units
        of the model (standardised, if it standardises); for held-out rows also `coverage`, the
        share of their entries within predictive intervals; and the `columns`.

        By column, index (set, column): `r2`, `lower`, `upper`, the root mean squared error `rmse`
        in the units of the data, and `coverage`.

        R² is as in `InterpolativeDecomposition.r2`: of each draw of the weights, then averaged. Of
        held-out rows it is ``1 - |a - C·w|² / |a - m|²`` with m the column's mean in the rows that
        the model was made of.

    Examples
    --------
    >>> scores = bid.score_sets(model, {"two": planted.columns, "one": ["c00"]}, random_seed=1)
    >>> scores["log_evidence"].idxmax()
    'two'
    """
    if by not in BY:
        raise ValueError(f"by must be one of {', '.join(map(repr, BY))}, got {by!r}.")
    if not isinstance(sets, Mapping):
        raise TypeError(f"sets must be a dict of a name for each list of columns, got {sets!r}.")
    if not sets and not best:
        raise ValueError("sets is empty; there is nothing to score with best=False.")
    if best and BEST in map(str, sets):
        raise ValueError(f"sets has the name {BEST!r}, which is that of what the search finds.")
    known = SetsOfModel(model, state)
    scorer, table = Scorer(known, draws, ci_prob, random_seed), Rows(known, model, rows)
    states = {str(name): known.read(columns, f"sets[{name!r}]") for name, columns in sets.items()}
    if best:
        found = BestSets(known)
        # What is given comes after the search: a large set would lead it to all smaller sizes.
        found.best_of_all()
        found.learn(states.values())
        winner = found.best_of_all()
        if winner and not any(np.array_equal(winner.state, given) for given in states.values()):
            states[BEST] = winner.state
    scores = {name: scorer.score(chosen, table)[0] for name, chosen in states.items()}
    if by == "column":
        parts = {name: _by_column(score, scorer, table) for name, score in scores.items()}
        return pd.concat(parts, names=["set", "column"])
    result = pd.DataFrame(
        [summarise(states[name], score, scorer) for name, score in scores.items()],
        index=pd.Index(list(scores), name="set"),
    )
    prior = [known.log_prior(chosen) for chosen in states.values()]
    logs = result["log_evidence"].to_numpy() + prior
    possible = np.isfinite(logs).any()
    result.insert(3, "probability", softmax(logs) if possible else np.full(logs.size, np.nan))
    result["columns"] = [known.labels_of(chosen) for chosen in states.values()]
    return result


def summarise(state: NDArray[np.int64], score: Score, scorer: Scorer) -> dict[str, float]:
    """Return what there is to say of a set in one row of a table."""
    r2, lower, upper = scorer.mean_interval(score)
    mean = {"r2": r2, "lower": lower, "upper": upper, "error": _mean(score.error)}
    if score.coverage is not None:
        mean["coverage"] = _mean(score.coverage)
    return {
        "size": int(state.sum()),
        "log_evidence": score.evidence.value,
        "standard_error": score.evidence.standard_error,
        **mean,
    }


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over the columns that are not chosen, nan if there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else np.nan


def _by_column(score: Score, scorer: Scorer, rows: Rows) -> pd.DataFrame:
    others = np.isfinite(score.error)
    r2, lower, upper = scorer.interval(score.shares[:, others])
    rmse = np.sqrt(score.error[others]) * rows.units.scale[others]
    table = {"r2": r2, "lower": lower, "upper": upper, "rmse": rmse}
    if score.coverage is not None:
        table["coverage"] = score.coverage[others]
    return pd.DataFrame(table, index=pd.Index(rows.columns[others], name="column"))
