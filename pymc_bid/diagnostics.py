"""Telling a state vector that has settled from one that is stuck."""

import warnings

import numpy as np


def check_state(idata, state: str = "r") -> None:
    """Warn, once, if the state vector never moved after tuning.

    R-hat of a constant is nan and its effective sample size is the number of draws, so the usual
    checks pass over a state vector that stands still.

    Parameters
    ----------
    idata : arviz.InferenceData or xarray.DataTree
        What `pm.sample` returned.
    state : str
        Name of the state vector.

    Examples
    --------
    >>> import pymc as pm, pymc_bid as bid
    >>> with bid.gbt(bid.datasets.make_planted().A, k=6):
    ...     idata = pm.sample()  # doctest: +SKIP
    >>> bid.check_state(idata)  # doctest: +SKIP
    """
    posterior = idata["posterior"]
    if state not in posterior:
        raise ValueError(
            f"There is no variable {state!r} in the posterior; it has "
            f"{', '.join(map(str, posterior.data_vars))}."
        )
    values = np.asarray(posterior[state].transpose("chain", "draw", ...))
    statistics = idata["sample_stats"]
    tried = sum(
        int(statistics[name].sum())
        for name in ("bid_flips_tried", "bid_swaps_tried")
        if name in statistics
    )
    if (values != values[:, :1]).any() or tried == 0:
        return
    chains, draws = values.shape[:2]
    stuck = f"{state} did not move once in {chains} × {draws} draws"
    if chains == 1:
        message = f"{stuck}. Run several chains to see whether they agree."
    elif (values[:, 0] != values[:1, 0]).any():
        message = (
            f"{stuck}, and the chains hold different columns: they are stuck where they started, "
            "and these are not draws from the posterior. Use scheme='collapsed', and tune longer."
        )
    else:
        message = (
            f"{stuck}. All chains hold the same columns: if they started from different ones, the "
            "posterior sits on this one set. R-hat and ESS say nothing about a constant."
        )
    warnings.warn(message, UserWarning, stacklevel=2)
