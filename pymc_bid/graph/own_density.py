"""The two sides of a likelihood: chosen columns with a density of their own, and interpolated ones.

In the model with the identity the mean and the scale of the likelihood are each a choice, made by
the state vector, between those of a column's own density and those of the regression.
"""

from typing import NamedTuple

import numpy as np
import pytensor.scalar as ps
from pymc.model import Model
from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.basic import InvGammaRV

from pymc_bid.distributions.compressed_normal import CompressedNormalRV
from pymc_bid.distributions.interpolation import InterpolationRV
from pymc_bid.graph.structure import (
    as_function,
    dependent_nodes,
    is_monomial,
    random_variables_in,
)


class OwnDensity(NamedTuple):
    """Normal density of the chosen columns."""

    mean: Variable
    """Free of random variables."""
    scale: Variable
    """One number, or one for each column; may depend on any variable but the state vector."""
    variance: Variable | None
    """ω², if it is a vector of inverse gamma variables and the scale is its square root."""


class Sides(NamedTuple):
    """Mean and scale of the interpolated columns, and the density of the chosen ones if any."""

    mean: Variable | None
    """None where the mean is that of `pymc_bid.Interpolation`, a product by its definition."""
    scale: Variable
    own: OwnDensity | None
    precision: Variable | None = None
    """Known precision of each entry that an `Interpolation` has besides its scale."""
    rows: Variable | None = None
    """Rows of the data, None if they are those of the observed matrix."""


def split_likelihood(likelihood: Variable, model: Model) -> Sides:
    """Tell the own density of the chosen columns from the regression of the others.

    Raises
    ------
    TypeError
        If mean and scale are not split in the same way, or the own mean is not data.
    """
    parameters = likelihood.owner.op.dist_params(likelihood.owner)
    if isinstance(likelihood.owner.op, InterpolationRV):
        _, _, scale, own_mean, own_scale, precision, rows = parameters
        own = _own_density(likelihood, own_mean, own_scale, model)
        return Sides(None, scale, own, precision, rows)
    if isinstance(likelihood.owner.op, CompressedNormalRV):
        mean, scale, rows = parameters
        return Sides(mean, scale, None, rows=rows)
    mean, scale = parameters
    mean_sides, scale_sides = _branches(mean, model), _branches(scale, model)
    if mean_sides is None:
        return Sides(mean, scale, None)
    if scale_sides is None or mean_sides[0] is not scale_sides[0]:
        raise TypeError(
            f"The mean of {likelihood.name} depends on whether a column is chosen, its scale does "
            "not in the same way; write `sigma=pt.where(r, omega, sigma)` along with "
            "`mu=pt.where(r, 0, (A * r) @ Y)`."
        )
    _, own_mean, mean = mean_sides
    _, own_scale, scale = scale_sides
    return Sides(mean, scale, _own_density(likelihood, own_mean, own_scale, model))


def _branches(expression: Variable, model: Model) -> tuple[Variable, Variable, Variable] | None:
    """Return a state vector and what stands for its ones and its zeros, None if nothing does."""
    node = expression.owner
    while node is not None and _only_adds_leading_dimensions(node):
        node = node.inputs[0].owner
    is_choice = (
        node is not None
        and isinstance(node.op, Elemwise)
        and isinstance(node.op.scalar_op, ps.Switch)
    )
    if not is_choice:
        return None
    condition, first, second = node.inputs
    parents = random_variables_in([condition], model)
    if len(parents) != 1 or parents[0].ndim != 1 or np.dtype(parents[0].dtype).kind not in "iub":
        return None
    (state,) = parents
    # Entry by entry, so that zeros and ones tell everything.
    for between in dependent_nodes(condition, [state]):
        if not isinstance(between.op, Elemwise | DimShuffle):
            return None
    evaluate = as_function([state], [condition])
    size = int(state.shape[0].eval())
    answers = []
    for entry in (0, 1):
        answer = evaluate(np.full(size, entry, dtype=state.dtype))[0]
        if answer.shape not in {(size,), (1, size)}:
            return None
        answers.append(np.ravel(answer).astype(bool))
    if not answers[0].any() and answers[1].all():
        return state, first, second
    if answers[0].all() and not answers[1].any():
        return state, second, first
    return None


def _only_adds_leading_dimensions(node: Apply) -> bool:
    if not isinstance(node.op, DimShuffle):
        return False
    kept = range(node.inputs[0].ndim)
    return list(node.op.new_order) == ["x"] * (node.outputs[0].ndim - len(kept)) + list(kept)


def _own_density(likelihood, mean, scale, model) -> OwnDensity:
    random = [v.name for v in random_variables_in([mean], model)]
    if random:
        raise TypeError(
            f"The mean of the chosen columns of {likelihood.name} depends on {', '.join(random)}; "
            "a decomposition needs it to be data."
        )
    return OwnDensity(mean, scale, _read_variance(scale, model))


def _read_variance(scale: Variable, model: Model) -> Variable | None:
    parents = random_variables_in([scale], model)
    if len(parents) != 1 or not isinstance(parents[0].owner.op, InvGammaRV):
        return None
    (variance,) = parents
    if variance not in model.free_RVs or variance.ndim != 1 or not is_monomial(scale, parents):
        return None
    # Entry by entry c·x^p, which two points settle.
    evaluate = as_function([variance], [scale])
    size = int(variance.shape[0].eval())
    probe = np.random.default_rng(0).gamma(2.0, size=(2, size)).astype(variance.dtype)
    for values in probe:
        found = evaluate(values)[0]
        if found.size != size or not np.allclose(np.ravel(found), np.sqrt(values), rtol=1e-12):
            return None
    return variance
