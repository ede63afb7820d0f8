"""The evidence of a set of columns that somebody names, and all else drawn given the set."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from scipy.special import gammaln, logsumexp

from pymc_bid.graph.decomposition import Decomposition, find_decompositions
from pymc_bid.inputs import list_columns, places_of, read_whole_number
from pymc_bid.kernels.exact.surrogate import find_evidence
from pymc_bid.steps.exchange import ChainState, Conditional, Given
from pymc_bid.steps.marginal import MarginalBuilder

Numbers = NDArray[np.float64]


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
    sets = SetsOfModel(model, state)
    return sets.draw(sets.read(columns), draws, np.random.default_rng(random_seed)).evidence


class DrawsOfSet(NamedTuple):
    """Weights and noise drawn from a density close to their posterior given a set."""

    evidence: LogEvidence
    log_importance: Numbers
    """(draw,)."""
    weights: Numbers
    """Y[J, :], (draw, K, L)."""
    noise: Numbers
    """σ² of each target, (draw, L)."""

    def resampled(self, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        """Return weights and noise that are draws from the posterior itself, about.

        Each is taken as often as its importance asks for (systematic resampling).
        """
        share = np.exp(self.log_importance - logsumexp(self.log_importance))
        places = (rng.random() + np.arange(share.size)) / share.size
        taken = np.searchsorted(np.cumsum(share)[:-1], places)
        return self.weights[taken], self.noise[taken]


class SetsOfModel:
    """What can be said of sets of columns of a model without sampling.

    Sets are state vectors (N,). Everything but the set is integrated out in closed form, the bounds
    of the weights approximately (expectation propagation), or drawn.

    Attributes
    ----------
    decomposition : Decomposition
    prefix : str
        Of the names of the model's variables.
    labels : list
        Of the columns of the pool.
    fixed_size : int or None
        Number of columns that a set has to have, if the prior says so.
    log_odds : array (N,)
        What the prior says of each column, infinite for those that are forced in or out.
    """

    def __init__(self, model: Model, state: str | None = None):
        self.decomposition = decomposition = decomposition_in(model, state)
        name = decomposition.roles.state.name
        self.fixed_size = decomposition.joint.size(model.initial_point())
        self.prefix = name[: name.rfind("::") + 2] if "::" in name else ""
        size = decomposition.regression().shape[0]
        dims = model.named_vars_to_dims.get(name)
        self.labels = list(model.coords[dims[0]]) if dims else list(range(size))
        self._constants = model.coords.get(self.prefix + "constant", ())
        joint, point = decomposition.joint, model.initial_point()
        self._free = all(part.noise.variance is not None for part in joint.parts)
        for part in joint.parts:
            if not part.priors_are_fixed or (not self._free and not part.noise.is_fixed):
                raise TypeError(
                    f"The priors of {part.roles.likelihood.name} depend on other variables of the "
                    "model; there is no closed form that integrates these out."
                )
        builder = MarginalBuilder(joint, self._free)
        # Of a single set free noise is integrated out, however many columns there are.
        builder.given_noise = not self._free
        given = Given.at(joint, builder, point)
        self.log_odds = given.log_odds
        self._with_prior = Conditional(joint, builder, given, point)
        # What the prior says of sets is no evidence.
        given = given._replace(log_odds=np.zeros(size), log_sizes=np.zeros(size + 1))
        self._conditional = Conditional(joint, builder, given, point)
        self._marginal, self._box = builder.build(point, np.zeros(size), given.regressions.prior)
        rows = joint.products().rows.sum()
        self._constant = -0.5 * np.log(2 * np.pi) * rows
        # The closed form measures the data in a unit of its own.
        self._shift = self._constant - 0.5 * self._marginal.log_unit * rows
        if self._free:
            shape, scale = builder.noise_prior(point)
            self._constant += (shape * np.log(scale) - gammaln(shape)).sum()

    def read(self, columns: Iterable[Any], name: str = "columns") -> NDArray[np.int64]:
        """Return the set that has these labels; errors call it by `name`."""
        state = np.zeros(len(self.labels), dtype=np.int64)
        for column in list_columns(columns, name):
            places = places_of(column, self.labels)
            if not places:
                constant = places_of(column, self._constants)
                why = "constant and left out of" if constant else "no column to choose from in"
                raise ValueError(f"{name} has {column!r}, which is {why} the model.")
            if state[places].any():
                raise ValueError(f"{name} has {column!r} more than once.")
            state[places] = 1
        return state

    def labels_of(self, state: NDArray[np.int64]) -> list:
        """Return the labels of a set."""
        return [label for label, chosen in zip(self.labels, state, strict=True) if chosen]

    def log_prior(self, state: NDArray[np.int64]) -> float:
        """Return the log prior of a set, up to a constant; -inf if it is ruled out."""
        return self._with_prior.log_prior(state)

    def without_bounds(self, state: NDArray[np.int64]) -> float:
        """Return the log evidence without what the bounds rule out, hardly ever less than with."""
        return find_evidence(state, False, self._marginal, self._box)[0] + self._shift

    def with_bounds(self, state: NDArray[np.int64]) -> float:
        """Return about the log evidence."""
        return sum(find_evidence(state, True, self._marginal, self._box)[:2]) + self._shift

    def draw(self, state: NDArray[np.int64], draws: int, rng: np.random.Generator) -> DrawsOfSet:
        """Draw weights and noise given a set; the mean of their importance is the evidence."""
        conditional, active = self._conditional, np.flatnonzero(state)
        chain, prior = conditional.chain(), conditional.log_prior(state)
        noise = find_evidence(state, True, self._marginal, self._box)[2:] if self._free else None
        logs = np.zeros(draws)
        weights = np.empty((draws, active.size, chain.weights.shape[1]))
        variances = np.empty((draws, chain.weights.shape[1]))
        proposed = ChainState(state, chain.weights, np.empty(chain.log_variances.size))
        for draw in range(draws):
            if noise is not None:
                logs[draw] = -conditional.noise_proposal(
                    rng, True, proposed, noise, self._marginal
                )[0]
            logs[draw] += conditional.log_density(rng, True, proposed) - prior
            weights[draw] = proposed.weights[active]
            variances[draw] = conditional.variance_of_targets(proposed.log_variances)
        log_mean = logsumexp(logs) - np.log(draws)
        error = np.exp(logs - log_mean).std(ddof=1) / np.sqrt(draws)
        evidence = LogEvidence(float(log_mean + self._constant), float(error))
        return DrawsOfSet(evidence, logs, weights, variances)


def decomposition_in(model: Model, state: str | None) -> Decomposition:
    """Return the decomposition that has this state vector, or the only one."""
    if not isinstance(model, Model):
        raise TypeError(f"model must be a PyMC model, got {type(model).__name__}.")
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
