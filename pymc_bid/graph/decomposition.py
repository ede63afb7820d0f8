"""An interpolative decomposition found in a PyMC model: its data and its values at a point."""

from operator import is_
from weakref import WeakSet

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.noise import NoiseValues
from pymc_bid.graph.own_columns import OwnColumns, OwnDensityValues
from pymc_bid.graph.pool import PoolReader
from pymc_bid.graph.roles import distribution_name, read_roles
from pymc_bid.graph.state_prior import InclusionValues
from pymc_bid.graph.structure import data_containers, parameters_of
from pymc_bid.graph.values import (
    CheckedState,
    Entry,
    Point,
    Quantities,
    WeightPrior,
    active_columns,
    as_view,
)
from pymc_bid.kernels.exact.hierarchy import likely_precision
from pymc_bid.regression import Regression, reduce_regression


class Decomposition:
    """What the steps need of a model A ~ Normal(B·diag(r)·Y, σ²), read from its graph.

    Attributes
    ----------
    roles : Roles
        The random variables concerned.
    state, weights, hyperparameters : Entry or None
        Their entries in a sampler's point.
    noise : NoiseValues
        The noise variances.
    joint : Joint
        This one and all others with the same state vector; made by `find_decompositions`.
    inclusion : InclusionValues or None
        The beta prior of the inclusion probabilities.
    own : OwnDensityValues or None
        The density of the chosen columns, in the model with the identity.
    """

    joint: Joint

    def __init__(self, likelihood: Variable, model: Model):
        self.roles = roles = read_roles(likelihood, model)
        known = roles.state not in model.free_RVs
        self.state = (Entry if roles.binary and not known else CheckedState)(roles.state, model)
        if known:
            self.state.read({})
        self.weights = Entry(roles.weights, model)
        self.noise = NoiseValues(roles, model)
        self.hyperparameters = self.inclusion = self.own = None
        location, bounds = parameters_of(roles.weights)[:2], parameters_of(roles.weights)[2:]
        if roles.hyperparameters is not None:
            self.hyperparameters = Entry(roles.hyperparameters, model)
            location = parameters_of(roles.hyperparameters)[:4]
        if roles.inclusion is not None:
            self.inclusion = InclusionValues(roles.inclusion, roles.state, model)
        if roles.own is not None:
            self.own = OwnDensityValues(roles.own, model)
        # Mean and scale of the weights, or the parameters of the hyperprior, and the bounds.
        bounds = bounds or [pt.constant(-np.inf), pt.constant(np.inf)]
        self._prior = Quantities([*location, *bounds], model)
        mean, scale, precision, rows, own = roles.branches
        self._read_pool = None
        if mean is not None:
            self._read_pool = PoolReader(likelihood, mean, roles.state, roles.weights)
        target = model.rvs_to_values[likelihood]
        self._data = Quantities([target] if rows is None else [target, rows], model)
        read = (target, mean, scale, precision, rows, None if own is None else own.mean)
        self._containers = data_containers(
            [expression for expression in read if expression is not None],
            blockers=model.basic_RVs,
        )
        self._seen: list[NDArray] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read the data again if a `pm.Data` container was given new values."""
        # Borrowed, a value is the array itself and not a copy; new values are another array.
        values = [container.get_value(borrow=True) for container in self._containers]
        if self._seen is None or not all(map(is_, values, self._seen)):
            self._regression = self._read_regression()
            self._seen = values
            self._fixed_prior: WeightPrior | None = None

    def regression(self) -> Regression:
        """Return the data as they were at the last `refresh`."""
        return self._regression

    def target(self) -> NDArray[np.float64]:
        """Return the data (M, L) as they are now; what missing entries are means nothing."""
        target = np.asarray(self._data({})[0], dtype=np.float64)
        if self.roles.entries is None:
            return target
        return self.roles.entries.put_back(target, self._read_pool.shape())

    def _read_regression(self) -> Regression:
        number_of_rows, target = self._data({})[1:], self.target()
        # In an `Interpolation` the target is the pool as well.
        pool = target if self._read_pool is None else self._read_pool(target)
        if self.own is not None and not np.array_equal(pool, target):
            raise TypeError(
                f"The columns that {self.roles.likelihood.name} chooses from are not its own; only "
                "a matrix that is decomposed by its own columns has chosen columns with a density "
                "of their own."
            )
        row_weights = self.noise.read_row_weights(target.shape)
        regression = reduce_regression(pool, target, row_weights, *map(int, number_of_rows))
        if self.own is not None:
            self.own.read_target(target, row_weights, regression.products.rows)
        return regression

    def interpolated(self, state: NDArray[np.int64]) -> NDArray[np.float64]:
        """1.0 for each target that is interpolated, 0.0 for each with a density of its own."""
        if self.own is None:
            return np.ones(self.regression().shape[1])
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
            return OwnColumns.none(self.regression().shape[0])
        return self.own.columns(point)

    def noise_variance(self, point: Point) -> NDArray[np.float64]:
        """σ² of each target at a point, whatever its prior, (L,)."""
        return self.noise.at(point, self.regression().shape[1])

    def weight_prior(self, point: Point) -> WeightPrior:
        """Return the parameters of the prior of Y at a point."""
        if self.hyperparameters is None:
            return self.proposal_prior(point)
        mean, precision = np.moveaxis(self.hyperparameters.read(point), -1, 0)
        return WeightPrior.of(self.regression().shape, mean, precision, *self._prior(point)[-2:])

    def proposal_prior(self, point: Point) -> WeightPrior:
        """Return a truncated normal prior of Y: its own, or the one most like its hierarchy."""
        if self._fixed_prior is not None:
            return self._fixed_prior
        mean, scale, *_, lower, upper = self._prior.as_floats(point)
        shape = self.regression().shape
        if self.hyperparameters is None:
            precision = scale**-2.0
        else:
            arrays = [as_view(value, shape) for value in self._prior(point)]
            if all(array.strides == (0, 0) for array in arrays):
                precision = likely_precision(*(array[0, 0] for array in arrays))
            else:
                precision = np.vectorize(likely_precision)(*arrays)
        prior = WeightPrior.of(shape, mean, precision, lower, upper)
        if self._prior.fixed:
            self._fixed_prior = prior
        return prior

    def hyperprior(self, point: Point) -> tuple[NDArray[np.float64], ...]:
        """μ_μ, τ_μ, α_t, β_t of the GTNSNG prior, each a read-only (N, L) view."""
        shape = self.regression().shape
        return tuple(as_view(value, shape) for value in self._prior(point)[:4])

    @property
    def priors_are_fixed(self) -> bool:
        """Whether the priors of weights, noise and chosen columns depend on no other variable."""
        own = None if self.own is None else self.own.quantities
        known = (self._prior, self.noise.prior_quantities, own)
        return all(not quantities.names for quantities in known if quantities is not None)


class _Found:
    """What was found in a model. It refers to the model, so only the model may refer to it."""

    attribute = "_pymc_bid_found"

    def __init__(self, variables=(), decompositions=()):
        self.variables: tuple[Variable, ...] = variables
        self.decompositions: list[Decomposition] = decompositions

    def __reduce__(self):
        # A copy of the model has other variables.
        return _Found, ()


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
    known = getattr(model, _Found.attribute, _Found())
    if known.variables == variables:
        for decomposition in known.decompositions:
            decomposition.refresh()
        return known.decompositions
    decompositions = []
    # Each once: PyMC 5.28 lists them again when a posterior predictive was drawn.
    for likelihood in dict.fromkeys(model.observed_RVs):
        try:
            decompositions.append(Decomposition(likelihood, model))
        except (TypeError, ValueError):
            continue
    for state in {decomposition.roles.state for decomposition in decompositions}:
        parts = [part for part in decompositions if part.roles.state is state]
        joint = Joint(parts, model)
        for part in parts:
            part.joint = joint
    setattr(model, _Found.attribute, _Found(variables, decompositions))
    return decompositions


def only_decomposition(model: Model, purpose: str) -> Decomposition:
    """Return the one decomposition in a model; `purpose` is what there must be exactly one for."""
    found = find_decompositions(model)
    if len(found) != 1:
        raise TypeError(
            f"model has {len(found)} decompositions with known block updates; {purpose} exactly "
            "one. docs/models.md says which graphs are one."
        )
    return found[0]


def decomposition_of(variable: Variable, model: Model) -> Decomposition:
    """Return the decomposition that `variable` belongs to, or say in an error what it lacks."""
    for decomposition in find_decompositions(model):
        if variable in decomposition.roles.variables:
            return decomposition
    observed = [v for v in model.observed_RVs if variable in ancestors([v])]
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
