"""Post-processing: from draws of (r, Y, σ²) to one decomposition with its uncertainty."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.regression import reduce_regression
from pymc_bid.results.conditional import draw_weights_given
from pymc_bid.results.convergence import judge, quantities_of, state_numbers
from pymc_bid.results.decomposition import STATE_NUMBERS, InterpolativeDecomposition
from pymc_bid.results.draws import (
    Draws,
    interpolated_columns,
    read_draws,
    read_group,
    weights_of,
)
from pymc_bid.results.groups import find_groups
from pymc_bid.results.selection import choose_columns, count_sets


def decompose(
    idata: Any,
    A: Any,
    *,
    pool: Any = None,
    choose: Any = "most visited",
    model: Model | None = None,
    ci_prob: float = 0.94,
    minimum_draws: int = 100,
    keep_draws: int = 500,
    number_of_sets: int = 10,
    state: str = "r",
    weights: str = "Y",
    noise: str = "sigma2",
    random_seed: int | None = None,
) -> InterpolativeDecomposition:
    """Turn draws into an interpolative decomposition A ≈ C·W.

    C = A[:, J], and W = Y[J, :] with W[:, J] set to the identity: the paper's post-processing. In a
    model with the identity inside, told by its `omega2` or `own_mean`, W has it already.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned.
    A : array_like, pandas.DataFrame or xarray.DataArray
        The matrix that was modelled.
    pool : array_like, pandas.DataFrame or xarray.DataArray, optional
        The candidate columns, if the model was given any.
    choose : {"most visited", "median probability", "lowest error"} or list
        The columns J to report. "most visited": the most probable set, where sets that differ only
        by an exchange of interchangeable columns count as one; if all are visited equally often,
        the one nearest to all draws. "median probability": every column with a probability above
        one half. "lowest error": the set whose draws have the lowest mean error. Or a set of your
        own, as labels, positions or a mask.
    model : pymc.Model, optional
        The model sampled; that of the context if not given. W is summarised from the draws with
        exactly the set J, if these are `minimum_draws` or more. If they are not (a set of your own
        may not have been visited at all), or if Y was not stored, W is drawn given J by the model's
        own block updates, which is the same posterior.
    ci_prob : float
        Probability of the equal-tailed intervals.
    minimum_draws : int
        See `model`.
    keep_draws : int
        Draws of W kept for intervals and predictions; mean and sd are those of all draws.
    number_of_sets : int
        How many of the sets visited to report.
    state, weights, noise : str
        Names of the variables r, Y and σ².
    random_seed : int, optional
        For weights drawn given J.

    Returns
    -------
    InterpolativeDecomposition

    Warns
    -----
    UserWarning
        If the chains do not agree, or if W rests on fewer than `minimum_draws` draws.

    Examples
    --------
    >>> import pymc as pm, pymc_bid as bid
    >>> A = bid.datasets.make_planted().A
    >>> with bid.gbt(A, k=6):
    ...     idata = pm.sample()  # doctest: +SKIP
    >>> bid.decompose(idata, A)  # doctest: +SKIP
    """
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must be between 0 and 1, got {ci_prob}.")
    draws = read_draws(idata, A, pool, state, weights, noise)
    groups = find_groups(draws.state, draws.candidates.T @ draws.candidates)
    sets = count_sets(draws.state, groups.members)
    before, after = _errors(idata, draws)
    set_error = _mean_by_set(after if draws.weights is not None else before, sets)
    numbers = state_numbers(draws.state)
    active, choice = choose_columns(
        choose, sets, numbers["inclusion"], set_error, np.asarray(draws.basis)
    )
    if choice == "median probability":
        _warn_of_split_groups(groups, active, draws.basis)
    model = Model.get_context(error_if_none=False) if model is None else model
    summary = _summarise(draws, active, model, ci_prob, minimum_draws, keep_draws, random_seed)
    chosen = draws.candidates[:, active]
    noise_draws = (
        summary.noise
        if draws.identity or draws.pool is not None
        else _interpolation_noise(draws, active, summary.kept)
    )
    verdict = judge(
        quantities_of(idata, draws.state, noise), draws.state, numbers, draws.basis, state
    )
    if verdict.converged is False:
        warnings.warn(str(verdict), UserWarning, stacklevel=2)

    number_of_sets = min(number_of_sets, sets.visits.size)
    members = np.zeros((max(len(groups.members), 1), draws.basis.size), dtype=np.int8)
    for row, group in enumerate(groups.members):
        members[row, group] = 1
    basis = _plain(draws.basis)
    dataset = xr.Dataset(
        {
            "C": (("row", "chosen"), chosen),
            "W": (("chosen", "column"), summary.mean),
            "W_sd": (("chosen", "column"), summary.sd),
            "W_interval": (("bound", "chosen", "column"), summary.interval),
            "W_draws": (("sample", "chosen", "column"), summary.kept),
            "noise_draws": ("sample", noise_draws),
            "position": ("chosen", active.astype(np.int32)),
            "error_before": (("chain", "draw"), before),
            "error_after": (("chain", "draw"), after),
            "K": (("chain", "draw"), draws.state.sum(axis=2).astype(np.int32)),
            "set_state": (("set", "basis"), sets.states[:number_of_sets].astype(np.int8)),
            "set_visits": ("set", sets.visits[:number_of_sets].astype(np.int32)),
            "set_error": ("set", set_error[:number_of_sets]),
            "group_member": (("group", "basis"), members),
            "group_probability": ("group", _padded(groups.probability, len(members))),
            "group_expected": ("group", _padded(groups.expected, len(members))),
            **{f"state_{name}": ("basis", numbers[name]) for name in STATE_NUMBERS},
        },
        coords={
            "row": _plain(draws.rows),
            "column": _plain(draws.columns),
            "basis": basis,
            "chosen": basis[active],
            "bound": np.array(["lower", "upper"]),
        },
        attrs={
            "choice": choice,
            "weights_from": summary.source,
            "draws_used": summary.used,
            "number_of_sets": int(sets.visits.size),
            "ci_prob": float(ci_prob),
            "mse": float(np.mean((draws.target.values - chosen @ summary.mean) ** 2)),
            "identity": int(draws.identity),
            "pool": int(draws.pool is not None),
            "verdict": str(verdict),
        },
    )
    return InterpolativeDecomposition(dataset)


class WeightSummary(NamedTuple):
    """What is known about W given the chosen columns."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    interval: NDArray[np.float64]
    kept: NDArray[np.float64]
    noise: NDArray[np.float64]
    source: str
    """"draws" or "conditional"."""
    used: int


def _errors(idata: Any, draws: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean squared error of each draw, before and after the identity is put in place."""
    before, after = (np.full(draws.shape, np.nan) for _ in range(2))
    if draws.weights is None:
        statistics = read_group(idata, "sample_stats")
        if statistics is not None and "bid_mse" in statistics:
            before = np.asarray(statistics["bid_mse"].transpose("chain", "draw"), dtype=float)
        return before, before.copy() if draws.identity or draws.pool is not None else after
    data = reduce_regression(draws.candidates, draws.target.values)
    # Columns in the order of memory, to be gathered fast.
    basis = np.asfortranarray(data.basis)
    for chain, draw, active, weights in draws.each():
        residual = data.target - basis[:, active] @ weights[active]
        squares = np.einsum("ij,ij->j", residual, residual)
        total = squares.sum()
        left = total if draws.pool is not None else squares[~draws.state[chain, draw]].sum()
        before[chain, draw] = (left if draws.identity else total) / data.entries
        after[chain, draw] = left / data.entries
    return before, after


def _mean_by_set(error: NDArray[np.float64], sets) -> NDArray[np.float64]:
    total = np.bincount(sets.member.ravel(), error.ravel(), minlength=sets.visits.size)
    return total / sets.visits


def _summarise(
    draws: Draws, active, model, ci_prob, minimum_draws, keep_draws, seed
) -> WeightSummary:
    """Posterior of W given exactly the columns J."""
    wanted = np.zeros(draws.basis.size, dtype=bool)
    wanted[active] = True
    holds = (draws.state == wanted).all(axis=2)
    visits = int(holds.sum()) if draws.weights is not None else 0
    if visits >= minimum_draws or (visits > 0 and model is None):
        if visits < minimum_draws:
            warnings.warn(
                f"Only {visits} of the draws have exactly these {active.size} columns, and W is "
                "summarised from them. Pass `model=` to have W drawn for these columns, or choose "
                "others.",
                UserWarning,
                stacklevel=3,
            )
        return _from_draws(draws, active, holds, ci_prob, keep_draws)
    if model is None:
        why = (
            "Y is not among the draws"
            if draws.weights is None
            else "these columns were never visited together"
        )
        raise ValueError(
            f"{why[0].upper()}{why[1:]}, so W has to be drawn given the columns: pass `model=`, or "
            "call decompose inside the model's context."
        )
    values, noise = draw_weights_given(active, model, keep_draws, seed)
    values = np.stack([_identity_in_place(draws, active, value) for value in values])
    return WeightSummary(
        values.mean(axis=0),
        values.std(axis=0),
        _interval(values, ci_prob),
        values,
        noise,
        "conditional",
        keep_draws,
    )


def _from_draws(draws: Draws, active, holds, ci_prob, keep_draws) -> WeightSummary:
    """Summarise W from the draws that hold exactly J, one pass and without keeping them all."""
    visits = int(holds.sum())
    keep = set(np.linspace(0, visits - 1, min(keep_draws, visits)).round().astype(int).tolist())
    kept = np.empty((len(keep), active.size, draws.columns.size))
    noise = np.full(len(keep), np.nan)
    count = position = 0
    centre = total = square = None
    for chain, draw, _, weights in draws.each():
        if not holds[chain, draw]:
            continue
        value = weights_of(draws, active, weights)
        if centre is None:
            # Deviations from the first draw: sums of squares that do not cancel.
            centre, total, square = value, np.zeros_like(value), np.zeros_like(value)
        deviation = value - centre
        total += deviation
        square += deviation**2
        if count in keep:
            kept[position] = value
            if draws.noise is not None:
                noise[position] = draws.noise[chain, draw]
            position += 1
        count += 1
    mean = total / visits
    variance = np.maximum(square / visits - mean**2, 0.0)
    return WeightSummary(
        centre + mean,
        np.sqrt(variance),
        _interval(kept, ci_prob),
        kept,
        noise,
        "draws",
        visits,
    )


def _interpolation_noise(draws: Draws, active, kept) -> NDArray[np.float64]:
    """Noise variance of the interpolated columns alone, for each kept draw of W.

    The σ² of the paper's model is an average over all columns, and the chosen ones fit themselves:
    intervals for the others would be too narrow.
    """
    data = reduce_regression(draws.candidates, draws.target.values)
    columns = interpolated_columns(draws, active)
    if columns.size == 0:
        return np.zeros(len(kept))
    basis, target = data.basis[:, active], data.target[:, columns]
    squares = [np.sum((target - basis @ weights[:, columns]) ** 2) for weights in kept]
    return np.array(squares) / (draws.rows.size * columns.size)


def _interval(values: NDArray[np.float64], ci_prob: float) -> NDArray[np.float64]:
    return np.quantile(values, [0.5 - ci_prob / 2, 0.5 + ci_prob / 2], axis=0)


def _identity_in_place(draws: Draws, active, rows: NDArray) -> NDArray[np.float64]:
    weights = np.zeros((draws.basis.size, rows.shape[1]))
    weights[active] = rows
    return weights_of(draws, active, weights)


def _warn_of_split_groups(groups, active, labels) -> None:
    for members, probability in zip(groups.members, groups.probability, strict=True):
        if probability > 0.5 and not np.isin(members, active).any():
            names = ", ".join(map(str, labels[members]))
            warnings.warn(
                f"One of {names} is chosen with probability {probability:.2f}, but they share it "
                "and none of them has one half. choose='most visited' takes one of them.",
                UserWarning,
                stacklevel=3,
            )


def _padded(values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Fill up with nan: a file format may not know of dimensions without entries."""
    return np.append(values, np.full(length - values.size, np.nan))


def _plain(labels: NDArray) -> NDArray:
    """Labels of a type that can be written to a file."""
    return labels.astype(str) if labels.dtype == object else labels
