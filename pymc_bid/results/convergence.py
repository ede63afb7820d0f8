"""Telling draws that have settled from draws that are stuck, in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.results.diagnostics import quantity_table, state_numbers
from pymc_bid.results.posterior import Ladder, read_ladder, read_state

R_HAT_LIMIT = 1.01
STATE_R_HAT_LIMIT = 1.02
"""R-hat of the worst of many rare flips is noisier than that of one number."""
ESS_PER_CHAIN = 100
"""Also the fewest draws of a chain that tell anything."""


@dataclass(frozen=True)
class Convergence:
    """A verdict on a run, in words; printing it shows them.

    Examples
    --------
    >>> verdict = bid.check_convergence(idata)
    >>> verdict.converged, verdict.table.columns.tolist()
    (True, ['ess', 'r_hat'])
    """

    converged: bool | None
    """None if it can't be told, as from a single chain."""
    reasons: tuple[str, ...]
    """What the verdict rests on, one sentence each."""
    table: pd.DataFrame
    """ESS and R-hat of K, the noise variance, the error and the state vector."""
    entries: dict[str, NDArray[np.float64]]
    """Inclusion, its MCSE, flips per draw, ESS and R-hat of each entry of the state vector."""

    def __repr__(self):
        verdict = {True: "converged", False: "not converged", None: "can't tell"}[self.converged]
        return "\n".join([f"{verdict}:", *(f"  {reason}" for reason in self.reasons)])


def check_convergence(idata: Any, *, state: str = "r", noise: str = "sigma2") -> Convergence:
    """Say in words whether the chains agree, the state vector included.

    R-hat of a constant is nan and its effective sample size the number of draws, so the usual
    checks pass over a state vector that stands still. Agreement is necessary, not sufficient:
    chains that were led to one place agree as well. So a verdict also asks whether sets of columns
    came down the ladder from random starts, and whether the chains took what it offered.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned.
    state, noise : str
        Names of the state vector and of the noise variance.

    Examples
    --------
    >>> verdict = bid.check_convergence(idata)
    >>> print(verdict)  # doctest: +ELLIPSIS
    converged:...
    """
    states, labels = read_state(idata, state)
    numbers, chains = state_numbers(states), states.shape[0]
    known = quantity_table(idata, states, noise)
    reasons, bad, unknown = _state_reasons(states, numbers, labels, state, read_ladder(idata))
    table, known = known.copy(), known.dropna()
    for name in table.index[~table["finite"]]:
        reasons.append(f"{name} has draws that are nan or infinite, which are no draws.")
        bad = True
    table, known = table.drop(columns="finite"), known.drop(columns="finite")
    draws = states.shape[1]
    if draws < ESS_PER_CHAIN:
        reasons.append(
            f"There are {draws} draws of each chain, and {ESS_PER_CHAIN} or more are needed to "
            "tell anything: take more draws."
        )
        unknown = True
    if np.isfinite(numbers["ess"]).any():
        table.loc[state] = [np.nanmin(numbers["ess"]), np.nanmax([*numbers["r_hat"], 1.0])]
    if chains == 1:
        reasons.append("There is one chain; run several to see whether they agree.")
        unknown = True
    elif not known.empty:
        worst, least = known["r_hat"].max(), known["ess"].min()
        if worst > R_HAT_LIMIT:
            where = ", ".join(known.index[known["r_hat"] > R_HAT_LIMIT])
            reasons.append(f"R-hat of {where} is up to {worst:.3f}; it should be below 1.01.")
            bad = True
        if least < ESS_PER_CHAIN * chains:
            reasons.append(
                f"ESS of {known['ess'].idxmin()} is {least:.0f}; it should be "
                f"{ESS_PER_CHAIN * chains} or more: take more draws."
            )
            bad = True
        if not bad and draws >= ESS_PER_CHAIN:
            agreed = f"{chains} chains agree on {', '.join(known.index)}"
            reasons.insert(0, f"{agreed}: R-hat at most {worst:.3f}, ESS at least {least:.0f}.")
    converged = False if bad else None if unknown else True
    return Convergence(converged, tuple(reasons), table, numbers)


def _state_reasons(states, numbers, labels, name, ladder) -> tuple[list[str], bool, bool]:
    """Sentences about the state vector; whether it is bad; whether nothing can be told."""
    chains, draws = states.shape[:2]
    apart = np.isinf(numbers["r_hat"])
    reasons = _ladder_reasons(ladder)
    # Then chains may have been led to where they are.
    unknown = bool(reasons)
    if not (states != states[:, :1]).any():
        stuck = f"{name} did not move once in {chains} × {draws} draws"
        if apart.any():
            stuck += (
                ", and the chains hold different columns: they are stuck where they are, and these "
                f"are not draws from the posterior. {_advice(ladder)}"
            )
            return [stuck, *reasons], True, False
        stuck += ". All chains hold the same columns"
        if ladder is None or not ladder.tried.any():
            stuck += (
                ", which tells nothing: nobody offered them others that they could have taken. "
                f"{_advice(ladder)}"
            )
            return [stuck], False, True
        if not unknown:
            stuck += ", and sets from random starts led to them again and again"
        return [f"{stuck}.", *reasons], False, unknown or chains == 1
    if apart.any():
        reasons.append(
            f"{apart.sum()} columns never move and differ between chains: {some(labels[apart])}."
        )
    finite = np.where(np.isfinite(numbers["r_hat"]), numbers["r_hat"], 0.0)
    off = finite > STATE_R_HAT_LIMIT
    if off.any():
        worst = labels[np.argsort(-finite)][: off.sum()]
        reasons.append(
            f"R-hat of {off.sum()} entries of {name} is above {STATE_R_HAT_LIMIT}, up to "
            f"{finite.max():.3f}: {some(worst)}. {_advice(ladder)}"
        )
    return reasons, bool(apart.any() or off.any()), unknown


def _ladder_reasons(ladder: Ladder | None) -> list[str]:
    """Sentences about the ladder, if chains may have been led to where they are."""
    reasons: list[str] = []
    if ladder is None or not ladder.tried.any():
        return reasons
    if (ladder.accepted == 0).any():
        reasons.append(
            f"{(ladder.accepted == 0).sum()} of {ladder.accepted.size} chains took none of the "
            f"{int(ladder.tried.max())} sets that the ladder offered them: they could not leave "
            "the columns that they hold, and whether these are the right ones is not known."
        )
    if (ladder.round_trips == 0).any():
        reasons.append(
            f"In {(ladder.round_trips == 0).sum()} of {ladder.round_trips.size} chains no set came "
            "down the ladder from a random start: agreement may only mean that all were led to "
            "the same place. Take more draws."
        )
    return reasons


def _advice(ladder: Ladder | None) -> str:
    """Say what to do about a state vector that does not move as it should."""
    if ladder is None:
        return "Sample it with bid.FlipStep or bid.SwapStep."
    if not ladder.tried.any():
        return "Use scheme='collapsed'; the paper's update hardly ever moves."
    if not ladder.round_trips.any():
        return "The ladder made no round trip: use warm_up=True, and tune longer."
    share = ladder.accepted.sum() / ladder.tried.sum()
    if share < 0.05:
        return (
            f"Of the sets that the ladder offered {share:.1%} were taken, because the closed form "
            "is not like this model: take more draws, or choose fewer columns."
        )
    return "Take more draws."


def some(labels: NDArray, number: int = 6) -> str:
    """Return the first few labels, and how many more there are."""
    shown = ", ".join(map(str, labels[:number]))
    return shown if len(labels) <= number else f"{shown} and {len(labels) - number} more"
