"""Post-processing: from draws of (r, Y, σ²) to one decomposition with its uncertainty."""

import warnings
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.results.convergence import check_convergence
from pymc_bid.results.decomposition import (
    OF_CHOSEN_COLUMNS,
    STATE_NUMBERS,
    InterpolativeDecomposition,
)
from pymc_bid.results.draws import Draws
from pymc_bid.results.explained import shares_of_draws
from pymc_bid.results.posterior import read_error
from pymc_bid.results.selection import (
    choose_columns,
    count_sets,
    find_groups,
    least_correlation,
)
from pymc_bid.results.weights import interpolation_noise, summarise_weights


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
    A : array_like, pandas.DataFrame, xarray.DataArray or CompressedMatrix
        What the model was made of; either form will do if it was compressed. To a model that
        standardises columns, or leaves some out, the table is given as it is: its columns are found
        by their labels, or by position if there are none. C is made of the columns of what is given
        here, in their units.
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
        How many of the sets visited `sets` shows.
    state, weights, noise : str
        Names of the variables r, Y and σ².
    random_seed : int, optional
        For weights drawn given J.

    Warns
    -----
    UserWarning
        If the chains do not agree, or if W rests on fewer than `minimum_draws` draws.

    Examples
    --------
    >>> result = bid.decompose(idata, A)
    >>> result.columns == planted.columns
    True
    """
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must be between 0 and 1, got {ci_prob}.")
    draws = Draws(idata, A, pool, state, weights, noise)
    groups = find_groups(draws.state, draws.candidates.T @ draws.candidates)
    sets = count_sets(draws.state, groups.members)
    before, after = _errors(idata, draws)
    error = np.ravel(before if draws.weights is None else after)
    set_error = np.bincount(sets.member.ravel(), error, sets.visits.size) / sets.visits
    verdict = check_convergence(idata, state=state, noise=noise)
    active, choice = choose_columns(
        choose, sets, verdict.entries["inclusion"], set_error, np.asarray(draws.basis)
    )
    if choice == "median probability":
        _warn_of_split_groups(groups, active, draws.basis)
    model = Model.get_context(error_if_none=False) if model is None else model
    summary = summarise_weights(
        draws, active, model, ci_prob, minimum_draws, keep_draws, random_seed
    )
    shares = shares_of_draws(draws.data, draws.variation, active, summary.kept)
    noise_draws = (
        summary.noise
        if draws.identity or draws.pool is not None
        else interpolation_noise(draws, active, summary.kept)
    )
    if verdict.converged is False:
        warnings.warn(str(verdict), UserWarning, stacklevel=2)

    entries = draws.data.products.rows.sum()
    # At least one group, if an empty one: a file format may not know dimensions without entries.
    members = np.zeros((max(len(groups.members), 1), draws.basis.size), dtype=np.int8)
    chances = np.full((3, len(members)), np.nan)
    for row, group in enumerate(groups.members):
        members[row, group] = 1
        correlation = least_correlation(draws.centred_candidates[:, group])
        chances[:, row] = groups.probability[row], groups.expected[row], correlation
    of_chosen = {
        "C": draws.chosen_columns(active),
        "W": summary.mean,
        "W_sd": summary.sd,
        "W_interval": summary.interval,
        "W_draws": summary.kept,
        "position": active.astype(np.int32),
        "place": draws.places[active].astype(np.int32),
    }
    basis = _plain(draws.basis)
    dataset = xr.Dataset(
        {
            **{name: (OF_CHOSEN_COLUMNS[name], values) for name, values in of_chosen.items()},
            "center": ("column", draws.units.center),
            "scale": ("column", draws.units.scale),
            "noise_draws": (("sample", "noise"), noise_draws),
            "r2_draws": (("sample", "column"), shares),
            "error_before": (("chain", "draw"), before),
            "error_after": (("chain", "draw"), after),
            "K": (("chain", "draw"), draws.state.sum(axis=2).astype(np.int32)),
            "set_state": (("set", "basis"), sets.states.astype(np.int8)),
            "set_visits": ("set", sets.visits.astype(np.int32)),
            "set_error": ("set", set_error),
            "group_member": (("group", "basis"), members),
            "group_probability": ("group", chances[0]),
            "group_expected": ("group", chances[1]),
            "group_correlation": ("group", chances[2]),
            **{f"state_{name}": ("basis", verdict.entries[name]) for name in STATE_NUMBERS},
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
            "sets_shown": int(number_of_sets),
            "columns_given": draws.width,
            "ci_prob": float(ci_prob),
            "mse": float(draws.squared_errors(active, summary.mean).sum() / entries),
            "identity": int(draws.identity),
            "missing_are_zero": int(draws.target.has_zeros),
            "pool": int(draws.pool is not None),
            "verdict": str(verdict),
        },
    )
    if draws.constants is not None:
        labels = _plain(np.asarray(draws.constants[draws.constants.dims[0]]))
        values = np.asarray(draws.constants, dtype=np.float64)
        dataset = dataset.assign_coords(constant=labels).assign(constant_value=("constant", values))
    return InterpolativeDecomposition(dataset)


def _errors(idata: Any, draws: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean squared error of each draw, before and after the identity is put in place."""
    before, after = (np.full(draws.shape, np.nan) for _ in range(2))
    if draws.weights is None:
        reported = read_error(idata)
        before = before if reported is None else reported
        return before, before.copy() if draws.identity or draws.pool is not None else after
    entries, interpolated = draws.data.products.rows.sum(), np.ones(draws.columns.size)
    for chain, draw, active, weights in draws.each():
        chosen = draws.state[chain, draw]
        if draws.identity:
            interpolated = (~chosen).astype(np.float64)
        values = np.ascontiguousarray(weights, dtype=np.float64)
        squares = draws.data.squared_errors(active, values, interpolated)
        left = squares.sum() if draws.pool is not None else squares[~chosen].sum()
        before[chain, draw] = (left if draws.identity else squares.sum()) / entries
        after[chain, draw] = left / entries
    return before, after


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


def _plain(labels: NDArray) -> NDArray:
    """Labels of a type that can be written to a file."""
    return labels.astype(str) if labels.dtype == object else labels
