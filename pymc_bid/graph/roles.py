"""Which variables of a PyMC model play which part in an interpolative decomposition."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.continuous import TruncatedNormalRV
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV, InvGammaRV, NormalRV

from pymc_bid.distributions.gtnsng import GTNSNGRV
from pymc_bid.distributions.interpolation import InterpolationRV
from pymc_bid.distributions.state_vector import SubsetRV
from pymc_bid.graph.own_density import OwnDensity, split_likelihood
from pymc_bid.graph.structure import (
    as_function,
    children,
    is_fixed,
    is_monomial,
    is_polynomial,
    random_variables_in,
)

_EXPECTED = "write the mean as `(B * r) @ Y`, with r a 0/1 vector and Y a matrix of weights"


@dataclass(frozen=True)
class Roles:
    """The variables of one decomposition, A ~ Normal(B·diag(r)·Y, σ²)."""

    likelihood: Variable
    """Observed variable A, normal or an `Interpolation`."""
    mean: Variable | None
    """B·diag(r)·Y as it stands in the graph; None in an `Interpolation`, where B is A itself."""
    scale: Variable
    """σ as it stands in the graph."""
    state: Variable
    """State vector r: Bernoulli entries, or a subset of fixed size."""
    weights: Variable
    """Weights Y: a normal or truncated normal variable."""
    noise: Variable | None
    """σ², if it is an inverse gamma variable and the likelihood's scale is its square root."""
    hyperparameters: Variable | None
    """(μ, τ) of each weight, if they are a GTNSNG variable with the bounds of the weights."""
    own: OwnDensity | None
    """Density of the chosen columns, in the model with the identity; else they are interpolated."""

    @property
    def fixed_size(self) -> bool:
        """Whether the number of chosen columns is given, not found."""
        return isinstance(self.state.owner.op, SubsetRV)


def read_roles(likelihood: Variable, model: Model) -> Roles:
    """Recognise the decomposition whose observed variable is `likelihood`.

    Raises
    ------
    TypeError
        If the graph is not one that the block updates serve exactly; the message names the
        variable, what was found and what would be needed.
    """
    name = likelihood.name
    if not isinstance(likelihood.owner.op, NormalRV | InterpolationRV):
        raise TypeError(
            f"{name} is {_distribution(likelihood)}; a decomposition needs an observed pm.Normal "
            "or bid.Interpolation."
        )
    if likelihood.ndim != 2:
        # PyMC splits a variable with missing entries into vectors.
        raise TypeError(
            f"{name} has {likelihood.ndim} dimensions; a decomposition needs an observed matrix "
            "without missing entries."
        )
    sides = split_likelihood(likelihood, model)
    mean = sides.mean
    parents = random_variables_in(
        likelihood.owner.op.dist_params(likelihood.owner)[:2] if mean is None else [mean], model
    )
    state = _only(
        [v for v in parents if isinstance(v.owner.op, BernoulliRV | SubsetRV)],
        f"the mean of {name} needs exactly one 0/1 state vector (pm.Bernoulli or bid.StateVector)",
    )
    weights = _only(
        [v for v in parents if isinstance(v.owner.op, TruncatedNormalRV | NormalRV)],
        f"the mean of {name} needs exactly one matrix of weights (pm.TruncatedNormal or pm.Normal)",
    )
    others = [v.name for v in parents if v is not state and v is not weights]
    if others:
        raise TypeError(f"The mean of {name} also depends on {', '.join(others)}; {_EXPECTED}.")
    for variable in (state, weights):
        if variable not in model.free_RVs:
            raise TypeError(f"{variable.name} is observed; a decomposition needs it to be free.")
    if state.ndim != 1 or weights.ndim != 2:
        raise TypeError(
            f"{state.name} has {state.ndim} and {weights.name} {weights.ndim} dimensions; "
            "a decomposition needs a vector and a matrix."
        )
    if mean is None:
        _check_untouched(likelihood, state, weights)
    elif not is_polynomial(mean, [state, weights]):
        raise TypeError(
            f"The mean of {name} is not a plain product of data, {state.name} and {weights.name}; "
            f"{_EXPECTED}."
        )
    scales = [sides.scale] if sides.own is None else [sides.scale, sides.own.scale]
    _check_scale(likelihood, scales, (state, weights), model)
    return Roles(
        likelihood=likelihood,
        mean=mean,
        scale=sides.scale,
        state=state,
        weights=weights,
        noise=_read_noise(sides.scale, model),
        hyperparameters=_read_hyperparameters(weights, model),
        own=sides.own,
    )


def require_only_child(variable: Variable, child: Variable, model: Model) -> None:
    """Raise TypeError if anything but `child` depends on `variable` in the model."""
    others = [v.name for v in children(variable, model) if v is not child]
    if others:
        raise TypeError(
            f"{variable.name} enters {', '.join(others)} as well as {child.name}; its exact update "
            f"needs it to enter {child.name} alone. Give it one of PyMC's samplers by `step=`."
        )


def pool_from_mean(roles: Roles) -> "PoolReader":
    """Return a function that reads the pool B off the mean, and proves the mean to be B·diag(r)·Y.

    The mean is a polynomial in (r, Y), see `read_roles`, so its coefficients can be read off at
    well-chosen points, and equality with B·diag(r)·Y at random points is equality everywhere.
    """
    return PoolReader(roles, as_function([roles.state, roles.weights], [roles.mean]))


@dataclass(frozen=True)
class PoolReader:
    """Reads the pool B off the mean of a likelihood; call it again when the data have changed."""

    roles: Roles
    mean: Any

    def __call__(self, target: np.ndarray, size: int) -> np.ndarray:
        """Return B, (M, N), for a target (M, L) and a state vector of length N = `size`."""
        columns = target.shape[1]
        everything = np.ones(size, dtype=self.roles.state.dtype)
        pieces = []
        for start in range(0, size, columns):
            width = min(columns, size - start)
            unit = np.zeros((size, columns))
            unit[np.arange(start, start + width), np.arange(width)] = 1.0
            pieces.append(self._evaluate(everything, unit, target.shape)[:, :width])
        pool = np.concatenate(pieces, axis=1)
        rng = np.random.default_rng(0)
        for _ in range(2):
            state = rng.integers(-3, 10, size).astype(self.roles.state.dtype)
            weights = rng.normal(size=(size, columns))
            found = self._evaluate(state, weights, target.shape)
            tolerance = 1e-9 * (np.abs(pool * state) @ np.abs(weights))
            if not (np.abs(found - (pool * state) @ weights) <= tolerance).all():
                raise TypeError(
                    f"The mean of {self.roles.likelihood.name} is not the product B·diag(r)·Y of a "
                    f"data matrix, {self.roles.state.name} and {self.roles.weights.name}; "
                    f"{_EXPECTED}."
                )
        return pool

    def _evaluate(self, state, weights, shape) -> np.ndarray:
        try:
            value = np.asarray(self.mean(state, weights)[0], dtype=np.float64)
        except ValueError as error:
            raise TypeError(
                f"The mean of {self.roles.likelihood.name} can't be computed from a "
                f"{self.roles.weights.name} of shape {weights.shape}; {_EXPECTED}."
            ) from error
        if value.shape != shape:
            raise TypeError(
                f"The mean of {self.roles.likelihood.name} has shape {value.shape}, its data have "
                f"shape {shape}; a decomposition needs the same."
            )
        return value


def _distribution(variable: Variable) -> str:
    return getattr(variable.owner.op, "_print_name", (type(variable.owner.op).__name__,))[0]


def _only(candidates: list[Variable], needed: str) -> Variable:
    if len(candidates) != 1:
        found = ", ".join(v.name for v in candidates) or "none"
        raise TypeError(f"{needed[0].upper()}{needed[1:]}; found {found}.")
    return candidates[0]


def _check_untouched(likelihood, state, weights) -> None:
    """Raise TypeError unless an `Interpolation` has the variables themselves for parameters."""
    for variable, parameter in zip(
        (state, weights), likelihood.owner.op.dist_params(likelihood.owner)[:2], strict=True
    ):
        if parameter is not variable:
            raise TypeError(
                f"{likelihood.name} has a function of {variable.name} for a parameter; a "
                f"decomposition needs {variable.name} itself."
            )


def _check_scale(likelihood, scales, forbidden, model) -> None:
    dependents = [v.name for v in random_variables_in(scales, model) if v in forbidden]
    if dependents:
        raise TypeError(
            f"The scale of {likelihood.name} depends on {', '.join(dependents)}; a decomposition "
            "needs noise that does not."
        )
    if not all(scales[0].type.broadcastable):
        raise TypeError(
            f"The scale of {likelihood.name} differs between entries; a decomposition needs one "
            "noise variance for all of them."
        )


def _read_noise(scale: Variable, model: Model) -> Variable | None:
    parents = random_variables_in([scale], model)
    if len(parents) != 1 or not isinstance(parents[0].owner.op, InvGammaRV):
        return None
    (noise,) = parents
    if noise not in model.free_RVs or noise.ndim != 0 or not is_monomial(scale, [noise]):
        return None
    # c·x^p is settled by two points.
    evaluate = as_function([noise], [scale])
    values = [evaluate(np.asarray(x, dtype=noise.dtype))[0].item() for x in (1.0, 4.0)]
    return noise if np.allclose(values, [1.0, 2.0], rtol=1e-12) else None


def _read_hyperparameters(weights: Variable, model: Model) -> Variable | None:
    mean, scale, *bounds = weights.owner.op.dist_params(weights.owner)
    parents = random_variables_in([mean, scale], model)
    if len(parents) != 1 or not isinstance(parents[0].owner.op, GTNSNGRV):
        return None
    (hyper,) = parents
    if hyper not in model.free_RVs or hyper.ndim != 3:
        return None
    if not (is_polynomial(mean, parents) and is_monomial(scale, parents)):
        return None
    evaluate = as_function(parents, [mean, scale])
    shape = tuple(2 if n is None else n for n in hyper.type.shape)
    rng = np.random.default_rng(0)
    for _ in range(2):
        probe = rng.gamma(2.0, size=shape)
        found_mean, found_scale = evaluate(probe)
        if found_mean.shape != shape[:2] or found_scale.shape != shape[:2]:
            return None
        if not np.allclose(found_mean, probe[..., 0], rtol=1e-12):
            return None
        if not np.allclose(found_scale, probe[..., 1] ** -0.5, rtol=1e-12):
            return None
    return hyper if _same_bounds(bounds, hyper) else None


def _same_bounds(bounds: list[Variable], hyper: Variable) -> bool:
    """Whether weights and hyperprior are truncated to the same interval.

    Only then does the truncation constant cancel from the conditionals of (μ, τ).
    """
    weight_bounds = bounds or [pt.constant(-np.inf), pt.constant(np.inf)]
    hyper_bounds = hyper.owner.op.dist_params(hyper.owner)[-2:]
    if not all(is_fixed(bound) for bound in (*weight_bounds, *hyper_bounds)):
        return False
    pairs = zip(weight_bounds, hyper_bounds, strict=True)
    return all(bool(pt.all(pt.eq(mine, theirs)).eval()) for mine, theirs in pairs)
