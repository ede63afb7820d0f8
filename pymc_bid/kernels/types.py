"""What the kernels are given, as named tuples that numba reads by field."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Marginal(NamedTuple):
    r"""The model with the weights integrated out and their bounds left out, in closed form.

    Weights are measured in standard deviations of their prior, so that each has precision 1:
    :math:`y'_{kl} = \sqrt{τ_k} y_{kl}` and column :math:`k` of the pool is divided by
    :math:`\sqrt{τ_k}`.

    The targets stand in *groups*, each with one noise variance: one group for common noise, one for
    each target with noise for each column. They also stand in *parts*, one for each likelihood that
    the state vector enters, each with a Gram matrix of its own.
    """

    grams: NDArray[np.float64]
    """BᵀB of each part, (P, N, N)."""
    cross: NDArray[np.float64]
    """b_k·a_l, (N, L)."""
    squares: NDArray[np.float64]
    """a_l·a_l, (L,)."""
    rows: NDArray[np.float64]
    """Observed entries of each target, (L,)."""
    share: NDArray[np.float64]
    """Which share of BᵀB of its part a target has, (L,): 1 unless entries are missing."""
    part: NDArray[np.int64]
    """The part of each target, (L,), ascending."""
    group: NDArray[np.int64]
    """The noise variance of each target, (L,)."""
    mean: NDArray[np.float64]
    """Prior means of the weights, (N, L); with no rows if all are zero."""
    log_constants: NDArray[np.float64]
    """Minus the log of the mass that the prior of each weight has within its bounds, (N, L)."""
    own_targets: NDArray[np.int64]
    """The targets that each column is, (N, D); D = 0 without the identity."""
    own_log_densities: NDArray[np.float64]
    """Log density of these targets when the column is chosen, but for -½ log 2π an entry, (N,)."""
    log_odds: NDArray[np.float64]
    """Of each column before the data, infinite for one that is forced in or out, (N,)."""
    shape: NDArray[np.float64]
    """Of the inverse gamma prior of the noise variance of each group, (S,)."""
    scale: NDArray[np.float64]
    """Likewise its scale."""
    held: NDArray[np.float64]
    """Noise variance of each group where it is not integrated out, else nan, (S,)."""
    log_unit: float
    """Log of the square of the unit that pool and targets are measured in: log σ² of the model is
    larger by that."""


class NoiseDensity(NamedTuple):
    r"""Log density of :math:`x = \log σ²` of a group, up to a constant.

    .. math:: -A x - \frac{B}{σ²} - \tfrac12 \sum_k \frac{p_k}{σ² + d_k}
        - \frac{n}{2} \sum_k \log(1 + d_k / σ²)

    with :math:`A = α + \tfrac12 \sum_l M_l` and :math:`B = β + \tfrac12 \sum_l R_l`, where
    :math:`R_l = |a_l|² - \sum_k p_{kl}` is what least squares leaves of a target. No term is a
    difference of large numbers, however small the noise.
    """

    shape: float
    """A."""
    scale: float
    """B."""
    targets: float
    """n, how many targets share the variance."""
    eigenvalues: NDArray[np.float64]
    """d, of the Gram matrix of the chosen columns, (K,)."""
    explained: NDArray[np.float64]
    """p, squares that each eigenvector explains, summed over the targets, (K,)."""
