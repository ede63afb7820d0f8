"""An interpolative decomposition found in a PyMC model: its data and its values at a point."""

from weakref import WeakKeyDictionary, WeakSet

import numpy as np
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.continuous import TruncatedNormalRV
from pymc.model import Model
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable

from pymc_bid.graph.inclusion import InclusionValues
from pymc_bid.graph.joint import Joint
from pymc_bid.graph.noise import NoiseValues
from pymc_bid.graph.own_columns import OwnColumns, OwnDensityValues
from pymc_bid.graph.roles import distribution_name, pool_from_mean, read_roles
from pymc_bid.graph.structure import INTERPRETED, children, data_containers
from pymc_bid.graph.values import (
    CheckedState,
    Entry,
    KnownState,
    Point,
    Quantities,
    WeightPrior,
    active_columns,
    as_view,
)
from pymc_bid.kernels.exact.hierarchy import likely_precision
from pymc_bid.regression import Regression, reduce_regression


class _Watch:
    """Tells whether data containers were given new arrays."""

    def __init__(self, containers: list[SharedVariable]):
        self._containers = containers
        self.look()

    def covers(self, other: "_Watch") -> bool:
        """Whether this changes whenever the other one does."""
        return set(other._containers) <= set(self._containers)

    def look(self) -> None:
        """Take note of the arrays that the containers hold."""
        self._seen = [(data, data.get_value(borrow=True)) for data in self._containers]

    def changed(self) -> bool:
        """Whether there is an array that was not there at the last look."""
        # Borrowed, a value is the array itself and not a copy.
        for data, seen in self._seen:
            if data.get_value(borrow=True) is not seen:
                return True
        return False


class Decomposition:
    """What the steps need of a model A ~ Normal(B·diag(r)·Y, σ²), read from its graph.

    Attributes
    ----------
    roles : Roles
        The random variables concerned.
    state, weights, hyperparameters : Entry or None
        Their entries in a sampler's point; a state vector that is not sampled is a `KnownState`.
    noise : NoiseValues
        The noise variances.
    joint : Joint
        This one and all others with the same state vector.
    inclusion : InclusionValues or None
        The beta prior of the inclusion probabilities.
    own : OwnDensityValues or None
        The density of the chosen columns, in the model with the identity.
    """

    def __init__(self, likelihood: Variable, model: Model):
        self.roles = roles = read_roles(likelihood, model)
        self.state: Entry | KnownState
        if roles.state not in model.free_RVs:
            self.state = KnownState(roles.state, model)
        else:
            self.state = (Entry if roles.binary else CheckedState)(roles.state, model)
        self.weights = Entry(roles.weights, model)
        self.noise = NoiseValues(likelihood, roles.scale, roles.noise, roles.precision, model)
        self.hyperparameters = (
            None if roles.hyperparameters is None else Entry(roles.hyperparameters, model)
        )
        parameters = _parameters(roles.weights)
        self._bounds = Quantities(
            parameters[2:]
            if isinstance(roles.weights.owner.op, TruncatedNormalRV)
            else [pt.constant(-np.inf), pt.constant(np.inf)],
            model,
        )
        self._location = Quantities(parameters[:2], model)
        self._hyperprior = (
            None
            if roles.hyperparameters is None
            else Quantities(_parameters(roles.hyperparameters)[:4], model)
        )
        self.inclusion = (
            None
            if roles.inclusion is None
            else InclusionValues(roles.inclusion, roles.state, model)
        )
        self._rows = None if roles.rows is None else Quantities([roles.rows], model)
        self._read_pool = None if roles.mean is None else pool_from_mean(roles)
        self.own = None if roles.own is None else OwnDensityValues(roles.own, model)
        target = model.rvs_to_values[likelihood]
        self._target = Quantities([target], model)
        self._read_size = pytensor.function([], roles.weights.shape[0], mode=INTERPRETED)
        # In an `Interpolation` the target is the pool as well.
        read = [target if roles.mean is None else roles.mean]
        if roles.own is not None:
            read.append(roles.own.mean)
        read += self.noise.expressions
        if roles.rows is not None:
            read.append(roles.rows)
        self._pool_data = _Watch(data_containers(read, blockers=model.basic_RVs))
        self._data = _Watch(data_containers([target, *read], blockers=model.basic_RVs))
        self._pool: NDArray[np.float64] | None = None
        self._regression: Regression | None = None
        self._fixed_prior: WeightPrior | None = None
        self._proposal_prior: WeightPrior | None = None
        self._everything = np.empty(0)
        self.refresh()
        self.joint = Joint([self], model)

    def refresh(self) -> None:
        """Read the data again if a `pm.Data` container was given new values."""
        if self._regression is None or self._data.changed():
            self._regression = self._read_regression()
            self._data.look()
            self._pool_data.look()

    def regression(self) -> Regression:
        """Return the data as they were at the last `refresh`."""
        return self._regression

    def _read_regression(self) -> Regression:
        target = self._read_target()
        self._size = int(self._read_size())
        if self._pool is None or self._pool_data.changed():
            self._pool = self._pool_of(target)
        row_weights = self.noise.read_row_weights(target.shape, self.roles.entries)
        rows = None if self._rows is None else int(self._rows({})[0])
        regression = reduce_regression(self._pool, target, row_weights, rows)
        if self.own is not None:
            self.own.read_target(target, row_weights, regression.products.rows)
        if self._pool_data.covers(self._data):
            # The pool may have many rows, and is read again with every new target.
            self._pool = None
        return regression

    def _read_target(self) -> NDArray[np.float64]:
        target = np.asarray(self._target({})[0], dtype=np.float64)
        entries = self.roles.entries
        return target if entries is None else entries.put_back(target, self._read_pool.shape())

    def _pool_of(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        pool = target if self._read_pool is None else self._read_pool(target, self._size)
        if self.own is not None and not np.array_equal(pool, target):
            raise TypeError(
                f"The columns that {self.roles.likelihood.name} chooses from are not its own; only "
                "a matrix that is decomposed by its own columns has chosen columns with a density "
                "of their own."
            )
        return pool

    def interpolated(self, state: NDArray[np.int64]) -> NDArray[np.float64]:
        """1.0 for each target that is interpolated, 0.0 for each with a density of its own.

        Not to be written to.
        """
        if self.own is None:
            targets = self.regression().shape[1]
            if self._everything.size != targets:
                self._everything = np.ones(targets)
            return self._everything
        return (np.asarray(state) == 0).astype(np.float64)

    def squared_errors(
        self, state: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Squared error of each target, (L,).

        That of targets that are not interpolated means nothing.
        """
        interpolated = self.interpolated(state)
        return self.regression().squared_errors(active_columns(state), weights, interpolated)

    def own_columns(self, point: Point) -> OwnColumns:
        """Return the own densities of the columns at a point."""
        if self.own is None:
            return OwnColumns.none(self._size)
        return self.own.columns(point)

    def noise_variance(self, point: Point) -> NDArray[np.float64]:
        """σ² of each target at a point, whatever its prior, (L,)."""
        return self.noise.at(point, self.regression().shape[1])

    def weight_prior(self, point: Point) -> WeightPrior:
        """Return the parameters of the prior of Y at a point."""
        shape = self.regression().shape
        if self._fixed_prior is not None and self._fixed_prior.mean.shape == shape:
            return self._fixed_prior
        if self.hyperparameters is not None:
            mean_precision = self.hyperparameters.read(point)
            mean, precision = mean_precision[..., 0], mean_precision[..., 1]
        else:
            mean, scale = self._location(point)
            precision = np.asarray(scale, dtype=np.float64) ** -2.0
        prior = WeightPrior.of(shape, mean, precision, *self._bounds(point))
        if self._location.fixed and self._bounds.fixed:
            self._fixed_prior = prior
        return prior

    @property
    def priors_are_fixed(self) -> bool:
        """Whether the priors of weights, noise and chosen columns depend on no other variable."""
        known = [self._bounds, self._location if self._hyperprior is None else self._hyperprior]
        if self.noise.variance is not None:
            known.append(self.noise.prior_quantities)
        if self.own is not None:
            known.append(self.own.quantities)
        return all(not quantities.names for quantities in known)

    def proposal_prior(self, point: Point) -> WeightPrior:
        """Return a truncated normal prior of Y: its own, or the one most like its hierarchy."""
        if self.hyperparameters is None:
            return self.weight_prior(point)
        shape = self.regression().shape
        if self._proposal_prior is not None and self._proposal_prior.mean.shape == shape:
            return self._proposal_prior
        bounds = [as_view(value, shape) for value in self._bounds(point)]
        hyperprior = self.hyperprior(point)
        arrays = [*hyperprior, *bounds]
        if all(array.strides == (0, 0) for array in arrays):
            precision = likely_precision(*(array[0, 0] for array in arrays))
        else:
            precision = np.vectorize(likely_precision)(*arrays)
        prior = WeightPrior.of(shape, hyperprior[0], precision, *bounds)
        if self._hyperprior.fixed and self._bounds.fixed:
            self._proposal_prior = prior
        return prior

    def hyperprior(self, point: Point) -> tuple[NDArray[np.float64], ...]:
        """μ_μ, τ_μ, α_t, β_t of the GTNSNG prior, each a read-only (N, L) view."""
        shape = self.regression().shape
        return tuple(as_view(value, shape) for value in self._hyperprior(point))


_found: WeakKeyDictionary[Model, tuple[tuple[Variable, ...], list[Decomposition]]] = (
    WeakKeyDictionary()
)
_remembered: WeakSet[Model] = WeakSet()


def remember(model: Model) -> None:
    """Let `models_of` find a model outside its context."""
    _remembered.add(model)


def models_of(variable: Variable) -> list[Model]:
    """Models that `variable` may be a free variable of: the one in context, or one remembered.

    PyMC asks a step method whether it is competent for a variable and does not say of which model.
    """
    context = Model.get_context(error_if_none=False)
    candidates = [*([] if context is None else [context]), *_remembered]
    return [model for model in candidates if variable in model.free_RVs]


def find_decompositions(model: Model) -> list[Decomposition]:
    """Return every decomposition in a model; parts of it that are not one are left out."""
    variables = (*model.basic_RVs, *model.potentials)
    known = _found.get(model)
    if known is not None and known[0] == variables:
        for decomposition in known[1]:
            decomposition.refresh()
        return known[1]
    decompositions = []
    # Each once: PyMC 5.28 lists them again when a posterior predictive was drawn.
    for likelihood in dict.fromkeys(model.observed_RVs):
        try:
            decompositions.append(Decomposition(likelihood, model))
        except (TypeError, ValueError):
            continue
    for state in {decomposition.roles.state for decomposition in decompositions}:
        parts = [part for part in decompositions if part.roles.state is state]
        if len(parts) > 1:
            joint = Joint(parts, model)
            for part in parts:
                part.joint = joint
    _found[model] = (variables, decompositions)
    return decompositions


def decomposition_of(variable: Variable, model: Model) -> Decomposition:
    """Return the decomposition that `variable` belongs to.

    Raises
    ------
    TypeError, ValueError
        If there is none, naming the variable and what would be needed.
    """
    for decomposition in find_decompositions(model):
        if variable in decomposition.roles.variables:
            return decomposition
    observed = [v for v in _descendants(variable, model) if v in model.observed_RVs]
    if not observed:
        raise TypeError(
            f"{variable.name} enters no observed variable; it needs to be part of "
            "A ~ Normal((B * r) @ Y, σ²) with A observed."
        )
    # Reading again, now to hear why it is not a decomposition.
    decomposition = Decomposition(observed[0], model)
    raise TypeError(
        f"{variable.name} is {distribution_name(variable)} and none of what the block updates of "
        f"{decomposition.roles.likelihood.name} draw: the state vector, the weights, an inverse "
        "gamma noise variance σ² with scale sqrt(σ²), GTNSNG hyperparameters of the weights, beta "
        "inclusion probabilities."
    )


def _descendants(variable: Variable, model: Model) -> list[Variable]:
    found = children(variable, model)
    for child in found:
        found.extend(v for v in children(child, model) if v not in found)
    return found


def _parameters(variable: Variable) -> list[Variable]:
    return list(variable.owner.op.dist_params(variable.owner))
