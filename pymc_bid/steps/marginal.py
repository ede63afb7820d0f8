"""The closed form of a model at hand: one marginal model for all likelihoods of a state vector."""

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import Point, WeightPrior
from pymc_bid.kernels.marginal.constants import log_prior_masses
from pymc_bid.kernels.types import Marginal
from pymc_bid.regression import AlikeProducts, alike_products
from pymc_bid.steps.ladder import FEW_COLUMNS


class MarginalBuilder:
    """Makes marginal models of the likelihoods that share a state vector.

    Parameters
    ----------
    joint : Joint
    noise_is_free : bool
        Whether the noise variances are integrated out, or held at reference values.

    Attributes
    ----------
    one_variance : bool
        Whether the noise variance, one for all targets, is a part of the replicas' state, as the
        sweep operator needs. With few columns it is integrated out: at a given one there is no way
        between sets that call for different ones. On wine with a negated copy (178×10, identity)
        the best set, 16 nats above a second mode, was never found by the sweep operator and always
        by integrated evidences.
    """

    def __init__(self, joint: Joint, noise_is_free: bool):
        self._joint = joint
        self._noise_is_free = noise_is_free
        common = all(
            part.roles.noise is not None and part.roles.noise.ndim == 0 for part in joint.parts
        )
        few = joint.parts[0].regression().shape[0] <= FEW_COLUMNS
        self.one_variance = len(joint.parts) == 1 and not few and (common or not noise_is_free)
        self._data: list = []
        self._alike: list[AlikeProducts] = []
        # Here, not in chains that run side by side, where threads of linear algebra would wait for
        # each other.
        self._products()

    def _products(self) -> list[AlikeProducts]:
        """Return the products of each part, made anew when its data are new."""
        data = [part.regression() for part in self._joint.parts]
        if [id(one) for one in data] != [id(one) for one in self._data]:
            self._data, self._alike = data, [alike_products(one) for one in data]
        return self._alike

    @property
    def is_current(self) -> bool:
        """Whether the data are those of the last marginal model that was made."""
        data = [part.regression() for part in self._joint.parts]
        return all(one is other for one, other in zip(data, self._data, strict=False))

    def is_exact(self, prior: WeightPrior) -> bool:
        """Whether a marginal model is the model at hand, but for the bounds, wherever the rest is.

        It is if nothing that it depends on is sampled, no entry is missing, and the prior precision
        of a weight does not depend on its target. A hierarchical prior is accounted for apart.
        """
        parts = self._joint.parts
        return (
            self._noise_is_free
            and self._joint.state_prior.odds_are_fixed
            and all(part.priors_are_fixed and part.regression().rows is None for part in parts)
            and bool(np.all(prior.precision == prior.precision[:, :1]))
        )

    def groups(self) -> NDArray[np.int64]:
        """Return which noise variance each target has, (L,)."""
        if self.one_variance:
            return np.zeros(self._joint.parts[0].regression().shape[1], dtype=np.int64)
        groups: list[NDArray[np.int64]] = []
        number = 0
        for part in self._joint.parts:
            targets = part.regression().shape[1]
            is_common = self._noise_is_free and part.roles.noise.ndim == 0
            own = np.zeros(targets, np.int64) if is_common else np.arange(targets)
            groups.append(own + number)
            number += 1 if is_common else targets
        return np.concatenate(groups)

    def noise_prior(self, point: Point) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return shape and scale of the prior of the noise variance of each group, (S,)."""
        shapes, scales = [], []
        for part in self._joint.parts:
            size = 1 if part.roles.noise.ndim == 0 else part.regression().shape[1]
            shape, scale = part.noise.prior(point)
            shapes.append(np.broadcast_to(shape, (size,)))
            scales.append(np.broadcast_to(scale, (size,)))
        return np.concatenate(shapes), np.concatenate(scales)

    def build(
        self,
        point: Point,
        log_odds: NDArray[np.float64],
        noise_variance: NDArray[np.float64],
        prior: WeightPrior,
        own: OwnColumns,
    ) -> Marginal:
        """Return the marginal model that is most like the one at hand.

        Parameters
        ----------
        point : dict
            Parameters of the priors of the noise variances are taken from here.
        log_odds : array (N,)
        noise_variance : array (L,)
            At which it is held, if it is not integrated out.
        prior : WeightPrior
        own : OwnColumns
        """
        alike = self._products()
        rows = self._joint.products().rows
        cross = np.concatenate([one.cross for one in alike], axis=1)
        squares = np.concatenate([one.squares for one in alike])
        share = np.concatenate([one.share for one in alike])
        part = np.repeat(np.arange(len(alike)), [one.share.size for one in alike])
        group = self.groups()
        mean, precision, lower, upper = prior
        own_log_densities = own.log_densities
        if self._noise_is_free:
            shape, scale = self.noise_prior(point)
            held = np.full(shape.size, np.nan)
        elif self.one_variance:
            held = np.array([np.exp(np.log(noise_variance).mean())])
        else:
            held = noise_variance
        if self.one_variance and (not self._noise_is_free or not np.all(share == 1.0)):
            # Target l, with noise σ_l² and the share f_l of the Gram matrix, is measured in units
            # of its information: with κ_l = f_l σ² / σ_l² its weights times √κ_l, the noise σ² and
            # the whole Gram matrix have that of the original.
            ratio = np.ones(rows.size) if self._noise_is_free else held[0] / noise_variance
            root = np.sqrt(share * ratio)
            cross, squares = cross * (root / share), squares * ratio
            mean, precision = mean * root, precision / root**2
            lower, upper = lower * root, upper * root
            share = np.ones(rows.size)
            units = 0.5 * rows * np.log(ratio)
            own_log_densities = own_log_densities - units[own.targets].sum(axis=1)
        if not self._noise_is_free:
            shape, scale = np.zeros(held.size), np.zeros(held.size)
        log_masses = log_prior_masses(*WeightPrior.of(mean.shape, mean, precision, lower, upper))
        row_root = np.sqrt(precision.mean(axis=1))
        scaled_mean = mean * row_root[:, None]
        # Squares of squares would overflow where the squares themselves do not.
        unit = np.sqrt(squares.sum() / max(rows.sum(), 1.0)) or 1.0
        own_log_densities = own_log_densities + np.log(unit) * rows[own.targets].sum(axis=1)
        return Marginal(
            grams=np.array(
                [one.gram / unit / np.outer(row_root, row_root) / unit for one in alike]
            ),
            cross=np.ascontiguousarray(cross / unit / row_root[:, None] / unit),
            squares=squares / unit / unit,
            rows=np.array(rows),
            share=np.array(share),
            part=part.astype(np.int64),
            group=group,
            mean=np.array(scaled_mean) if scaled_mean.any() else np.empty((0, rows.size)),
            log_constants=-log_masses,
            own_targets=own.targets,
            own_log_densities=own_log_densities,
            log_odds=np.array(log_odds),
            shape=np.array(shape, dtype=np.float64),
            scale=np.array(scale, dtype=np.float64) / unit / unit,
            held=np.array(held, dtype=np.float64) / unit / unit,
            log_unit=2.0 * float(np.log(unit)),
        )
