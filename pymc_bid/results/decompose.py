"""Post-processing: from draws of (r, Y, σ²) to one decomposition with its uncertainty."""

import warnings
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.results.convergence import judge, quantities_of, state_numbers
from pymc_bid.results.decomposition import (
    OF_CHOSEN_COLUMNS,
    STATE_NUMBERS,
    InterpolativeDecomposition,
)
from pymc_bid.results.draws import (
    Draws,
    read_draws,
    read_error,
    read_ladder,
    reduced_data,
)
from pymc_bid.results.groups import find_groups
from pymc_bid.results.selection import choose_columns, count_sets
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
        The matrix that was modelled; either form will do if it was compressed. C is made of the
        columns of what is given here.
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
    >>> result = bid.decompose(idata, A)
    >>> result.columns == planted.columns
    True
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
    summary = summarise_weights(
        draws, active, model, ci_prob, minimum_draws, keep_draws, random_seed
    )
    chosen = draws.candidates[:, active]
    noise_draws = (
        summary.noise
        if draws.identity or draws.pool is not None
        else interpolation_noise(draws, active, summary.kept)
    )
    verdict = judge(
        *(quantities_of(idata, draws.state, noise), draws.state, numbers, draws.basis, state),
        read_ladder(idata),
    )
    if verdict.converged is False:
        warnings.warn(str(verdict), UserWarning, stacklevel=2)

    number_of_sets = min(number_of_sets, sets.visits.size)
    members = np.zeros((max(len(groups.members), 1), draws.basis.size), dtype=np.int8)
    for row, group in enumerate(groups.members):
        members[row, group] = 1
    basis = _plain(draws.basis)
    of_chosen = (
        chosen,
        summary.mean,
        summary.sd,
        summary.interval,
        summary.kept,
        active.astype(np.int32),
    )
    dataset = xr.Dataset(
        {
            **{
                name: (dims, values)
                for (name, dims), values in zip(OF_CHOSEN_COLUMNS.items(), of_chosen, strict=True)
            },
            "noise_draws": (("sample", "noise"), noise_draws),
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
            "mse": _error_of(draws, active, summary.mean),
            "identity": int(draws.identity),
            "pool": int(draws.pool is not None),
            "verdict": str(verdict),
        },
    )
    return InterpolativeDecomposition(dataset)


def _errors(idata: Any, draws: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean squared error of each draw, before and after the identity is put in place."""
    before, after = (np.full(draws.shape, np.nan) for _ in range(2))
    if draws.weights is None:
        reported = read_error(idata)
        before = before if reported is None else reported
        return before, before.copy() if draws.identity or draws.pool is not None else after
    data = reduced_data(draws)
    # Columns in the order of memory, to be gathered fast.
    blocks = [block._replace(basis=np.asfortranarray(block.basis)) for block in data.blocks]
    entries, squares = data.products.rows.sum(), np.empty(draws.columns.size)
    for chain, draw, active, weights in draws.each():
        for basis, target, columns in blocks:
            residual = target - basis[:, active] @ weights[active][:, columns]
            squares[columns] = np.einsum("ij,ij->j", residual, residual)
        total = squares.sum()
        left = total if draws.pool is not None else squares[~draws.state[chain, draw]].sum()
        before[chain, draw] = (left if draws.identity else total) / entries
        after[chain, draw] = left / entries
    return before, after


def _error_of(draws: Draws, active, weights) -> float:
    """Mean squared error of C·W over the entries that are observed."""
    data = reduced_data(draws)
    full = np.zeros((draws.basis.size, draws.columns.size))
    full[active] = weights
    return float(data.squared_errors(active, full).sum() / data.products.rows.sum())


def _mean_by_set(error: NDArray[np.float64], sets) -> NDArray[np.float64]:
    total = np.bincount(sets.member.ravel(), error.ravel(), minlength=sets.visits.size)
    return total / sets.visits


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
