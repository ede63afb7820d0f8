"""GTNSNG: a normalised density, draws that follow it, and the hierarchy it makes exact."""

import itertools
import math
import warnings

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode
from scipy import integrate, stats

from pymc_bid.distributions import GTNSNG, log_precision
from pymc_bid.distributions.gtnsng import gtnsng
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass

INF = math.inf
PYTHON = Mode(linker="py", optimizer=None)
NAMES = ("mu_mu", "tau_mu", "alpha_t", "beta_t", "lower", "upper")
DEFAULTS = (0.0, 0.1, 1.0, 1.0, -1.0, 1.0)

log_masses = np.vectorize(log_interval_mass)


@pytest.fixture(scope="module")
def density():
    """Log density as a function of the pairs and of all parameters."""
    value, parameters, log_density = symbolic_density()
    return pytensor.function([value, *parameters], log_density, mode=PYTHON)


@pytest.fixture(scope="module")
def density_and_gradient():
    """Log density and its gradient; not compiled, which would take half a minute."""
    value, parameters, log_density = symbolic_density()
    gradient = pytensor.grad(log_density.sum(), [value, *parameters])
    return pytensor.function([value, *parameters], [log_density, *gradient], mode=PYTHON)


def symbolic_density():
    value, parameters = pt.dmatrix("value"), pt.dscalars(*NAMES)
    return value, parameters, pm.logp(GTNSNG.dist(*parameters), value)


def log_density(density, mu, tau, parameters):
    mu, tau = np.broadcast_arrays(mu, tau)
    pairs = np.stack([mu.ravel(), tau.ravel()], axis=-1).astype(float)
    return density(pairs, *parameters).reshape(mu.shape)


def log_factors(mu, tau, mu_mu, tau_mu, alpha_t, beta_t, lower, upper):
    """Logarithm of the density without its normalising constant, from SciPy and our kernel."""
    with np.errstate(invalid="ignore"):
        log_mass = log_masses(mu, tau, lower, upper)
    return (
        log_mass
        + stats.norm.logpdf(mu, mu_mu, tau_mu**-0.5)
        + stats.gamma.logpdf(tau, alpha_t, scale=1 / beta_t)
    )


def log_normaliser(density, parameters):
    mu, tau = parameters[0], parameters[2] / parameters[3]
    return float(log_factors(mu, tau, *parameters) - log_density(density, mu, tau, parameters))


@pytest.mark.parametrize("alpha_t", [0.05, 0.3, 1.0, 7.0, 150.0, 1e4])
@pytest.mark.parametrize(
    ("lower", "upper"), [(-1, 1), (-2, 2), (0.3, INF), (-INF, -1.5), (5, 6), (-INF, INF)]
)
def test_normalising_constant_is_that_of_student_t(density, alpha_t, lower, upper):
    # With the mean known exactly, z is Student's t, whose distribution function SciPy has.
    for beta_t in (0.01 * alpha_t, alpha_t, 30 * alpha_t):
        parameters = (0.2, 1e16, alpha_t, beta_t, lower, upper)
        z = stats.t(2 * alpha_t, 0.2, math.sqrt(beta_t / alpha_t))
        if lower > 0:
            exact = z.sf(lower) - z.sf(upper)
        else:
            exact = z.cdf(upper) - z.cdf(lower)
        if exact < 1e-250:
            continue
        # SciPy's own tails are good to about ten digits.
        assert log_normaliser(density, parameters) == pytest.approx(math.log(exact), abs=2e-10)


@pytest.mark.parametrize(
    "parameters",
    [
        DEFAULTS,
        (0.5, 2.0, 0.05, 1.0, -1.0, 1.0),
        (0.5, 2.0, 0.05, 1.0, 0.0, INF),
        (-1.0, 0.5, 3.0, 0.1, -2.0, 2.0),
        (0.0, 1.0, 2.0, 5.0, 5.0, 6.0),
        (0.0, 1.0, 40.0, 40.0, 5.0, 6.0),
        (0.0, 1.0, 1e4, 1e4, -INF, -7.0),
    ],
    ids=str,
)
def test_normalising_constant_by_adaptive_quadrature(density, parameters):
    mu_mu, tau_mu, alpha_t, beta_t, lower, upper = parameters
    gamma = stats.gamma(alpha_t, scale=1 / beta_t)

    def integrand(x):
        log_mass = log_interval_mass(mu_mu, 1 / (1 / tau_mu + math.exp(-x)), lower, upper)
        return math.exp(gamma.logpdf(math.exp(x)) + x + log_mass)

    centre, deviation = math.log(alpha_t / beta_t), alpha_t**-0.5
    ends = [max(centre - 36 / alpha_t - 12 * deviation, -700)]
    ends += [centre + step * deviation for step in (-6, -3, -1, 1, 3, 6)]
    total = sum(
        integrate.quad(integrand, *piece, epsabs=0, epsrel=1e-12, limit=500)[0]
        for piece in itertools.pairwise(ends)
    )
    # Beyond the last piece nothing is left, or only the gamma's own tail.
    total += integrate.quad(integrand, ends[-1], centre + 20, epsabs=0, epsrel=1e-9, limit=500)[0]
    assert log_normaliser(density, parameters) == pytest.approx(math.log(total), abs=1e-9)


GRIDS = {
    # Parameters, then ranges of μ and log τ that hold all of the mass.
    "the paper's": (DEFAULTS, (-22, 22), (-32, 4.2)),
    "weaker bounds": ((0.5, 1.0, 2.0, 0.5, -2.0, 2.0), (-7, 8), (-16, 5)),
    "one-sided": ((-0.5, 0.5, 1.5, 2.0, 0.0, INF), (-13, 12), (-24, 4)),
    "unbounded": ((1.0, 2.0, 3.0, 1.0, -INF, INF), (-6, 8), (-12, 4)),
    "far off": ((0.0, 1.0, 2.0, 2.0, 5.0, 6.0), (-7, 10), (-16, 4)),
    "very far off": ((0.0, 1.0, 3.0, 3.0, 30.0, 31.0), (-7, 37), (-16, 4)),
    "small shape": ((0.0, 1.0, 0.3, 0.3, -1.0, 1.0), (-8, 8), (-45, 6)),
    "large shape, far off": ((0.0, 1.0, 60.0, 60.0, -INF, -9.0), (-15, 4), (-4, 1.5)),
}


def density_on_a_grid(density, parameters, means, logs):
    """Return the grid, and the mass of each of its points by the trapezoid rule."""
    mu = np.linspace(*means, 1601)
    x = np.linspace(*logs, 401)
    mass = np.exp(log_density(density, mu[:, None], np.exp(x), parameters) + x)
    return mu, x, mass * (mu[1] - mu[0]) * (x[1] - x[0])


# It takes as long as the next three, and "far off" is of its kind.
LONG = {"very far off"}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in LONG)) for case in GRIDS]
)
def test_density_integrates_to_one_and_draws_follow_it(density, case):
    parameters, means, logs = GRIDS[case]
    mu, x, mass = density_on_a_grid(density, parameters, means, logs)
    assert mass.sum() == pytest.approx(1.0, abs=1e-6)

    size = 30_000
    rng = np.random.default_rng(list(GRIDS).index(case))
    draws = gtnsng.rng_fn(rng, *parameters, size=(size,))
    assert np.all(draws[:, 1] > 0)
    drawn = (draws[:, 0], np.log(draws[:, 1]))

    error = 1e-4 / (3 * len(GRIDS))
    for axis, grid in enumerate((mu, x)):
        marginal = mass.sum(axis=1 - axis)
        # The trapezoid rule gives half of the last point's mass to what lies beyond it.
        cumulative = np.cumsum(marginal) - 0.5 * marginal
        test = stats.kstest(drawn[axis], lambda v, g=grid, c=cumulative: np.interp(v, g, c))
        assert test.pvalue > error

    # The two together: cells of about equal mass on either axis.
    edges = []
    for axis, grid in enumerate((mu, x)):
        cumulative = np.cumsum(mass.sum(axis=1 - axis))
        inner = np.searchsorted(cumulative, np.arange(1, 6) / 6)
        edges.append(np.concatenate([[0], inner, [grid.size - 1]]))
    counts = np.histogram2d(
        *drawn,
        bins=[
            np.concatenate([[-INF], grid[edge[1:-1]], [INF]])
            for grid, edge in zip((mu, x), edges, strict=True)
        ],
    )[0]
    expected = np.array(
        [
            [_trapezoid(mass, edges[0][i : i + 2], edges[1][j : j + 2]) for j in range(6)]
            for i in range(6)
        ]
    )
    expected *= size / expected.sum()
    large = expected > 10
    observed = np.append(counts[large], counts[~large].sum())
    anticipated = np.append(expected[large], expected[~large].sum())
    if anticipated[-1] < 10:
        observed[-2] += observed[-1]
        anticipated[-2] += anticipated[-1]
        observed, anticipated = observed[:-1], anticipated[:-1]
    assert stats.chisquare(observed, anticipated).pvalue > error


def _trapezoid(mass, rows, columns):
    """Mass between grid lines: points on the lines count half."""
    block = mass[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1].copy()
    block[[0, -1], :] *= 0.5
    block[:, [0, -1]] *= 0.5
    return block.sum()


def test_the_hierarchy_is_exact_in_density(density):
    """With y truncated normal, the joint density is the ordinary hierarchy's, over one constant."""
    rng = np.random.default_rng(1)
    for parameters in (DEFAULTS, (0.3, 2.0, 2.0, 3.0, -2.0, 2.0), (0.0, 1.0, 1.0, 1.0, 0.0, INF)):
        mu_mu, tau_mu, alpha_t, beta_t, lower, upper = parameters
        mu = rng.normal(0, 2, 200)
        tau = rng.gamma(1.0, 2.0, 200)
        y = rng.uniform(max(lower, -3.0), min(upper, 3.0), 200)
        deviation = tau**-0.5
        weight = stats.truncnorm((lower - mu) / deviation, (upper - mu) / deviation, mu, deviation)
        joint = log_density(density, mu, tau, parameters) + weight.logpdf(y)
        ordinary = (
            stats.norm.logpdf(y, mu, deviation)
            + stats.norm.logpdf(mu, mu_mu, tau_mu**-0.5)
            + stats.gamma.logpdf(tau, alpha_t, scale=1 / beta_t)
        )
        np.testing.assert_allclose(joint - ordinary, (joint - ordinary)[0], atol=1e-9)


def test_the_hierarchy_is_exact_in_draws():
    mu_mu, tau_mu, alpha_t, beta_t, lower, upper = parameters = (0.5, 0.5, 1.5, 1.0, -1.0, 1.0)
    rng = np.random.default_rng(2)
    size = 30_000
    mu, tau = gtnsng.rng_fn(rng, *parameters, size=(size,)).T
    y = [draw_truncated_normal(rng, *pair, lower, upper) for pair in zip(mu, tau, strict=True)]

    kept = np.empty((3, 0))
    while kept.shape[1] < size:
        m = rng.normal(mu_mu, tau_mu**-0.5, size)
        t = rng.gamma(alpha_t, 1 / beta_t, size)
        z = rng.normal(m, t**-0.5)
        kept = np.append(kept, np.stack([m, t, z])[:, (lower <= z) & (z <= upper)], axis=1)

    for ours, theirs in zip((mu, tau, y, mu * y), (*kept, kept[0] * kept[2]), strict=True):
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-4 / 4


def test_gradients_agree_with_differences(density_and_gradient):
    points = np.array([[0.3, 0.8], [-2.0, 0.05], [1.5, 30.0]])
    for parameters in (
        (0.2, 0.3, 1.2, 0.9, -1.0, 1.5),
        (0.2, 0.3, 0.07, 0.9, -1.0, INF),
        (0.2, 0.3, 0.07, 0.9, 5.0, 6.0),
        (0.2, 0.3, 50.0, 60.0, 5.0, 6.0),
        (0.2, 0.3, 2.0, 3.0, -INF, INF),
    ):
        value_gradient, *gradients = density_and_gradient(points, *parameters)[1:]
        for i, gradient in enumerate(gradients):
            if math.isinf(parameters[i]):
                continue
            step = 1e-5 * max(1.0, abs(parameters[i])) if i < 2 else 1e-5 * abs(parameters[i])
            up, down = list(parameters), list(parameters)
            up[i] += step
            down[i] -= step
            difference = (
                density_and_gradient(points, *up)[0].sum()
                - density_and_gradient(points, *down)[0].sum()
            )
            assert gradient == pytest.approx(difference / (2 * step), rel=1e-5, abs=1e-6), NAMES[i]
        for axis in (0, 1):
            step = np.zeros_like(points)
            step[:, axis] = 1e-6 * np.abs(points[:, axis])
            difference = (
                density_and_gradient(points + step, *parameters)[0]
                - density_and_gradient(points - step, *parameters)[0]
            )
            np.testing.assert_allclose(
                value_gradient[:, axis], difference / (2 * step[:, axis]), rtol=1e-5, atol=1e-6
            )


def test_gradients_are_finite_at_extreme_pairs(density_and_gradient):
    mu, tau = np.meshgrid([-1e4, -30.0, -1.0, 0.0, 1.0, 50.0], [1e-8, 1e-2, 1.0, 1e2, 1e4, 1e8])
    pairs = np.stack([mu.ravel(), tau.ravel()], axis=-1)
    for bounds in ((-1.0, 1.0), (5.0, 6.0), (-INF, 1.0), (-1.0, INF), (-INF, INF)):
        for found in density_and_gradient(pairs, *DEFAULTS[:4], *bounds):
            assert np.all(np.isfinite(found)), bounds


def test_no_density_without_a_positive_precision(density):
    found = log_density(density, 0.0, np.array([0.0, -1.0, -INF]), DEFAULTS)
    np.testing.assert_array_equal(found, -INF)


def test_unbounded_is_the_product_of_normal_and_gamma(density):
    parameters = (*DEFAULTS[:4], -INF, INF)
    rng = np.random.default_rng(3)
    mu, tau = rng.normal(size=20), rng.gamma(1.0, size=20)
    np.testing.assert_allclose(
        log_density(density, mu, tau, parameters),
        stats.norm.logpdf(mu, 0, 0.1**-0.5) + stats.gamma.logpdf(tau, 1),
        atol=1e-13,
    )


def test_constant_and_symbolic_parameters_agree(density):
    pairs = np.array([[0.1, 0.5], [2.0, 3.0]])
    for parameters in (DEFAULTS, (1.0, 2.0, 0.5, 3.0, 1.0, INF)):
        constant = pm.logp(GTNSNG.dist(*parameters), pairs).eval(mode=PYTHON)
        np.testing.assert_allclose(constant, density(pairs, *parameters), rtol=1e-12)


def test_backends_draw_the_same_numbers():
    variable = GTNSNG.dist(lower=[-1, 5], upper=[[1e9], [6], [INF]], shape=(3, 2, 2))
    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*object mode.*")
        for mode in (None, "NUMBA", PYTHON):
            found.append(pm.draw(variable, draws=20, random_seed=1, mode=mode))
    assert found[0].shape == (20, 3, 2, 2)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(
    "parameters",
    [
        (0.0, 1.0, 1e4, 1e4, 50.0, 51.0),
        (0.0, 1e-4, 0.01, 1e-8, 0.0, INF),
        (0.0, 1e12, 20.0, 1e-3, -INF, -1.0),
        (1e6, 1e6, 1.0, 1.0, -1.0, 1.0),
        (0.0, 1e-12, 1.0, 1e12, -1e-6, 1e-6),
        (-100.0, 10.0, 100.0, 1.0, 0.0, INF),
    ],
    ids=str,
)
def test_extreme_parameters_end_with_a_draw_in_the_support(parameters):
    draws = gtnsng.rng_fn(np.random.default_rng(4), *parameters, size=(500,))
    assert np.all(np.isfinite(draws))
    assert np.all(draws[:, 1] > 0)


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ({}, (2,)),
        ({"shape": (5, 4, 2)}, (5, 4, 2)),
        ({"size": (5, 4)}, (5, 4, 2)),
        ({"mu_mu": [0.0, 1.0, 2.0]}, (3, 2)),
        ({"alpha_t": [[1.0], [2.0]], "lower": [-1.0, -2.0, -3.0]}, (2, 3, 2)),
        ({"lower": None, "upper": None}, (2,)),
        ({"mu_mu": 3, "lower": 0, "upper": 1, "shape": (3, 2)}, (3, 2)),
    ],
    ids=str,
)
def test_shapes_and_support_point(arguments, shape):
    variable = GTNSNG.dist(**arguments)
    assert variable.type.shape == shape
    assert pm.draw(variable, random_seed=1, mode=PYTHON).shape == shape
    point = pm.distributions.distribution.support_point(variable).eval(mode=PYTHON)
    assert point.shape == shape
    log_probability = pm.logp(variable, point).eval(mode=PYTHON)
    assert log_probability.shape == shape[:-1]
    assert np.all(np.isfinite(log_probability))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tau_mu": 0}, "tau_mu must be positive"),
        ({"alpha_t": -1.0}, "alpha_t must be positive"),
        ({"beta_t": [1.0, math.nan]}, "beta_t must be positive"),
        ({"lower": 1, "upper": -1}, "lower must be less than upper"),
        ({"lower": [0.0, 1.0], "upper": 1.0}, "lower must be less than upper"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        GTNSNG.dist(**arguments)


def test_bad_symbolic_parameters_are_found_at_run_time(density):
    for position, bad in ((1, 0.0), (2, -1.0), (3, 0.0), (4, 2.0)):
        parameters = list(DEFAULTS)
        parameters[position] = bad
        with pytest.raises(ParameterValueError):
            density(np.ones((1, 2)), *parameters)
        with pytest.raises(ValueError, match="GTNSNG needs"):
            gtnsng.rng_fn(np.random.default_rng(5), *parameters, size=(1,))


@pytest.mark.usefixtures("interpreted")
def test_in_a_model():
    coords = {"basis": range(3), "column": range(2), "hyperparameter": ["mu", "tau"]}
    dims = ("basis", "column", "hyperparameter")
    with pm.Model(coords=coords) as model:
        rate = pm.Gamma("rate", 2, 2)
        GTNSNG("hyper", beta_t=rate, dims=dims, initval="prior")
    start = model.initial_point(random_seed=1)
    assert start["hyper"].shape == (3, 2, 2)
    assert np.unique(start["hyper"]).size == 12
    assert np.all(np.isfinite(model.compile_dlogp(mode=PYTHON)(start)))

    prior = pm.sample_prior_predictive(draws=10, model=model, random_seed=1)["prior"]
    assert prior["hyper"].dims == ("chain", "draw", *dims)
    assert np.all(prior["hyper"].sel(hyperparameter="tau") > 0)


@pytest.mark.usefixtures("interpreted")
def test_transform_adds_its_jacobian_and_leaves_a_smooth_density(density_and_gradient):
    with pm.Model() as model:
        GTNSNG("hyper", transform=log_precision)
    pair = np.array([0.4, 2.5])
    point = {"hyper_log_precision__": np.array([0.4, math.log(2.5)])}
    log_density, (gradient,), *_ = density_and_gradient(pair[None], *DEFAULTS)
    np.testing.assert_allclose(model.compile_logp()(point), log_density[0] + math.log(2.5))
    np.testing.assert_allclose(
        model.compile_dlogp()(point), [gradient[0], gradient[1] * 2.5 + 1], rtol=1e-12
    )


def test_pickling():
    variable = cloudpickle.loads(cloudpickle.dumps(GTNSNG.dist(shape=(3, 2))))
    np.testing.assert_array_equal(
        pm.draw(variable, random_seed=1, mode=PYTHON),
        pm.draw(GTNSNG.dist(shape=(3, 2)), random_seed=1, mode=PYTHON),
    )
