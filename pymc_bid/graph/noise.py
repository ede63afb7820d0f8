"""The noise of a likelihood: its prior, and how it differs between targets and entries."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import InvGammaRV

from pymc_bid.graph.pool import ObservedEntries
from pymc_bid.graph.structure import (
    as_function,
    is_monomial,
    only_parent,
    parameters_of,
    random_variables_in,
    shape_of,
)
from pymc_bid.graph.values import Entry, Point, Quantities

if TYPE_CHECKING:
    from pymc_bid.graph.roles import Roles


def read_noise(scale: Variable, entries: ObservedEntries | None, model: Model) -> Variable | None:
    """Return σ² if it is an inverse gamma variable, for all targets or one each, and scale c·σ.

    c may be any data: entries with known precision. `entries` is None if all are observed.
    """
    variance = only_parent([scale], InvGammaRV, model)
    if variance is None or variance.ndim > 1 or not is_monomial(scale, [variance]):
        return None
    evaluate = as_function([variance], [scale])
    shape = shape_of(variance)
    one = evaluate(np.ones(shape, dtype=variance.dtype))[0]
    rng = np.random.default_rng(0)
    # Entry by entry c·x^p, which two points settle.
    for _ in range(2):
        values = rng.gamma(2.0, size=shape).astype(variance.dtype)
        found, expected = evaluate(values)[0], np.sqrt(values)
        if variance.ndim == 1 and entries is not None:
            expected = expected[_columns_of_entries(evaluate, shape[0])]
        elif variance.ndim == 1 and (found.ndim == 0 or found.shape[-1] != shape[0]):
            return None
        if not np.allclose(found, one * expected, rtol=1e-12):
            return None
    return variance


def _columns_of_entries(evaluate, size: int) -> NDArray[np.int64]:
    """Tell which of `size` variances each entry of a vector has for a factor, by their numbers."""
    numbers = np.arange(1.0, size + 1)
    ratio = evaluate(numbers**2)[0] / evaluate(np.ones(size))[0]
    return np.clip(np.rint(ratio).astype(np.int64) - 1, 0, size - 1)


def check_scale(likelihood: Variable, scale: Variable, model: Model) -> None:
    """Raise TypeError unless a scale without σ² is a factor of each entry times one of its target.

    The former has to be known, the latter may be random.
    """
    parents = random_variables_in([scale], model)
    if not parents or _same_in_all_rows(likelihood, scale):
        return
    if len(parents) == 1 and is_monomial(scale, parents):
        (parent,) = parents
        evaluate = as_function(parents, [scale])
        values = np.random.default_rng(0).gamma(2.0, size=shape_of(parent)).astype(parent.dtype)
        ratio = evaluate(values)[0] / evaluate(np.ones_like(values))[0]
        # A vector holds entries of all targets.
        if np.allclose(ratio, ratio[:1], rtol=1e-12):
            return
    raise TypeError(
        f"The scale of {likelihood.name} differs between the entries of a column in a way that "
        "depends on random variables; a decomposition needs sqrt(σ²) times data, with one σ² or "
        "one for each column."
    )


def _same_in_all_rows(likelihood: Variable, scale: Variable) -> bool:
    if likelihood.ndim == 1:
        return all(scale.type.broadcastable)
    return scale.ndim < 2 or scale.type.broadcastable[0]


class NoiseValues:
    """Noise variance σ_l² / d_ml of entry (m, l), with d known and σ² at a sampler's point.

    Attributes
    ----------
    variance : Entry or None
        Entry of σ² in a sampler's point, if its conditional is inverse gamma.
    prior_quantities : Quantities or None
        Shape and scale of the prior of σ².
    """

    def __init__(self, roles: "Roles", model: Model):
        scale, precision = roles.branches.scale, roles.branches.precision
        self._precision = Quantities([] if precision is None else [precision], model)
        self._scale = Quantities([scale], model)
        self._name = roles.likelihood.name
        self._entries = roles.entries
        self._factor: NDArray[np.float64] | None = None
        parents = random_variables_in([scale], model)
        self._evaluate = as_function(parents, [scale])
        self._ones = [np.ones(shape_of(parent), dtype=parent.dtype) for parent in parents]
        self.variance = self.prior_quantities = None
        if roles.noise is not None:
            self.variance = Entry(roles.noise, model)
            self.prior_quantities = Quantities(parameters_of(roles.noise), model)
        # A scale that is the same in every row has no factor to be divided out.
        self._whole = roles.noise is None and _same_in_all_rows(roles.likelihood, scale)

    @property
    def is_fixed(self) -> bool:
        """Whether the scale depends on no random variable."""
        return not self._scale.names

    def read_row_weights(self, shape: tuple[int, int]) -> NDArray[np.float64] | None:
        """Return d, (M, L), of a matrix of that shape; None if it is 1 everywhere."""
        entries = self._entries
        weights = None if entries is None else entries.put_back(1.0, shape)
        for precision in self._precision.as_floats({}):
            if not ((precision >= 0) & np.isfinite(precision)).all():
                raise ValueError(
                    f"The precision of the entries of {self._name} must be finite and not negative."
                )
            weights = np.broadcast_to(precision, shape)
        if self.variance is not None and entries is not None and self._ones[0].ndim == 1:
            columns = _columns_of_entries(self._evaluate, self._ones[0].size)
            if not np.array_equal(columns, entries.places(shape) % shape[1]):
                raise TypeError("The noise variances are not those of the columns of the entries.")
        if not self._whole:
            self._factor = factor = np.asarray(self._evaluate(*self._ones)[0], dtype=np.float64)
            if not ((factor > 0) & np.isfinite(factor)).all():
                raise ValueError(
                    f"The scale of the entries of {self._name} must be finite and positive."
                )
            if entries is not None:
                factor = entries.put_back(factor, shape)
                factor[weights == 0] = 1.0
            known = np.broadcast_to(factor**-2.0, shape)
            weights = known if weights is None else weights * known
        return None if weights is None or np.all(weights == 1.0) else weights

    def at(self, point: Point, targets: int) -> NDArray[np.float64]:
        """σ² of each target at a point, whatever its prior, (L,)."""
        if self.variance is not None:
            variance = self.variance.read(point)
        else:
            (scale,) = self._scale.as_floats(point)
            if self._factor is not None:
                # The same in every row, with what differs between the rows divided out.
                scale = np.atleast_2d(scale / self._factor)[0]
                scale = scale[: targets if self._entries is None else 1]
            variance = scale.ravel() ** 2
        return np.full(targets, variance)

    def prior(self, point: Point) -> list[NDArray[np.float64]]:
        """Shape and scale of the inverse gamma prior of σ²."""
        return self.prior_quantities.as_floats(point)
