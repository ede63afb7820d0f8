"""The gate between PyMC's point and the kernels, which take it that arrays fit.

PyMC passes `initvals` on as they are given: of any shape, with any values. Nor does it look at what
a step returns.
"""

import math

import numpy as np

from pymc_bid.graph.decomposition import Decomposition
from pymc_bid.graph.joint import Joint
from pymc_bid.graph.values import Entry, Point

FARTHEST_MEAN = 1e100
"""Of a weight's prior, in its standard deviations."""


def check_starting_point(joint: Joint, point: Point) -> None:
    """Refuse a point that kernels can't start from, with an error that names the variable."""
    state, name = joint.state, joint.state.name
    # As it was given: entries of one half are not to be read as zeros.
    given = np.asarray(point[name] if state.sampled else state.read(point))
    _check_type(name, given)
    _check_shape(name, given, (joint.products().cross.shape[0],))
    if not np.isin(given, (0, 1)).all():
        raise ValueError(f"{name} can't start at {given}: it needs zeros and ones.")
    for part in joint.parts:
        _check_part(part, point)


def check_state(joint: Joint, point: Point) -> None:
    """Refuse a state vector that another step of the same chain has spoilt."""
    # In one pass: this is asked in every iteration.
    if joint.state.sampled and np.bitwise_or.reduce(joint.state.read(point)) not in (0, 1):
        given = joint.state.read(point)
        raise ValueError(f"{joint.state.name} is {given}: it needs zeros and ones.")


def check_draws(step: str, before: Point, after: Point) -> None:
    """Refuse a point that a step has drawn if there is a nan or an infinity in it."""
    for name, value in after.items():
        if value is before[name] or value.dtype.kind != "f":
            continue
        # NumPy takes fifty times as long for a single number.
        if math.isfinite(value) if value.ndim == 0 else np.isfinite(value).all():
            continue
        wrong = value[~np.isfinite(value)].flat[0]
        given = "; ".join(f"{entry} {_range(values)}" for entry, values in before.items())
        raise FloatingPointError(
            f"{step} would have drawn {wrong} for {name}, given {given}. Data whose columns are "
            "centred, with variances near 1, are the easiest to compute with."
        )


def _range(values: np.ndarray) -> str:
    """Say where values lie."""
    if values.size == 0:
        return "empty"
    least, most = values.min(), values.max()
    return f"{least:.6g}" if least == most else f"from {least:.6g} to {most:.6g}"


def check_number_of_ones(joint: Joint, point: Point) -> None:
    """Refuse a point with more or fewer ones than a fixed number of columns."""
    given, size = joint.state.read(point), joint.size(point)
    if size is not None and given.sum() != size:
        raise ValueError(f"{joint.state.name} can't start at {given}: it needs {size} ones.")


def check_same_shape(joint: Joint, shape: tuple[int, int]) -> None:
    """Refuse data of another shape than those that replicas are for."""
    now = joint.products().cross.shape
    if now != shape:
        raise ValueError(
            f"The step for {joint.state.name} was made for {shape[0]} columns that explain "
            f"{shape[1]}, and there are now {now[0]} for {now[1]}; make a new step."
        )


def check_odds(joint: Joint, point: Point) -> None:
    """Refuse a point at which the odds of a column mean nothing."""
    odds = joint.log_prior_odds(point)
    if np.isnan(odds).any():
        raise ValueError(
            f"{joint.state.name} can't start where the prior probability of its entry "
            f"{np.isnan(odds).argmax()} is nan or not between 0 and 1."
        )


def _check_part(part: Decomposition, point: Point) -> None:
    """Check what belongs to one likelihood; hyperparameters first, since the prior reads them."""
    shape = part.regression().shape
    if part.hyperparameters is not None:
        found = _finite(part.hyperparameters, (*shape, 2), point)
        _check_positive(part.hyperparameters.name, found[..., 1])
    weights, prior = _finite(part.weights, shape, point), part.weight_prior(point)
    of_weights = f"The prior of {part.weights.name}"
    _check_numbers(f"{of_weights} has the mean", prior.mean, -np.inf)
    _check_numbers(f"{of_weights} has the precision", prior.precision, 0.0)
    _check_distance(part.weights.name, *np.broadcast_arrays(prior.mean, prior.precision))
    if not (prior.lower < prior.upper).all():
        raise ValueError(f"{of_weights} needs lower bounds below its upper ones.")
    outside = (weights < prior.lower) | (weights > prior.upper)
    if outside.any():
        value = weights[outside][0]
        raise ValueError(f"{part.weights.name} can't start at {value}, outside of its bounds.")
    if part.noise.variance is not None:
        columns = () if part.roles.noise.ndim == 0 else shape[1:]
        variance = part.noise.variance
        _check_positive(variance.name, _finite(variance, columns, point))
    else:
        of_noise = f"The noise of {part.roles.likelihood.name} has the variance"
        _check_numbers(of_noise, part.noise_variance(point), 0.0)
    if part.own is not None and part.own.variance is not None:
        variance = part.own.variance
        _check_positive(variance.name, _finite(variance, shape[:1], point))


def _finite(entry: Entry, shape: tuple[int, ...], point: Point) -> np.ndarray:
    """Return the value of a variable, of this shape and without nan or infinity."""
    if entry.sampled:
        _check_type(entry.name, np.asarray(point[entry.name]))
    value = entry.read(point)
    _check_shape(entry.name, value, shape)
    if not np.isfinite(value).all():
        wrong = value[~np.isfinite(value)].flat[0]
        raise ValueError(f"{entry.name} can't start at {wrong}: it needs finite values.")
    return value


def _check_type(name: str, value: np.ndarray) -> None:
    if value.dtype.kind not in "biuf":
        raise TypeError(f"{name} can't start with values of type {value.dtype}: it needs numbers.")


def _check_shape(name: str, value: np.ndarray, shape: tuple[int, ...]) -> None:
    if value.shape != shape:
        raise ValueError(f"{name} can't start with shape {value.shape}: it needs {shape}.")


def _check_numbers(what: str, values: np.ndarray, above: float) -> None:
    wrong = ~(np.isfinite(values) & (values > above))
    if wrong.any():
        needed = "must be positive and finite" if above == 0.0 else "must be finite"
        raise ValueError(f"{what} {values[wrong][0]} where the chain starts; it {needed}.")


def _check_distance(name: str, mean: np.ndarray, precision: np.ndarray) -> None:
    far = np.abs(mean) * np.sqrt(precision) > FARTHEST_MEAN
    if far.any():
        raise ValueError(
            f"{name} can't start where its prior has the mean {mean[far][0]:g} and the precision "
            f"{precision[far][0]:g}: that is more than {FARTHEST_MEAN:g} standard deviations from "
            "0, whose squares can't be computed with."
        )


def _check_positive(name: str, value: np.ndarray) -> None:
    if not (value > 0).all():
        raise ValueError(f"{name} can't start at {value.min()}: it needs positive values.")
