"""A matrix that is an interpolative decomposition of itself."""

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous
from pymc.distributions.shape_utils import convert_shape
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable

from pymc_bid.distributions.compressed_normal import compressed_log_density
from pymc_bid.kernels.prior.interpolation import draw_interpolation


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
