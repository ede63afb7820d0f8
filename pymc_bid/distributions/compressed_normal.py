"""A normal matrix of which only a triangular factor is kept."""

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable

_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)


def compressed_log_density(value, mean, scale, rows):
    """Log densities of the entries of QᵀA that add up to the log density of A with M = `rows`.

    The squares are those of A. Its M normalising constants for each column are shared out evenly
    among the m rows that are left.
    """
    share = rows / value.shape[-2]
    return -0.5 * ((value - mean) / scale) ** 2 - share * (pt.log(scale) + _HALF_LOG_TWO_PI)


class CompressedNormalRV(RandomVariable):
    """Normal entries, m rows in place of M."""

    name = "compressed_normal"
    signature = "(m,n),(s),()->(m,n)"
    dtype = "floatX"
    _print_name = ("CompressedNormal", "\\operatorname{CompressedNormal}")

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        mean = dist_params[0]
        return (mean.shape[-2], mean.shape[-1])

    @classmethod
    def rng_fn(cls, rng, mean, sigma, rows, size=None):
        """Draw what is left of the matrix: an orthogonal factor leaves the noise as it is."""
        if size is not None:
            mean = np.broadcast_to(mean, (*size, *mean.shape[-2:]))
        return rng.normal(mean, np.asarray(sigma)[..., None, :])


compressed_normal = CompressedNormalRV()


@numba_core_rv_funcify.register(CompressedNormalRV)
def _compile_compressed_normal(op, node):
    @numba_njit
    def random(rng, mean, sigma, rows):
        return mean + sigma * rng.standard_normal(mean.shape)

    # PyTensor keeps compiled functions on disk under this number: raise it when this changes.
    return random, 2


class CompressedNormal(Continuous):
    r"""Normal matrix with M rows, observed as a compressed one (`pymc_bid.compress`).

    For :math:`A \sim N(\mu, \sigma^2)` and an orthogonal Q whose columns span those of A and of
    :math:`\mu`, the log densities of the entries of :math:`Q^\top A` given :math:`Q^\top \mu` add
    up to that of A.

    Parameters
    ----------
    name : str
    mu : tensor_like of float, (m, L)
        Qᵀμ; for the models of this package ``(compressed.factor * r) @ Y``.
    sigma : tensor_like of float
        Standard deviation, one number or one for each column.
    rows : tensor_like of int
        Rows M that the matrix had before it was compressed.

    Examples
    --------
    >>> import numpy as np, pymc as pm, pymc_bid as bid
    >>> A = bid.compress(np.random.default_rng(0).normal(size=(10_000, 4)))
    >>> with pm.Model() as model:
    ...     r = pm.Bernoulli("r", 0.5, shape=4)
    ...     Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(4, 4))
    ...     sigma2 = pm.InverseGamma("sigma2", 0.1, 1)
    ...     a = bid.CompressedNormal(
    ...         "A", (A.factor * r) @ Y, sigma2**0.5, A.number_of_rows, observed=A.factor
    ...     )
    """

    rv_op = compressed_normal

    @classmethod
    def dist(cls, mu, sigma, rows, **kwargs):
        """Create the random variable."""
        mu = pt.as_tensor_variable(mu).astype("float64")
        sigma = pt.atleast_1d(sigma).astype("float64")
        rows = pt.as_tensor_variable(rows).astype("int64")
        return super().dist([mu, sigma, rows], **kwargs)

    def support_point(rv, size, mu, sigma, rows):
        """Return the mean."""
        return mu

    def logp(value, mu, sigma, rows):
        """Return log densities of the entries that add up to that of the whole matrix."""
        return check_parameters(
            compressed_log_density(value, mu, sigma, rows), sigma > 0, msg="sigma > 0"
        )
