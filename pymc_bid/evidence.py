"""The evidence of a set of columns that somebody names."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pymc.model import Model
from scipy.special import gammaln, logsumexp

from pymc_bid.graph.decomposition import Decomposition, find_decompositions
from pymc_bid.inputs import read_whole_number
from pymc_bid.kernels.exact.surrogate import find_evidence
from pymc_bid.steps.exchange import ChainState, Conditional, Given
from pymc_bid.steps.marginal import MarginalBuilder


class LogEvidence(NamedTuple):
    """Log evidence of a set of columns, estimated.

    Examples
    --------
    >>> round(bid.LogEvidence(value=-12.5, standard_error=0.02).value, 1)
    -12.5
    """

    value: float
    standard_error: float
    """0 (but for rounding) where the weights have no bounds nearby."""


def log_evidence(
    model: Model,
    columns: Sequence[Any],
    *,
    draws: int = 200,
    random_seed: int | np.random.Generator | None = None,
    state: str | None = None,
) -> LogEvidence:
    """Return log p(A | columns): weights, noise and variances of chosen columns integrated out.

    Weights are drawn within their bounds from a density that is close to their posterior, and the
    mean of the importance weights is the evidence, without bias. What the prior says of the set is
    not in it.

    Parameters
    ----------
    model : pymc.Model
        From `gbt` or `gbtn`, or one that is recognised like them.
    columns : sequence
        The chosen columns: their labels, or their numbers where there are no labels.
    draws : int
        How many importance weights to average.
    random_seed : int or numpy.random.Generator, optional
    state : str, optional
        Name of the state vector, if there are several in the model.

    Examples
    --------
    >>> model = bid.gbt(A, identity=True)
    >>> evidence = bid.log_evidence(model, ["c00", "c01"], random_seed=1)
    >>> bool(evidence.standard_error < 0.1)
    True
    """
    draws = read_whole_number(draws, "draws", least=2)
    decomposition = _decomposition_in(model, state)
    joint = decomposition.joint
    point = model.initial_point()
    free = all(part.noise.variance is not None for part in joint.parts)
    for part in joint.parts:
        if not part.priors_are_fixed or (not free and not part.noise.is_fixed):
            raise TypeError(
                f"The priors of {part.roles.likelihood.name} depend on other variables of the "
                "model; there is no closed form that integrates these out."
            )
    chosen = _state_of(decomposition, columns, model)
    rng = np.random.default_rng(random_seed)
    builder = MarginalBuilder(joint, free)
    # Of a single set free noise is integrated out, however many columns there are.
    builder.given_noise = not free
    # What the prior says of single columns is left out.
    given = Given.at(joint, builder, point)._replace(log_odds=np.zeros(chosen.size))
    conditional = Conditional(joint, builder, given, point)
    marginal, box = builder.build(point, np.zeros(chosen.size), given.regressions.prior)
    chain = conditional.chain()
    prior = conditional.log_prior(chosen)
    logs = np.zeros(draws)
    noise = find_evidence(chosen, True, marginal, box)[2:] if free else None
    for draw in range(logs.size):
        proposed = ChainState(chosen, chain.weights.copy(), np.empty(chain.log_variances.size))
        if noise is not None:
            logs[draw] = -conditional.noise_proposal(rng, True, proposed, noise, marginal)[0]
        logs[draw] += conditional.log_density(rng, True, proposed) - prior
    constant = -0.5 * np.log(2 * np.pi) * joint.products().rows.sum()
    if free:
        shape, scale = builder.noise_prior(point)
        constant += (shape * np.log(scale) - gammaln(shape)).sum()
    log_mean = logsumexp(logs) - np.log(draws)
    error = np.exp(logs - log_mean).std(ddof=1) / np.sqrt(draws)
    return LogEvidence(float(log_mean + constant), float(error))


def _decomposition_in(model: Model, state: str | None) -> Decomposition:
    found = {
        decomposition.roles.state.name: decomposition
        for decomposition in find_decompositions(model)
        if decomposition.joint.state_prior is not None
    }
    if not found:
        raise TypeError("The model has no decomposition with a state vector that is sampled.")
    if state is None and len(found) == 1:
        (state,) = found
    if state not in found:
        raise ValueError(f"state must be one of {', '.join(found)}, got {state!r}.")
    return found[state]


def _state_of(decomposition: Decomposition, columns, model: Model) -> np.ndarray:
    size = decomposition.regression().shape[0]
    dims = model.named_vars_to_dims.get(decomposition.roles.state.name)
    labels = list(model.coords[dims[0]]) if dims else list(range(size))
    for column in columns:
        if column not in labels:
            raise ValueError(f"columns has {column!r}, which is no column of the pool.")
    return np.array([label in columns for label in labels], dtype=np.int64)
