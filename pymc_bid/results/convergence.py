"""Telling draws that have settled from draws that are stuck, in numbers and in words."""

from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymc_bid.results.draws import (
    Ladder,
    read_error,
    read_ladder,
    read_posterior,
    read_state,
    read_variable,
)

R_HAT_LIMIT = 1.01
STATE_R_HAT_LIMIT = 1.02
"""R-hat of the worst of many rare flips is noisier than that of one number."""
ESS_PER_CHAIN = 100


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

    def __repr__(self):
        verdict = {True: "converged", False: "not converged", None: "can't tell"}[self.converged]
        return "\n".join([f"{verdict}:", *(f"  {reason}" for reason in self.reasons)])


def r_hat(values: NDArray) -> float:
    """R-hat (rank-normalised, split) of draws (chain, draw).

    A series that is constant in every chain has none: nan if all chains hold the same value, inf if
    they do not. One chain, or fewer than four draws, also give nan.
    """
    values = np.asarray(values, dtype=np.float64)
    if (values == values[:, :1]).all():
        return np.nan if (values[:, 0] == values[0, 0]).all() else np.inf
    if values.shape[0] < 2 or values.shape[1] < 4:
        return np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        found = float(az.rhat(values))
    return found


def effective_size(values: NDArray) -> float:
    """Effective sample size of the mean of draws (chain, draw); nan if they are constant."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape[1] < 4 or np.ptp(values) == 0:
        return np.nan
    return float(az.ess(values, method="mean"))


def state_numbers(states: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Inclusion, its MCSE, flips per draw, ESS and R-hat of each entry of state vectors."""
    inclusion = states.mean(axis=(0, 1))
    sizes, hats = (
        np.array([function(states[:, :, column]) for column in range(states.shape[2])])
        for function in (effective_size, r_hat)
    )
    pairs = max(states.shape[0] * (states.shape[1] - 1), 1)
    return {
        "inclusion": inclusion,
        "mcse": np.sqrt(inclusion * (1 - inclusion) / sizes),
        "flips": (states[:, 1:] != states[:, :-1]).sum(axis=(0, 1)) / pairs,
        "ess": sizes,
        "r_hat": hats,
    }


def state_table(numbers: dict[str, NDArray[np.float64]], labels: NDArray) -> pd.DataFrame:
    """Table of `state_numbers`, with words where R-hat has no meaning."""
    table = pd.DataFrame(numbers, index=pd.Index(labels, name="column"))
    constant = (table["inclusion"] == 0) | (table["inclusion"] == 1)
    words = table["r_hat"].round(4).astype(object)
    words[constant] = "constant"
    words[np.isinf(table["r_hat"])] = "stuck apart"
    words[table["r_hat"].isna() & ~constant] = "one chain"
    return table.assign(r_hat=words)


def state_summary(idata: Any, *, state: str = "r") -> pd.DataFrame:
    """Table for the state vector, as `az.summary` makes for continuous variables.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned.
    state : str
        Name of the state vector.

    Returns
    -------
    pandas.DataFrame
        One row for each column of the data: the probability of being chosen (`inclusion`), its
        Monte Carlo standard error (`mcse`), changes per draw (`flips`), `ess`, and `r_hat`. The
        latter is "constant" for a column that all draws agree on, whose R-hat and MCSE do not
        exist, and "stuck apart" for one that never moves and differs between chains.

    Examples
    --------
    >>> bid.state_summary(idata).columns.tolist()
    ['inclusion', 'mcse', 'flips', 'ess', 'r_hat']
    """
    states, labels = read_state(idata, state)
    return state_table(state_numbers(states), labels)


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

    Returns
    -------
    Convergence
        With `converged`, `reasons` and a `table`; its repr is the verdict.

    Examples
    --------
    >>> verdict = bid.check_convergence(idata)
    >>> print(verdict)  # doctest: +ELLIPSIS
    converged:...
    """
    states, labels = read_state(idata, state)
    quantities = quantities_of(idata, states, noise)
    return judge(quantities, states, state_numbers(states), labels, state, read_ladder(idata))


def judge(quantities, states, numbers, labels, name, ladder: Ladder | None) -> Convergence:
    """Put a verdict together from draws that were read already."""
    chains = states.shape[0]
    table = _quantity_table(quantities)
    moving = np.isfinite(numbers["ess"])
    if moving.any():
        table.loc[name] = [np.nanmin(numbers["ess"]), np.nanmax(np.append(numbers["r_hat"], 1.0))]
    reasons, bad, unknown = _state_reasons(states, numbers, labels, name, ladder)
    known = table.drop(index=[name], errors="ignore").dropna()
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
            where = str(known["ess"].idxmin())
            reasons.append(
                f"ESS of {where} is {least:.0f}; it should be {ESS_PER_CHAIN * chains} or more: "
                "take more draws."
            )
            bad = True
        if not bad:
            reasons.insert(
                0,
                f"{chains} chains agree on {', '.join(known.index)}: R-hat at most {worst:.3f}, "
                f"ESS at least {least:.0f}.",
            )
    verdict = False if bad else None if unknown else True
    return Convergence(verdict, tuple(reasons), table)


def _state_reasons(states, numbers, labels, name, ladder) -> tuple[list[str], bool, bool]:
    """Sentences about the state vector; whether it is bad; whether nothing can be told."""
    chains, draws = states.shape[:2]
    apart = np.isinf(numbers["r_hat"])
    reasons, led = _ladder_reasons(ladder)
    if not (states != states[:, :1]).any():
        stuck = f"{name} did not move once in {chains} × {draws} draws"
        if apart.any():
            return (
                [
                    f"{stuck}, and the chains hold different columns: they are stuck where they "
                    f"are, and these are not draws from the posterior. {_advice(ladder)}",
                    *reasons,
                ],
                True,
                False,
            )
        if ladder is None or not ladder.tried.any():
            return (
                [
                    f"{stuck}. All chains hold the same columns, which tells nothing: nobody "
                    f"offered them others that they could have taken. {_advice(ladder)}"
                ],
                False,
                True,
            )
        same = f"{stuck}. All chains hold the same columns"
        if not led:
            same += ", and sets from random starts led to them again and again"
        return [f"{same}.", *reasons], False, led or chains == 1
    bad = False
    if apart.any():
        reasons.append(
            f"{apart.sum()} columns never move and differ between chains: {_some(labels[apart])}."
        )
        bad = True
    finite = np.where(np.isfinite(numbers["r_hat"]), numbers["r_hat"], 0.0)
    off = finite > STATE_R_HAT_LIMIT
    if off.any():
        worst = labels[np.argsort(-finite)][: off.sum()]
        reasons.append(
            f"R-hat of {off.sum()} entries of {name} is above {STATE_R_HAT_LIMIT}, up to "
            f"{finite.max():.3f}: {_some(worst)}. {_advice(ladder)}"
        )
        bad = True
    return reasons, bad, led


def _ladder_reasons(ladder: Ladder | None) -> tuple[list[str], bool]:
    """Sentences about the ladder; whether chains may have been led to where they are."""
    if ladder is None or not ladder.tried.any():
        return [], False
    reasons = []
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
    return reasons, bool(reasons)


def _advice(ladder: Ladder | None) -> str:
    """Say what to do about a state vector that does not move as it should."""
    if ladder is None:
        return "Sample it with bid.FlipStep or bid.SwapStep."
    if not ladder.tried.any():
        return "Use scheme='collapsed'; the paper's update hardly ever moves."
    if not ladder.round_trips.any():
        return "The ladder made no round trip: use warm_up=True, and tune longer."
    if ladder.accepted.sum() < 0.05 * ladder.tried.sum():
        share = ladder.accepted.sum() / ladder.tried.sum()
        return (
            f"Of the sets that the ladder offered {share:.1%} were taken, because the closed form "
            "is not like this model: take more draws, or choose fewer columns."
        )
    return "Take more draws."


def ess_per_second(idata: Any, *, state: str = "r", noise: str = "sigma2") -> pd.DataFrame:
    """Effective draws per second of sampling, tuning included.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
    state, noise : str
        Names of the state vector and of the noise variance.

    Returns
    -------
    pandas.DataFrame
        Columns `ess` and `ess_per_second`; a row for the number of columns, the noise variance, the
        error, and the least and the median entry of the state vector among those that move.

    Examples
    --------
    >>> bid.ess_per_second(idata).columns.tolist()
    ['ess', 'ess_per_second']
    """
    seconds = read_posterior(idata).attrs.get("sampling_time")
    if seconds is None:
        raise ValueError("The posterior has no attribute sampling_time; pm.sample writes it.")
    states, _ = read_state(idata, state)
    sizes = _quantity_table(quantities_of(idata, states, noise))["ess"].to_dict()
    moving = state_numbers(states)["ess"]
    moving = moving[np.isfinite(moving)]
    if moving.size:
        sizes |= {f"{state}, least": moving.min(), f"{state}, median": np.median(moving)}
    table = pd.DataFrame({"ess": sizes})
    return table.assign(ess_per_second=table["ess"] / float(seconds))


def quantities_of(idata, states, noise) -> dict[str, NDArray[np.float64]]:
    """Draws (chain, draw) of the numbers that describe a state as a whole."""
    posterior, error = read_posterior(idata), read_error(idata)
    found = {"K": states.sum(axis=2).astype(np.float64)}
    if noise in posterior:
        variance = np.asarray(read_variable(posterior, noise, "noise", None), dtype=np.float64)
        # Columns with variances of their own have a geometric mean.
        found[noise] = variance if variance.ndim == 2 else np.exp(np.log(variance).mean(axis=2))
    if error is not None:
        found["error"] = error
    return found


def _quantity_table(quantities: dict[str, NDArray]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: [effective_size(x), r_hat(x)] for name, x in quantities.items()},
        index=["ess", "r_hat"],
    ).T


def _some(labels: NDArray, number: int = 6) -> str:
    shown = ", ".join(map(str, labels[:number]))
    return shown if len(labels) <= number else f"{shown} and {len(labels) - number} more"
