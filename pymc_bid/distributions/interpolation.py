"""Random matrices: one that is a decomposition of itself, and one of which a factor is kept."""

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous
from pymc.distributions.shape_utils import convert_shape
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable

from pymc_bid.kernels.prior.interpolation import draw_interpolation

_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)


def compressed_log_density(value, mean, scale, rows):
    """Log densities of the entries of QᵀA that add up to the log density of A with M = `rows`.

    The squares are those of A. Its M normalising constants for each column are shared out evenly
    among the m rows that are left.
    """
    share = rows / value.shape[-2]
    return -0.5 * ((value - mean) / scale) ** 2 - share * (pt.log(scale) + _HALF_LOG_TWO_PI)


class InterpolationRV(RandomVariable):
    """Random matrix whose chosen columns interpolate the others."""

    name = "interpolation"
    signature = "(n),(n,n),(s),(m,n),(n),(p,q),()->(m,n)"
    dtype = "floatX"
    _print_name = ("Interpolation", "\\operatorname{Interpolation}")

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        mean = dist_params[3]
        return (mean.shape[-2], mean.shape[-1])

    @classmethod
    def rng_fn(cls, rng, state, weights, sigma, mean, omega, precision, rows, size=None):
        """Draw with NumPy's generator, the same numbers as compiled by numba."""
        if size is not None:
            mean = np.broadcast_to(mean, (*size, *np.shape(mean)[-2:]))

        def draw(*parameters):
            # Copies, for numba to have one layout to compile for.
            return draw_interpolation(rng, *map(np.array, parameters))

        draws = np.vectorize(draw, signature="(n),(n,n),(s),(m,n),(n),(p,q)->(m,n)")
        return draws(state, weights, sigma, mean, omega, precision)


interpolation = InterpolationRV()


@numba_core_rv_funcify.register(InterpolationRV)
def _compile_interpolation(op, node):
    @numba_njit
    def random(rng, state, weights, sigma, mean, omega, precision, rows):
        return draw_interpolation(rng, state, weights, sigma, mean, omega, precision)

    # PyTensor keeps compiled functions on disk under this number: raise it when the kernel changes.
    return random, 4


class Interpolation(Continuous):
    r"""Matrix whose chosen columns have a density of their own and interpolate the others.

    .. math::

        a_j &\sim N(m_j, \omega_j^2 I) && r_j = 1 \\
        a_l &\sim N\Bigl(\sum_{j : r_j = 1} a_j y_{jl},\; \sigma^2 I\Bigr) && r_l = 0

    A normalised density of the matrix for every state vector: the chosen columns first, the others
    given them. In the decomposition :math:`A \approx C W` the weights of a chosen column are
    those of the identity, by construction.

    Parameters
    ----------
    name : str
    state : tensor_like of int, (N,)
        State vector r.
    weights : tensor_like of float, (N, N)
        Y; only entries of a chosen row and of a column that is not chosen matter.
    sigma : tensor_like of float
        Standard deviation of the interpolated columns around their fit, one number or N.
    omega : tensor_like of float
        Standard deviation of each chosen column, one number or N.
    mean : tensor_like of float, optional
        Mean of the chosen columns, broadcast to the shape of the matrix; 0 if not given.
    precision : tensor_like of float, optional
        Known precision of the entries of interpolated columns in units of 1/σ², broadcast to the
        shape of the matrix. An entry with precision 0 is missing: it has no density, whether its
        column is chosen or not, and its value only matters where it interpolates others.
    rows : tensor_like of int, optional
        Rows that the matrix had before it was compressed (`pymc_bid.compress`): the log densities
        of its entries then add up to that of the whole matrix.

    Examples
    --------
    >>> import numpy as np, pymc as pm, pymc_bid as bid
    >>> A = np.random.default_rng(0).normal(size=(20, 4))
    >>> with pm.Model() as model:
    ...     r = pm.Bernoulli("r", 0.5, shape=4)
    ...     Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(4, 4))
    ...     sigma2 = pm.InverseGamma("sigma2", 0.1, 1)
    ...     omega2 = pm.InverseGamma("omega2", 1, 1, shape=4)
    ...     a = bid.Interpolation("A", r, Y, sigma2**0.5, omega2**0.5, observed=A)
    """

    rv_op = interpolation

    @classmethod
    def dist(
        cls,
        state,
        weights,
        sigma,
        omega,
        mean=0.0,
        *,
        precision=1.0,
        rows=None,
        shape=None,
        **kwargs,
    ):
        """Create the random variable; the number of rows comes from `shape` or from `mean`."""
        state, weights = pt.as_tensor_variable(state), pt.as_tensor_variable(weights)
        if np.dtype(state.dtype).kind not in "iub":
            raise ValueError(f"state must be a vector of 0 and 1, got {state.dtype}.")
        mean = pt.as_tensor_variable(mean)
        shape = convert_shape(shape)
        if shape is not None:
            mean = pt.alloc(mean, *shape)
        elif mean.ndim < 2:
            raise ValueError("The number of rows is missing: give shape, dims or a matrix `mean`.")
        omega = pt.alloc(pt.as_tensor_variable(omega), mean.shape[-1])
        sigma, precision = pt.atleast_1d(sigma), pt.atleast_2d(precision)
        params = [value.astype("float64") for value in (sigma, mean, omega, precision)]
        rows = pt.as_tensor_variable(mean.shape[-2] if rows is None else rows).astype("int64")
        return super().dist([state, weights, *params, rows], **kwargs)

    def support_point(rv, size, state, weights, sigma, mean, omega, precision, rows):
        """Return the mean of the chosen columns."""
        return mean

    def logp(value, state, weights, sigma, mean, omega, precision, rows):
        """Return the log density of every entry, given the chosen columns."""
        chosen = pt.eq(state, 1)
        fitted = (value * state) @ weights
        location = pt.switch(chosen, mean, fitted)
        observed = precision > 0
        known = pt.switch(observed, precision, 1.0)
        scale = pt.switch(chosen, omega, sigma / pt.sqrt(known))
        return check_parameters(
            pt.switch(observed, compressed_log_density(value, location, scale, rows), 0.0),
            sigma > 0,
            omega > 0,
            precision >= 0,
            msg="sigma, omega > 0, precision >= 0",
        )


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
