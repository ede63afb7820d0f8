"""The prior of the number of chosen columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model

from pymc_bid.evidence import decomposition_in
from pymc_bid.results.posterior import read_group


def read_size_prior(source: Any, state: str, model: Model | None) -> NDArray[np.float64] | None:
    """Return the prior probability of each number of columns, from 0 on; None if it is not known.

    From the model if there is one and its prior is known in closed form, else from prior draws.
    """
    model = Model.get_context(error_if_none=False) if model is None else model
    found = None if model is None else size_prior(model, state)
    if found is None:
        prior = read_group(source, "prior")
        if state in prior:
            sizes = np.asarray(prior[state]).sum(axis=-1).ravel().astype(np.int64)
            found = np.bincount(sizes) / sizes.size
    return found


def size_prior(model: Model, state: str) -> NDArray[np.float64] | None:
    r"""Return the prior probability of each number of columns; None if there is no closed form.

    .. math:: p(K) \propto s_K \sum_{|J| = K} \prod_{j \in J} o_j

    with the odds o of single columns, and s what the prior adds for the number of them. The sums
    are the coefficients of :math:`\prod_j (1 + o_j x)`.
    """
    joint = decomposition_in(model, state).joint
    point, size = model.initial_point(), joint.products().cross.shape[0]
    prior, fixed = joint.state_prior, joint.size(point)
    if fixed is not None:
        return np.eye(size + 1)[fixed]
    if not prior.linear or not prior.odds_are_fixed:
        return None
    log_odds = joint.log_prior_odds(point)
    log_sums = np.full(size + 1, -np.inf)
    log_sums[(log_odds == np.inf).sum()] = 0.0
    for odds in log_odds[np.isfinite(log_odds)]:
        log_sums[1:] = np.logaddexp(log_sums[1:], log_sums[:-1] + odds)
    log_sums += joint.log_prior_sizes(point)
    chances = np.exp(log_sums - log_sums.max())
    return chances / chances.sum()
