"""GTNSNG: the prior of the mean and precision of a truncated normal weight."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.logprob.transforms import Transform
from pytensor.compile.mode import Mode
from pytensor.gradient import disconnected_grad
from pytensor.graph import graph_inputs
from pytensor.graph.basic import Constant, Variable
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable

from pymc_bid.kernels.prior.gtnsng import draw_gtnsng

# Nodes of the quadrature for the normalising constant. Its error is below 1e-12 for alpha_t from
# 0.05 to 1e4 and bounds up to 50 of the prior's standard deviations, √(β_t / α_t), away.
_NODES = 400


class GTNSNGRV(RandomVariable):
    """Random mean and precision, along the last axis."""

    name = "gtnsng"
    signature = "(),(),(),(),(),()->(2)"
    dtype = "floatX"
    _print_name = ("GTNSNG", "\\operatorname{GTNSNG}")

    @classmethod
    def rng_fn(cls, rng, mu_mu, tau_mu, alpha_t, beta_t, lower, upper, size=None):
        """Draw with NumPy's generator, the same numbers as compiled by numba."""
        parameters = (mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
        batch = np.broadcast_shapes(*map(np.shape, parameters)) if size is None else tuple(size)
        columns = [np.broadcast_to(p, batch).ravel().astype(float) for p in parameters]
        draws = [draw_gtnsng(rng, *row) for row in zip(*columns, strict=True)]
        return np.array(draws).reshape(*batch, 2)


gtnsng = GTNSNGRV()


@numba_core_rv_funcify.register(GTNSNGRV)
def _compile_gtnsng(op, node):
    dtype = np.dtype(node.outputs[1].type.dtype)

    @numba_njit
    def random(rng, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
        mu, tau = draw_gtnsng(rng, mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
        return np.array([mu, tau]).astype(dtype)

    # PyTensor keeps compiled functions on disk under this number: raise it when a kernel changes.
    return random, 3


class GTNSNG(Continuous):
    r"""Prior of the mean and precision of a truncated normal weight.

    The general truncated normal scaled normal-gamma (GTNSNG) distribution of the pair
    :math:`(\mu, \tau)`, which lies along the last axis:

    .. math::

        p(\mu, \tau) = \frac{1}{Z}
            \left[\Phi((b - \mu) \sqrt\tau) - \Phi((a - \mu) \sqrt\tau)\right]
            N(\mu \mid \mu_\mu, 1 / \tau_\mu)\, \mathrm{Gamma}(\tau \mid \alpha_t, \beta_t)

    for :math:`\tau > 0`. The factor in brackets is the truncation constant of a weight
    :math:`y \sim N(\mu, 1 / \tau)` truncated to :math:`[a, b]` and cancels it, so that
    :math:`(y, \mu, \tau)` is the ordinary normal hierarchy given that y fell between the bounds,
    and

    .. math::

        Z = P(a \le z \le b), \qquad z \mid \tau \sim N(\mu_\mu, 1 / \tau_\mu + 1 / \tau), \quad
        \tau \sim \mathrm{Gamma}(\alpha_t, \beta_t).

    So the conditionals of :math:`\mu` and :math:`\tau` given y are normal and gamma. (The paper
    prints the factor with :math:`\mu_\mu, \tau_\mu` in place of :math:`\mu, \tau`: a constant, with
    which its conditionals would not hold.)

    ========  ==========================================
    Support   :math:`\mu \in \mathbb{R}, \tau > 0`
    ========  ==========================================

    Parameters
    ----------
    mu_mu, tau_mu : tensor_like of float, default 0 and 0.1
        Mean and precision of the normal factor (tau_mu > 0).
    alpha_t, beta_t : tensor_like of float, default 1 and 1
        Shape and rate of the gamma factor (alpha_t > 0, beta_t > 0).
    lower, upper : tensor_like of float, default -1 and 1
        Bounds of the weight, those of its truncated normal (lower < upper). None or infinite for no
        bound; with neither bound the distribution is the product of its normal and gamma factors.

    Notes
    -----
    The samplers of this package draw the pair on its own scale, so there is no default transform.
    To let NUTS sample it, pass ``transform=log_precision``, which takes the logarithm of τ.

    Examples
    --------
    >>> import pymc as pm
    >>> from pymc_bid.distributions import GTNSNG
    >>> with pm.Model():
    ...     hyper = GTNSNG("hyper", lower=-1, upper=1, shape=(5, 3, 2))
    ...     Y = pm.TruncatedNormal("Y", mu=hyper[..., 0], tau=hyper[..., 1], lower=-1, upper=1)
    """

    rv_op = gtnsng

    @classmethod
    def dist(cls, mu_mu=0.0, tau_mu=0.1, alpha_t=1.0, beta_t=1.0, lower=-1.0, upper=1.0, **kwargs):
        """Create the variable outside of a model."""
        lower = -np.inf if lower is None else lower
        upper = np.inf if upper is None else upper
        parameters = [_as_float(p) for p in (mu_mu, tau_mu, alpha_t, beta_t, lower, upper)]
        _check_known(*parameters)
        return super().dist(parameters, **kwargs)

    def support_point(rv, size, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
        """Return the mean of the gamma factor, and the normal one's moved between the bounds."""
        mean = pt.clip(mu_mu, lower, upper)
        mean, precision, *_ = pt.broadcast_arrays(mean, alpha_t / beta_t, tau_mu)
        point = pt.stack([mean, precision], axis=-1)
        if not rv_size_is_none(size):
            point = pt.full(pt.concatenate([size, [2]]), point)
        return point

    def logp(value, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
        """Return the logarithm of the normalised density."""
        mu, tau = value[..., 0], value[..., 1]
        positive = pt.gt(tau, 0)
        # Another precision where there is none, lest its square root spoil the gradient.
        tau = pt.switch(positive, tau, 1.0)
        log_density = (
            _log_mass(mu, 1 / pt.sqrt(tau), lower, upper)
            + pm.logp(pm.Normal.dist(mu_mu, tau=tau_mu), mu)
            + pm.logp(pm.Gamma.dist(alpha_t, beta_t), tau)
            - _log_normaliser(mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
        )
        return check_parameters(
            pt.switch(positive, log_density, -np.inf),
            tau_mu > 0,
            alpha_t > 0,
            beta_t > 0,
            lower < upper,
            msg="tau_mu > 0, alpha_t > 0, beta_t > 0, lower < upper",
        )


class LogPrecision(Transform):
    """Logarithm of τ, and μ as it is, for a pair (μ, τ) along the last axis."""

    name = "log_precision"
    ndim_supp = 1

    def forward(self, value, *inputs):
        """Return (μ, log τ)."""
        return pt.stack([value[..., 0], pt.log(value[..., 1])], axis=-1)

    def backward(self, value, *inputs):
        """Return (μ, τ)."""
        return pt.stack([value[..., 0], pt.exp(value[..., 1])], axis=-1)

    def log_jac_det(self, value, *inputs):
        """Return log |∂τ / ∂ log τ| = log τ."""
        return value[..., 1]


log_precision = LogPrecision()


def _log_mass(mean, deviation, lower, upper):
    r"""Logarithm of the mass of N(mean, deviation²) between bounds that may be infinite.

    Where the mean is outside by more than a little, it is the difference of two tails
    :math:`\Phi(-x \sqrt 2) = \tfrac12 e^{-x^2} \mathrm{erfcx}(x)`. (Not PyMC's own function for
    this, ``log_diff_normal_cdf``, in which √2 is a number of single precision.)
    """
    # An infinite bound has a value but no gradient; this one is as good as infinite.
    beyond = 1e15 * deviation
    lower = pt.switch(pt.isinf(lower), mean - beyond, lower)
    upper = pt.switch(pt.isinf(upper), mean + beyond, upper)
    scale = np.sqrt(0.5) / deviation
    lower, upper = (lower - mean) * scale, (upper - mean) * scale
    reflected = pt.lt(lower + upper, 0)
    near = pt.switch(reflected, -upper, lower)
    far = pt.switch(reflected, -lower, upper)

    outside = pt.gt(near, 0.5)
    # Each branch gets arguments that it can bear, also where the other one is taken: a nan there
    # would spoil the gradient.
    edge = pt.switch(outside, near, 0.5)
    end = pt.switch(outside, far, 1.0)
    tail = pt.erfcx(edge) - pt.exp((edge - end) * (edge + end)) * pt.erfcx(end)
    middle = pt.erf(far) - pt.erf(pt.minimum(near, 0.5))
    return pt.switch(outside, pt.log(tail) - edge**2, pt.log(middle)) - np.log(2.0)


def _log_normaliser(mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    r"""Logarithm of Z, by the trapezoid rule.

    With :math:`\tau = (\alpha / \beta) e^u` and :math:`u = \sinh(s) / \sqrt\alpha`, the nodes are
    dense where the gamma density lies and reach far out to its tails. The same rule gives the total
    mass of the gamma density, and its error cancels in the ratio

    .. math:: Z = \frac{\sum_i w_i P(a \le z \le b \mid \tau_i)}{\sum_i w_i}, \qquad
        w_i = e^{\alpha (u_i - e^{u_i})} \cosh s_i.
    """
    mu_mu, tau_mu, alpha_t, beta_t, lower, upper = (
        pt.shape_padright(p) for p in (mu_mu, tau_mu, alpha_t, beta_t, lower, upper)
    )
    root = pt.sqrt(alpha_t)
    left = -pt.arcsinh(40 / root + 40)
    right = pt.arcsinh(pt.log1p(45 / alpha_t + 12 / root) * root)
    s = left + (right - left) * np.linspace(0, 1, _NODES)
    # The integral does not depend on where its nodes are, so neither does the gradient.
    s, u = disconnected_grad(s), disconnected_grad(pt.sinh(s) / root)
    log_weights = alpha_t * (u - pt.expm1(u)) + pt.log(pt.cosh(s))
    # So far out the mass no longer changes, and the exponential would overflow.
    variance = 1 / tau_mu + beta_t / alpha_t * pt.exp(-pt.maximum(u, -400))
    log_terms = log_weights + _log_mass(mu_mu, pt.sqrt(variance), lower, upper)
    largest = pt.max(log_terms, axis=-1, keepdims=True)
    log_z = (
        largest[..., 0]
        + pt.log(pt.sum(pt.exp(log_terms - largest), axis=-1))
        - pt.log(pt.sum(pt.exp(log_weights), axis=-1))
    )
    if all(isinstance(variable, Constant) for variable in graph_inputs([log_z])):
        # Saves a second at each compilation, which would find out that this is a constant.
        return pt.constant(log_z.eval(mode=Mode(linker="py", optimizer=None)))
    return log_z


def _as_float(parameter):
    # Not a cast of a constant, which would hide its value from the check.
    if not isinstance(parameter, Variable):
        parameter = np.asarray(parameter, dtype=pytensor.config.floatX)
    return pt.as_tensor_variable(parameter).astype(pytensor.config.floatX)


def _check_known(mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    """Raise ValueError for bad parameters whose values are known already."""
    for name, parameter in (("tau_mu", tau_mu), ("alpha_t", alpha_t), ("beta_t", beta_t)):
        if isinstance(parameter, Constant) and not np.all(parameter.data > 0):
            raise ValueError(f"{name} must be positive, got {parameter.data}.")
    if isinstance(lower, Constant) and isinstance(upper, Constant):
        if not np.all(lower.data < upper.data):
            raise ValueError(
                f"lower must be less than upper, got lower={lower.data} and upper={upper.data}."
            )
