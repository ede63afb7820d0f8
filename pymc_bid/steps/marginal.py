"""The closed form of a model at hand: one marginal model for all likelihoods of a state vector."""

from operator import is_

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.values import Point, WeightPrior
from pymc_bid.kernels.exact.exchange import make_regressions
from pymc_bid.kernels.exact.surrogate import with_evidence
from pymc_bid.kernels.marginal.constants import log_prior_masses
from pymc_bid.kernels.types import Box, Marginal
from pymc_bid.steps.settings import FEW_COLUMNS, LEAST_UNIT


class MarginalBuilder:
    """Makes marginal models of the likelihoods that share a state vector.

    Parameters
    ----------
    joint : Joint
    noise_is_free : bool
        Whether the noise variances are integrated out, or held at reference values.

    Attributes
    ----------
    given_noise : bool
        Whether replicas move at given noise: at variances that they carry along, or that are held.
        With few columns they are integrated out.
    """

    def __init__(self, joint: Joint, noise_is_free: bool):
        self._joint = joint
        self.noise_is_free = noise_is_free
        self.given_noise = joint.parts[0].regression().shape[0] > FEW_COLUMNS
        self._data: list = []

    @property
    def is_current(self) -> bool:
        """Whether the data are those of the last marginal model that was made."""
        data = [part.regression() for part in self._joint.parts]
        return all(map(is_, data, self._data))

    def is_exact(self, prior: WeightPrior) -> bool:
        """Whether a marginal model is the model at hand, but for the bounds, wherever the rest is.

        It is if nothing that it depends on is sampled, and the prior precision of a weight does not
        depend on its target. A hierarchical prior is accounted for apart.
        """
        parts = self._joint.parts
        return (
            self.noise_is_free
            and self._joint.state_prior.odds_are_fixed
            and all(part.priors_are_fixed for part in parts)
            and bool(np.all(prior.precision == prior.precision[:, :1]))
        )

    def groups(self) -> NDArray[np.int64]:
        """Return which free noise variance each target has, (L,)."""
        groups: list[NDArray[np.int64]] = []
        number = 0
        for part in self._joint.parts:
            targets = part.regression().shape[1]
            is_common = part.noise.variance is None or part.roles.noise.ndim == 0
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
        self, point: Point, log_odds: NDArray[np.float64], prior: WeightPrior
    ) -> tuple[Marginal, Box]:
        """Return the marginal model that is most like the one at hand, and its bounds.

        Parameters
        ----------
        point : dict
            Parameters of priors, and noise variances that are not integrated out, are taken from
            here.
        log_odds : array (N,)
        prior : WeightPrior
        """
        own = self._joint.own_columns(point)
        self._data = [part.regression() for part in self._joint.parts]
        products = self._joint.products()
        if self.noise_is_free:
            group = self.groups()
            shape, scale = self.noise_prior(point)
            held = np.full(shape.size, np.nan)
        else:
            variances = self._joint.noise_variance(point)
            held, group = np.unique(variances, return_inverse=True)
            shape, scale = np.zeros(held.size), np.zeros(held.size)
        mean, precision = prior.mean, prior.precision
        row_root = np.sqrt(precision.mean(axis=1))
        scaled_mean = mean * row_root[:, None]
        # Squares of squares would overflow where the squares themselves do not, and so would noise
        # variances in units of data that are next to nothing.
        least = LEAST_UNIT * np.sqrt(np.nanmax([*scale, *held]))
        unit = max(np.sqrt(products.squares.sum() / max(products.rows.sum(), 1.0)), least)
        own_log_densities = own.log_densities.copy()
        own_log_densities += np.log(unit) * products.rows[own.targets].sum(axis=1)
        # Targets of a block stand side by side.
        order = np.lexsort((products.pattern, group))
        place = np.argsort(order)
        pairs = np.column_stack([group, products.pattern])[order]
        first = np.flatnonzero(np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1)))
        block_group, block_pattern = pairs[first].T
        has_mean = bool(scaled_mean.any())
        sizes = np.bincount(group)
        own_groups = group[own.targets]
        # Of a column that is several targets, those that are a group by themselves.
        alone = self.noise_is_free & (sizes[own_groups] == 1).all(axis=0)
        log_constants = -log_prior_masses(*prior)
        marginal = Marginal(
            grams=products.grams / unit / np.outer(row_root, row_root) / unit,
            cross=np.ascontiguousarray((products.cross / unit / row_root[:, None] / unit).T[order]),
            squares=(products.squares / unit / unit)[order],
            rows=products.rows[order],
            block=np.repeat(np.arange(first.size), np.diff(np.append(first, order.size))),
            block_start=np.append(first, order.size),
            block_pattern=np.array(block_pattern),
            block_group=np.array(block_group),
            group_start=np.searchsorted(block_group, np.arange(held.size + 1)),
            mean=np.ascontiguousarray(scaled_mean.T[order]) if has_mean else np.empty((0, 1)),
            log_constants=np.ascontiguousarray(log_constants.T[order]),
            constants=(log_constants - 0.5 * scaled_mean**2).sum(axis=1),
            own_targets=np.ascontiguousarray(place[own.targets]),
            own_groups=np.ascontiguousarray(own_groups[:, alone]),
            own_log_densities=own_log_densities,
            log_odds=np.array(log_odds),
            log_sizes=self._joint.log_prior_sizes(point),
            shape=np.array(shape, dtype=np.float64),
            scale=np.array(scale, dtype=np.float64) / unit / unit,
            held=np.array(held, dtype=np.float64) / unit / unit,
            log_unit=2.0 * float(np.log(unit)),
        )
        return marginal, self._box(marginal, prior, group, own.targets, row_root, order)

    def _box(self, marginal, prior: WeightPrior, group, own_targets, row_root, order) -> Box:
        """Return the bounds, in the units of a marginal model; without rows if there are none."""
        if np.isinf(prior.lower).all() and np.isinf(prior.upper).all():
            lower, upper = np.empty((0, 1)), np.empty((0, 1))
        else:
            lower, upper = (
                np.ascontiguousarray((row_root[:, None] * side).T[order])
                for side in (prior.lower, prior.upper)
            )
        regressions = make_regressions(self._joint.products(), prior, own_targets)
        box = Box(regressions, group, lower, upper, marginal.log_unit, evidence=0)
        # At given noise nobody asks for evidences, and they take seconds to compile.
        return box if self.given_noise else with_evidence(marginal, box)
