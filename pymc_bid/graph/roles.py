"""Which variables of a PyMC model play which part in an interpolative decomposition."""

from dataclasses import dataclass

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.continuous import TruncatedNormalRV
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV, NormalRV

from pymc_bid.distributions.gtnsng import GTNSNGRV
from pymc_bid.distributions.interpolation import CompressedNormalRV, InterpolationRV
from pymc_bid.distributions.subset import ChoiceRV, SubsetRV
from pymc_bid.graph.noise import check_scale, read_noise
from pymc_bid.graph.own_columns import Branches, OwnDensity, split_likelihood
from pymc_bid.graph.pool import EXPECTED, ObservedEntries, indexed_matrix
from pymc_bid.graph.state_prior import read_inclusion
from pymc_bid.graph.structure import (
    as_function,
    children,
    data_containers,
    is_monomial,
    is_polynomial,
    only_parent,
    parameters_of,
    random_variables_in,
    shape_of,
)


@dataclass(frozen=True)
class Roles:
    """The variables of one decomposition, A ~ Normal(B·diag(r)·Y, σ²)."""

    likelihood: Variable
    """Observed variable A, normal or an `Interpolation`."""
    branches: Branches
    """Its mean, a matrix, and the rest of its parameters."""
    entries: ObservedEntries | None
    """Which entries of the matrix are observed, None for all of them."""
    state: Variable
    """State vector r: Bernoulli entries, a subset of fixed size, any other discrete variable; it
    may be observed, or a data container, as after `pm.do`."""
    weights: Variable
    """Weights Y: a normal or truncated normal variable."""
    noise: Variable | None
    """σ², if it is an inverse gamma variable and the scale is its square root times data; one
    number or one for each target."""
    hyperparameters: Variable | None
    """(μ, τ) of each weight, if they are a GTNSNG variable with the bounds of the weights."""
    inclusion: Variable | None
    """Inclusion probabilities, if they are the entries of a beta variable."""

    @property
    def own(self) -> OwnDensity | None:
        """Density of the chosen columns, in the model with the identity."""
        return self.branches.own

    @property
    def variables(self) -> list[Variable]:
        """The variables that block updates may draw."""
        own_variance = None if self.own is None else self.own.variance
        found = (self.state, self.weights, self.noise, self.hyperparameters, self.inclusion)
        return [v for v in (*found, own_variance) if v is not None]

    @property
    def binary(self) -> bool:
        """Whether a state vector that is sampled is known to have no values but 0 and 1."""
        return self.state.owner is None or isinstance(self.state.owner.op, BernoulliRV | ChoiceRV)

    @property
    def fixed_size(self) -> bool:
        """Whether the number of chosen columns is given, not found."""
        return self.state.owner is not None and isinstance(self.state.owner.op, SubsetRV)


def read_roles(likelihood: Variable, model: Model) -> Roles:
    """Recognise the decomposition whose observed variable is `likelihood`.

    If the graph is not one that the block updates serve exactly, a TypeError names the variable,
    what was found and what would be needed.
    """
    name = likelihood.name
    if not isinstance(likelihood.owner.op, NormalRV | InterpolationRV | CompressedNormalRV):
        raise TypeError(
            f"{name} is {distribution_name(likelihood)}; a decomposition needs an observed "
            "pm.Normal, bid.CompressedNormal or bid.Interpolation."
        )
    imputed = f"{name.removesuffix('_observed')}_unobserved"
    if name != imputed and imputed in model.named_vars:
        raise TypeError(
            f"PyMC made a variable, {imputed}, of the missing entries; a decomposition needs them "
            "left out. Write the mean as `((B * r) @ Y)[observed]` and observe `A[observed]`, or "
            "use bid.gbt(A, missing='mask')."
        )
    branches = split_likelihood(likelihood, model)
    entries = None
    if likelihood.ndim == 1 and branches.own is None:
        matrix = indexed_matrix(branches.mean, model)
        if matrix is not None:
            entries = ObservedEntries(likelihood, branches.mean, matrix)
            branches = branches._replace(mean=matrix)
    mean, scale, precision, rows, own = branches
    if likelihood.ndim != 2 and entries is None:
        # PyMC splits a variable with missing entries into vectors.
        raise TypeError(
            f"{name} has {likelihood.ndim} dimensions; a decomposition needs an observed matrix, "
            "or, with missing entries, a vector with the mean `((B * r) @ Y)[observed]`."
        )
    product = parameters_of(likelihood)[:2] if mean is None else [mean]
    state, weights = _read_factors(name, product, model)
    if mean is None:
        for variable, parameter in zip((state, weights), product, strict=True):
            if parameter is not variable:
                raise TypeError(
                    f"{name} has a function of {variable.name} for a parameter; a decomposition "
                    f"needs {variable.name} itself."
                )
    elif not is_polynomial(mean, [state, weights]):
        raise TypeError(
            f"The mean of {name} is not a plain product of data, {state.name} and {weights.name}; "
            f"{EXPECTED}."
        )
    for what, data in (("number of rows", rows), ("precision", precision)):
        if data is not None and random_variables_in([data], model):
            raise TypeError(f"The {what} of {name} is random; a decomposition needs it to be data.")
    if weights not in model.free_RVs:
        raise TypeError(f"{weights.name} is observed; a decomposition needs it to be free.")
    scales = [scale] if own is None else [scale, own.scale]
    dependents = [v.name for v in random_variables_in(scales, model) if v in (state, weights)]
    if dependents:
        raise TypeError(
            f"The scale of {name} depends on {', '.join(dependents)}; a decomposition needs noise "
            "that does not."
        )
    noise = read_noise(scale, entries, model)
    if noise is None:
        check_scale(likelihood, scale, model)
    return Roles(
        likelihood=likelihood,
        branches=branches,
        entries=entries,
        state=state,
        weights=weights,
        noise=noise,
        hyperparameters=_read_hyperparameters(weights, model),
        inclusion=read_inclusion(state, model),
    )


def distribution_name(variable: Variable) -> str:
    """Return what the distribution of a random variable is called."""
    return getattr(variable.owner.op, "_print_name", (type(variable.owner.op).__name__,))[0]


def require_only_child(variable: Variable, child: Variable, model: Model) -> None:
    """Raise TypeError if anything but `child` depends on `variable` in the model."""
    others = [v.name for v in children(variable, model) if v is not child]
    if others:
        raise TypeError(
            f"{variable.name} enters {', '.join(others)} as well as {child.name}; its exact update "
            f"needs it to enter {child.name} alone. Give it one of PyMC's samplers by `step=`."
        )


def _read_factors(name, product: list[Variable], model: Model) -> tuple[Variable, Variable]:
    """Tell the state vector from the weights."""
    parents = random_variables_in(product, model)
    states = [v for v in parents if np.dtype(v.dtype).kind in "iub"]
    weights = [v for v in parents if v not in states]
    if not states:
        # What `pm.do` makes of a state vector.
        states = [
            container
            for container in data_containers(product, blockers=model.basic_RVs)
            if container.ndim == 1 and np.dtype(container.dtype).kind in "iub"
        ]
    if len(states) != 1 or len(weights) != 1:
        found = ", ".join(v.name for v in parents) or "no random variable"
        raise TypeError(
            f"The mean of {name} depends on {found}; a decomposition needs one state vector and "
            f"one matrix of weights: {EXPECTED}."
        )
    (state,) = states
    (matrix,) = weights
    if not isinstance(matrix.owner.op, TruncatedNormalRV | NormalRV):
        raise TypeError(
            f"{matrix.name}, the weights in the mean of {name}, is {distribution_name(matrix)}; a "
            "decomposition needs pm.TruncatedNormal or pm.Normal."
        )
    if state.ndim != 1 or matrix.ndim != 2:
        raise TypeError(
            f"{state.name} has {state.ndim} and {matrix.name} {matrix.ndim} dimensions; "
            "a decomposition needs a vector and a matrix."
        )
    return state, matrix


def _read_hyperparameters(weights: Variable, model: Model) -> Variable | None:
    mean, scale, *bounds = parameters_of(weights)
    hyper = only_parent([mean, scale], GTNSNGRV, model)
    if hyper is None or hyper.ndim != 3:
        return None
    if not (is_polynomial(mean, [hyper]) and is_monomial(scale, [hyper])):
        return None
    evaluate = as_function([hyper], [mean, scale])
    shape = shape_of(hyper)
    rng = np.random.default_rng(0)
    for _ in range(2):
        probe = rng.gamma(2.0, size=shape)
        for found, expected in zip(
            evaluate(probe), (probe[..., 0], probe[..., 1] ** -0.5), strict=True
        ):
            if found.shape != shape[:2] or not np.allclose(found, expected, rtol=1e-12):
                return None
    return hyper if _same_bounds(bounds, hyper) else None


def _same_bounds(bounds: list[Variable], hyper: Variable) -> bool:
    """Whether weights and hyperprior are truncated to the same interval.

    Only then does the truncation constant cancel from the conditionals of (μ, τ).
    """
    weight_bounds = bounds or [pt.constant(-np.inf), pt.constant(np.inf)]
    hyper_bounds = parameters_of(hyper)[-2:]
    # Data may change, and random variables have a generator, which is a container as well.
    if data_containers([*weight_bounds, *hyper_bounds]):
        return False
    pairs = zip(weight_bounds, hyper_bounds, strict=True)
    return all(bool(pt.all(pt.eq(mine, theirs)).eval()) for mine, theirs in pairs)
