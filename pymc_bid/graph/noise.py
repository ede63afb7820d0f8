"""The noise of a likelihood: its prior, and how it differs between targets and entries."""

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import InvGammaRV

from pymc_bid.graph.structure import as_function, is_monomial, random_variables_in
from pymc_bid.graph.values import Entry, Point, Quantities


def read_noise(scale: Variable, entries, model: Model) -> Variable | None:
    """Return σ² if it is an inverse gamma variable, for all targets or one each, and scale c·σ.

    c may be any data: entries with known precision. `entries` are the `ObservedEntries` if not all
    are observed.
    """
    parents = random_variables_in([scale], model)
    if len(parents) != 1 or not isinstance(parents[0].owner.op, InvGammaRV):
        return None
    (variance,) = parents
    if variance not in model.free_RVs or variance.ndim > 1 or not is_monomial(scale, parents):
        return None
    # Entry by entry c·x^p, which two points settle.
    evaluate = as_function([variance], [scale])
    shape: tuple[int, ...] = () if variance.ndim == 0 else (int(variance.shape[0].eval()),)
    one = evaluate(np.ones(shape, dtype=variance.dtype))[0]
    for seed in range(2):
        values = np.random.default_rng(seed).gamma(2.0, size=shape).astype(variance.dtype)
        found, expected = evaluate(values)[0], np.sqrt(values)
        if variance.ndim == 1 and entries is not None:
            expected = expected[columns_of_entries(evaluate, shape[0])]
        elif variance.ndim == 1 and (found.ndim == 0 or found.shape[-1] != shape[0]):
            return None
        if not np.allclose(found, one * expected, rtol=1e-12):
            return None
    return variance


def columns_of_entries(evaluate, size: int) -> NDArray[np.int64]:
    """Tell which of `size` variances each entry of a vector has for a factor, by their numbers."""
    numbers = np.arange(1.0, size + 1)
    ratio = evaluate(numbers**2)[0] / evaluate(np.ones(size))[0]
    return np.clip(np.rint(ratio).astype(np.int64) - 1, 0, size - 1)


def check_scale(likelihood: Variable, scale: Variable, entries, model: Model) -> None:
    """Raise TypeError unless the scale is a known factor of each entry times one of its target."""
    if _same_in_all_rows(likelihood, scale) or read_noise(scale, entries, model) is not None:
        return
    parents = random_variables_in([scale], model)
    if not parents:
        return
    if len(parents) == 1 and is_monomial(scale, parents):
        (parent,) = parents
        evaluate = as_function(parents, [scale])
        shape = tuple(int(n) for n in parent.shape.eval()) if parent.ndim else ()
        one = evaluate(np.ones(shape, dtype=parent.dtype))[0]
        values = np.random.default_rng(0).gamma(2.0, size=shape).astype(parent.dtype)
        ratio = evaluate(values)[0] / one
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
    expressions : list of variables
        What d is read from.
    prior_quantities : Quantities or None
        Shape and scale of the prior of σ².
    """

    def __init__(
        self,
        likelihood: Variable,
        scale: Variable,
        variance: Variable | None,
        precision: Variable | None,
        model: Model,
    ):
        self.variance = None if variance is None else Entry(variance, model)
        self.expressions = [scale] if precision is None else [scale, precision]
        self._precision = None if precision is None else Quantities([precision], model)
        self._scale = Quantities([scale], model)
        self._columns = None
        if variance is not None and variance.ndim == 1 and likelihood.ndim == 1:
            evaluate_scale = as_function([variance], [scale])
            size = int(variance.shape[0].eval())
            self._columns = lambda: columns_of_entries(evaluate_scale, size)
        self.prior_quantities = (
            None
            if variance is None
            else Quantities(variance.owner.op.dist_params(variance.owner), model)
        )
        self._matrix = likelihood.ndim == 2
        parents = random_variables_in([scale], model)
        self._unit = None
        if variance is not None or not _same_in_all_rows(likelihood, scale):
            shapes = [tuple(int(n) for n in v.shape.eval()) if v.ndim else () for v in parents]
            ones = [np.ones(s, dtype=v.dtype) for s, v in zip(shapes, parents, strict=True)]
            evaluate = as_function(parents, [scale])
            self._unit = lambda: np.asarray(evaluate(*ones)[0], dtype=np.float64)
        self._factor: NDArray[np.float64] | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the scale depends on no random variable."""
        return not self._scale.names

    def read_row_weights(self, shape: tuple[int, int], entries) -> NDArray[np.float64] | None:
        """Return d, (M, L), None if it is 1 everywhere.

        Parameters
        ----------
        shape : tuple
            (M, L).
        entries : ObservedEntries or None
            Where the observed entries of the matrix are, if not everywhere.
        """
        weights = None if entries is None else entries.row_weights(shape)
        if self._precision is not None:
            precision = np.asarray(self._precision({})[0], dtype=np.float64)
            if not ((precision >= 0) & np.isfinite(precision)).all():
                raise ValueError("The precision of the entries must be finite and not negative.")
            if not np.all(precision == 1.0):
                weights = np.broadcast_to(precision, shape)
        if self._columns is not None and not np.array_equal(
            self._columns(), entries.places(shape) % shape[1]
        ):
            raise TypeError("The noise variances are not those of the columns of their entries.")
        if self._unit is not None:
            self._factor = factor = self._unit()
            if not ((factor > 0) & np.isfinite(factor)).all():
                raise ValueError("The scale of the entries must be finite and positive.")
            if entries is not None:
                observed = int(weights.sum())
                factor = entries.put_back(np.broadcast_to(factor, (observed,)), shape)
                factor[weights == 0] = 1.0
            known = np.broadcast_to(factor**-2.0, shape)
            weights = known if weights is None else weights * known
        return None if weights is None or np.all(weights == 1.0) else weights

    def at(self, point: Point, targets: int) -> NDArray[np.float64]:
        """σ² of each target at a point, whatever its prior, (L,)."""
        if self.variance is not None:
            variance = self.variance.read(point)
        else:
            scale = np.asarray(self._scale(point)[0], dtype=np.float64)
            if self._factor is not None:
                # The same in every row, with what differs between the rows divided out.
                scale = np.atleast_2d(scale / self._factor)[0]
                scale = scale[: targets if self._matrix else 1]
            variance = scale.ravel() ** 2
        return np.full(targets, variance)

    def prior(self, point: Point) -> list[NDArray[np.float64]]:
        """Shape and scale of the inverse gamma prior of σ²."""
        return [np.asarray(value, dtype=np.float64) for value in self.prior_quantities(point)]
