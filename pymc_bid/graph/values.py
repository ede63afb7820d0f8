"""Values of model expressions at a sampler's point, and back."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytensor
from numpy.typing import NDArray
from pymc.model import Model
from pymc.pytensorf import inputvars
from pytensor.graph.basic import Variable

from pymc_bid.graph.structure import INTERPRETED, data_containers

Point = dict[str, np.ndarray]

SMALLEST_VARIANCE = float(np.finfo(np.float64).tiny)
LARGEST_VARIANCE = float(np.finfo(np.float64).max)
_OWN_VALUE = "value of a variable before its transform"


def as_view(values, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Broadcast, in the layout that a number broadcast has.

    The kernels are compiled for one layout, and would be compiled again, for a minute, for another.
    """
    view = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
    if view.flags.forc:
        spaced = np.empty((*shape, 2))[..., 0]
        spaced[...] = view
        view = np.broadcast_to(spaced, shape)
    return view


def active_columns(state: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the chosen columns J of a vector of zeros and ones, ascending."""
    return state.nonzero()[0]


class WeightPrior(NamedTuple):
    """Parameters of the weights' prior, each a read-only (N, L) view."""

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def of(cls, shape: tuple[int, int], *fields) -> "WeightPrior":
        """Broadcast mean, precision, lower and upper bound to (N, L)."""
        return cls(*(as_view(field, shape) for field in fields))


class Quantities:
    """Numerical values of expressions that may depend on any variable of the model.

    Attributes
    ----------
    names : set of str
        Entries of a point that they depend on.
    reads_data : bool
        Whether they read a `pm.Data` container.
    fixed : bool
        Whether they have one value for ever.
    """

    def __init__(self, expressions: Sequence[Variable], model: Model):
        expressions = model.replace_rvs_by_values(list(expressions))
        inputs = inputvars(expressions)
        self._names = [variable.name for variable in inputs]
        self._function = pytensor.function(
            inputs, expressions, mode=INTERPRETED, on_unused_input="ignore"
        )
        self.names = set(self._names)
        self.reads_data = bool(data_containers(expressions))
        self.fixed = not inputs and not self.reads_data
        self._values = self._function() if self.fixed else None

    def __call__(self, point: Point) -> list[np.ndarray]:
        """Return the values at `point`; they must not be written to."""
        if self._values is not None:
            return self._values
        return self._function(*[point[name] for name in self._names])

    def as_floats(self, point: Point) -> list[NDArray[np.float64]]:
        """Return the values at `point` in double precision, which that of small integers is not."""
        return [np.asarray(value, dtype=np.float64) for value in self(point)]


class Entry:
    """A random variable's entry in a sampler's point, with the model's transform undone.

    One that is not sampled, but observed or a data container, can be read and not written.
    """

    def __init__(self, variable: Variable, model: Model):
        value = model.rvs_to_values.get(variable, variable)
        transform = model.rvs_to_transforms.get(variable)
        self.name = value.name
        self.sampled = variable in model.free_RVs
        self._dtype = value.dtype
        self._own_dtype = np.int64 if np.dtype(variable.dtype).kind in "iub" else np.float64
        self._backward = self._forward = None
        if transform is not None:
            self._backward = Quantities([variable], model)
            own = variable.type(name=_OWN_VALUE)
            self._forward = Quantities([transform.forward(own, *variable.owner.inputs)], model)
        elif not self.sampled:
            self._backward = Quantities([value], model)

    def read(self, point: Point) -> np.ndarray:
        """Return the variable's own value; it must not be written to."""
        value = point[self.name] if self._backward is None else self._backward(point)[0]
        return np.asarray(value, dtype=self._own_dtype)

    def write(self, value: np.ndarray, point: Point) -> Point:
        """Return a new point with this variable set to `value`, every key in its place."""
        if self._forward is not None:
            (value,) = self._forward(point | {_OWN_VALUE: value})
        return point | {self.name: np.asarray(value, dtype=self._dtype)}


class CheckedState(Entry):
    """Entry of a state vector that may have other values than 0 and 1."""

    def read(self, point: Point) -> np.ndarray:
        """Return a 0/1 vector; it must not be written to."""
        state = super().read(point)
        if not (state == state.astype(bool)).all():
            raise ValueError(
                f"{self.name} is no state vector: it has values other than 0 and 1, {state}."
            )
        return state
