"""What the kernels are given, as named tuples that numba reads by field."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pymc_bid.graph.values import WeightPrior
    from pymc_bid.regression import Products


class Marginal(NamedTuple):
    r"""The model with the weights integrated out and their bounds left out, in closed form.

    Weights are measured in standard deviations of their prior, so that each has precision 1:
    :math:`y'_{kl} = \sqrt{τ_k} y_{kl}` and column :math:`k` of the pool is divided by
    :math:`\sqrt{τ_k}`.

    The targets stand in *groups*, each with one noise variance: one group for common noise, one for
    each target with noise for each column. They also have *patterns*, each with a Gram matrix of
    its own: one for each likelihood that the state vector enters, and for each way in which entries
    are missing. Targets of the same group and pattern are a *block* and stand side by side, as do
    the blocks of a group.
    """

    grams: NDArray[np.float64]
    """BᵀB of each pattern, (P, N, N)."""
    cross: NDArray[np.float64]
    """b_k·a_l, (L, N)."""
    squares: NDArray[np.float64]
    """a_l·a_l, (L,)."""
    rows: NDArray[np.float64]
    """Observed entries of each target, (L,)."""
    block: NDArray[np.int64]
    """The block of each target, (L,), ascending."""
    block_start: NDArray[np.int64]
    """The first target of each block, and behind the last one L, (Q + 1,)."""
    block_pattern: NDArray[np.int64]
    """The pattern of each block, (Q,)."""
    block_group: NDArray[np.int64]
    """The group of each block, (Q,), ascending."""
    group_start: NDArray[np.int64]
    """The first block of each group, and behind the last one Q, (S + 1,)."""
    mean: NDArray[np.float64]
    """Prior means of the weights, (L, N); with no rows if all are zero."""
    log_constants: NDArray[np.float64]
    """Minus the log of the mass that the prior of each weight has within its bounds, (L, N)."""
    constants: NDArray[np.float64]
    """Sum of these over all targets, with -½ of the squares of the means, (N,)."""
    own_targets: NDArray[np.int64]
    """The targets that each column is, (N, D); D = 0 without the identity."""
    own_groups: NDArray[np.int64]
    """The groups that consist of one of these targets alone, (N, D'); D' = 0 where noise is shared
    or held."""
    own_log_densities: NDArray[np.float64]
    """Log density of these targets when the column is chosen, but for -½ log 2π an entry, (N,)."""
    log_odds: NDArray[np.float64]
    """Of each column before the data, infinite for one that is forced in or out, (N,)."""
    log_sizes: NDArray[np.float64]
    """What the prior adds for the number of chosen columns, from none to all, (N + 1,)."""
    shape: NDArray[np.float64]
    """Of the inverse gamma prior of the noise variance of each group, (S,)."""
    scale: NDArray[np.float64]
    """Likewise its scale."""
    held: NDArray[np.float64]
    """Noise variance of each group where it is not integrated out, else nan, (S,)."""
    log_unit: float
    """Log of the square of the unit that pool and targets are measured in: log σ² of the model is
    larger by that."""


class Regressions(NamedTuple):
    """The regressions of the targets, in the order of the data, on the columns of the pool."""

    products: "Products"
    prior: "WeightPrior"
    own_targets: NDArray[np.int64]
    """The targets that each column is, in a model with the identity, (N, D)."""
    visit: int
    """The address of `pymc_bid.kernels.exact.exchange.visit_targets`."""


class Box(NamedTuple):
    """The bounds of the weights, and what it takes to say what mass they leave of them.

    Targets are in the order of the data, but in `lower` and `upper`, which are in that and in the
    units of a `Marginal`.
    """

    regressions: Regressions
    group: NDArray[np.int64]
    """Which noise variance each target has, (L,)."""
    lower: NDArray[np.float64]
    """(L, N)."""
    upper: NDArray[np.float64]
    log_unit: float
    """See `Marginal`."""
    evidence: int
    """The address of `pymc_bid.kernels.exact.surrogate.evidence_of_set`, 0 at given noise."""


class NoiseDensity(NamedTuple):
    r"""Log density of :math:`x = \log σ²` of a group, up to a constant.

    .. math:: -A x - \frac{B}{σ²} - \tfrac12 \sum_{qk} \frac{p_{qk}}{σ² + d_{qk}}
        - \tfrac12 \sum_q n_q \sum_k \log(1 + d_{qk} / σ²)

    over the blocks :math:`q` of the group, with :math:`A = α + \tfrac12 \sum_l M_l` and
    :math:`B = β + \tfrac12 \sum_l R_l`, where :math:`R_l = |a_l|² - \sum_k p_{kl}` is what least
    squares leaves of a target. No term is a difference of large numbers, however small the noise.
    """

    shape: float
    """A."""
    scale: float
    """B."""
    targets: NDArray[np.float64]
    """n, how many targets of each block are interpolated, (Q,)."""
    eigenvalues: NDArray[np.float64]
    """d, of the Gram matrix of the chosen columns, (Q, K)."""
    explained: NDArray[np.float64]
    """p, squares that each eigenvector explains, summed over the targets of a block, (Q, K)."""
