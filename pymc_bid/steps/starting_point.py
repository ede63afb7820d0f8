"""The gate between PyMC's point and the kernels, which take it that arrays fit.

PyMC passes `initvals` on as they are given: of any shape, with any values.
"""

import numpy as np

from pymc_bid.graph.decomposition import Decomposition
from pymc_bid.graph.joint import Joint
from pymc_bid.graph.values import Entry, Point


def check_starting_point(joint: Joint, point: Point) -> None:
    """Refuse a point that kernels can't start from, with an error that names the variable."""
    state, name = joint.state, joint.state.name
    # As it was given: entries of one half are not to be read as zeros.
    given = np.asarray(point[name] if state.sampled else state.read(point))
    _check_shape(name, given, (joint.products().cross.shape[0],))
    if not np.isin(given, (0, 1)).all():
        raise ValueError(f"{name} can't start at {given}: it needs zeros and ones.")
    for part in joint.parts:
        _check_part(part, point)


def check_number_of_ones(joint: Joint, point: Point) -> None:
    """Refuse a point with more or fewer ones than a fixed number of columns."""
    given, size = joint.state.read(point), joint.size(point)
    if size is not None and given.sum() != size:
        raise ValueError(f"{joint.state.name} can't start at {given}: it needs {size} ones.")


def _check_part(part: Decomposition, point: Point) -> None:
    """Check what belongs to one likelihood; hyperparameters first, since the prior reads them."""
    shape = part.regression().shape
    if part.hyperparameters is not None:
        found = _finite(part.hyperparameters, (*shape, 2), point)
        _check_positive(part.hyperparameters.name, found[..., 1])
    weights, prior = _finite(part.weights, shape, point), part.weight_prior(point)
    outside = (weights < prior.lower) | (weights > prior.upper)
    if outside.any():
        value = weights[outside][0]
        raise ValueError(f"{part.weights.name} can't start at {value}, outside of its bounds.")
    if part.noise.variance is not None:
        columns = () if part.roles.noise.ndim == 0 else shape[1:]
        variance = part.noise.variance
        _check_positive(variance.name, _finite(variance, columns, point))
    if part.own is not None and part.own.variance is not None:
        variance = part.own.variance
        _check_positive(variance.name, _finite(variance, shape[:1], point))


def _finite(entry: Entry, shape: tuple[int, ...], point: Point) -> np.ndarray:
    """Return the value of a variable, of this shape and without nan or infinity."""
    value = entry.read(point)
    _check_shape(entry.name, value, shape)
    if not np.isfinite(value).all():
        wrong = value[~np.isfinite(value)].flat[0]
        raise ValueError(f"{entry.name} can't start at {wrong}: it needs finite values.")
    return value


def _check_shape(name: str, value: np.ndarray, shape: tuple[int, ...]) -> None:
    if value.shape != shape:
        raise ValueError(f"{name} can't start with shape {value.shape}: it needs {shape}.")


def _check_positive(name: str, value: np.ndarray) -> None:
    if not (value > 0).all():
        raise ValueError(f"{name} can't start at {value.min()}: it needs positive values.")
