"""Priors whose own variables PyMC's samplers draw, next to the block updates."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_bid as bid
from tests.helpers.chains import as_columns, found_steps, run_chain
from tests.helpers.priors import POOL, REFERENCE_DRAWS, SHAPE, TARGET, bernoulli
from tests.reference.weighting import assert_moments_agree, log_likelihood, weighted_moments

pytestmark = pytest.mark.usefixtures("few_columns")

QUIET = {"chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}


def weights_given(rng, mean, precision, lower=-1.0, upper=1.0):
    """Draws of Y given a mean and a precision for each draw, which broadcast to (draws, N, L)."""
    mean, scale = np.asarray(mean), np.asarray(precision) ** -0.5
    ends = [stats.norm.cdf((bound - mean) / scale) for bound in (lower, upper)]
    uniform = rng.random((REFERENCE_DRAWS, *SHAPE))
    return mean + scale * stats.norm.ppf(ends[0] + (ends[1] - ends[0]) * uniform)


def reference(rng, drawn, names, variance):
    """Moments of the named variables under the likelihood of the draws."""
    drawn = {"r": bernoulli(rng)} | drawn
    # One number, one for each draw, or one for each draw and target.
    variance = np.atleast_2d(np.transpose(variance)).T[:, None]
    log_weights = log_likelihood(POOL, TARGET, drawn["r"], drawn["Y"], variance)
    return weighted_moments(as_columns({name: drawn[name] for name in names}), log_weights)


def build(prior, sigma=lambda: 0.8):
    """The model by hand; `prior` makes Y, `sigma` the scale."""
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=SHAPE[0])
        Y = prior()
        pm.Normal("A", mu=(POOL * r) @ Y, sigma=sigma(), observed=TARGET)
    return model


def weights(mu, tau):
    return pm.TruncatedNormal(
        "Y", mu=mu, tau=tau, lower=-1, upper=1, shape=SHAPE, default_transform=None
    )


def check_with_slice(model, drawn, variance=0.64, draws=1500):
    """Compare a chain in which PyMC's slice sampler draws what the block updates do not."""
    others = [v for v in model.free_RVs if v.name not in ("r", "Y")]
    with model:
        beside = [pm.Slice([variable], rng=7) for variable in others]
    names = ["r", "Y", *(variable.name for variable in others)]
    expected = reference(np.random.default_rng(9), drawn, names, variance)
    chain = run_chain(model, found_steps(model, beside=beside), names, draws, tune=200)
    assert_moments_agree(as_columns(chain), expected)


LAYOUTS = {"global": (), "per row": (SHAPE[0], 1), "per column": (1, SHAPE[1])}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_means_and_precisions_that_are_random(layout):
    rng = np.random.default_rng(10)
    full = (REFERENCE_DRAWS, *layout)
    mu, tau = rng.normal(0, 0.5, full), rng.gamma(3.0, 1 / 2.0, full)
    spread = [value.reshape(REFERENCE_DRAWS, *(layout or (1, 1))) for value in (mu, tau)]
    model = build(
        lambda: weights(pm.Normal("mu", 0, 0.5, shape=layout), pm.Gamma("tau", 3, 2, shape=layout))
    )
    check_with_slice(model, {"mu": mu, "tau": tau, "Y": weights_given(rng, *spread)})


@pytest.mark.slow
def test_inclusion_with_another_prior():
    rng = np.random.default_rng(13)
    p = rng.uniform(0.1, 0.9, REFERENCE_DRAWS)
    drawn = {"p": p, "r": bernoulli(rng, p[:, None]), "Y": weights_given(rng, 0.0, 1.0)}
    with pm.Model() as model:
        r = pm.Bernoulli("r", pm.Uniform("p", 0.1, 0.9), shape=SHAPE[0])
        pm.Normal("A", mu=(POOL * r) @ weights(0.0, 1.0), sigma=0.8, observed=TARGET)
    check_with_slice(model, drawn)


@pytest.mark.slow
def test_student_t_weights():
    """A gamma precision for each weight makes it Student's t, here of 4 degrees of freedom."""
    rng = np.random.default_rng(11)
    tau = rng.gamma(2.0, 1 / 2.0, (REFERENCE_DRAWS, *SHAPE))
    model = build(lambda: pm.Normal("Y", 0, tau=pm.Gamma("tau", 2, 2, shape=SHAPE), shape=SHAPE))
    y = weights_given(rng, 0.0, tau, -np.inf, np.inf)
    # As the weights are seen by the data they are t variables; the prior says so too.
    assert stats.kstest(y[::50, 0, 0], stats.t(4).cdf).pvalue > 1e-5
    check_with_slice(model, {"tau": tau, "Y": y}, draws=2000)


@pytest.mark.slow
def test_horseshoe_like_weights():
    """Half-normal local scales times a global one."""
    rng = np.random.default_rng(12)
    local = np.abs(rng.normal(size=(REFERENCE_DRAWS, *SHAPE)))
    overall = np.abs(rng.normal(size=REFERENCE_DRAWS))
    scale = overall[:, None, None] * local

    def prior():
        scale = pm.HalfNormal("overall") * pm.HalfNormal("local", shape=SHAPE)
        return pm.Normal("Y", 0, scale, shape=SHAPE)

    y = scale * rng.normal(size=scale.shape)
    check_with_slice(build(prior), {"local": local, "overall": overall, "Y": y}, draws=2500)


SCALES = {
    "half-normal scale": (
        lambda: pm.HalfNormal("noise", 1.0),
        lambda rng: np.abs(rng.normal(size=REFERENCE_DRAWS)),
        lambda noise: noise**2,
    ),
    "exponential variance": (
        lambda: pm.math.sqrt(0.2 + pm.Exponential("noise", 1.0)),
        lambda rng: rng.exponential(size=REFERENCE_DRAWS),
        lambda noise: 0.2 + noise,
    ),
    "scale of each column": (
        lambda: pm.HalfNormal("noise", 1.0, shape=SHAPE[1]),
        lambda rng: np.abs(rng.normal(size=(REFERENCE_DRAWS, SHAPE[1]))),
        lambda noise: noise**2,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "draw", "variance"), SCALES.values(), ids=SCALES.keys())
def test_any_prior_of_the_noise(scale, draw, variance):
    rng = np.random.default_rng(13)
    noise = draw(rng)
    model = build(lambda: weights(0.2, 1.5), scale)
    y = weights_given(rng, 0.2, 1.5)
    check_with_slice(model, {"noise": noise, "Y": y}, variance(noise))


def mixed_model():
    return build(
        lambda: weights(pm.Normal("mu", 0, 0.5), pm.Gamma("tau", 3, 2)),
        lambda: pm.HalfNormal("noise", 1.0),
    )


MIXED = ["r", "Y", "mu", "tau", "noise"]


@pytest.fixture(scope="module")
def mixed_reference():
    rng = np.random.default_rng(14)
    drawn = {
        "mu": rng.normal(0, 0.5, REFERENCE_DRAWS),
        "tau": rng.gamma(3.0, 1 / 2.0, REFERENCE_DRAWS),
        "noise": np.abs(rng.normal(size=REFERENCE_DRAWS)),
    }
    parameters = (drawn[name][:, None, None] for name in ("mu", "tau"))
    drawn["Y"] = weights_given(rng, *parameters)
    return reference(rng, drawn, MIXED, drawn["noise"] ** 2)


def drawn_by(idata):
    return as_columns({name: np.asarray(idata["posterior"][name])[0] for name in MIXED})


@pytest.mark.slow
def test_nuts_beside_without_being_asked_for(mixed_reference):
    with mixed_model():
        idata = pm.sample(draws=1500, tune=400, random_seed=1, **QUIET)
    statistics = idata["sample_stats"]
    assert {"bid_flips_tried", "bid_nu", "tree_depth"} <= set(statistics)
    assert_moments_agree(drawn_by(idata), mixed_reference)


@pytest.mark.slow
def test_nuts_for_what_it_is_asked_for(mixed_reference):
    with mixed_model() as model:
        step = [pm.NUTS([model["mu"], model["tau"]]), bid.WeightStep(model["Y"], nu=2)]
        idata = pm.sample(draws=2000, tune=500, step=step, random_seed=2, **QUIET)
    assert_moments_agree(drawn_by(idata), mixed_reference)


@pytest.mark.slow
def test_step_takes_what_it_names_and_leaves_the_rest_to_the_block_updates():
    with mixed_model() as model:
        idata = pm.sample(
            draws=20,
            tune=20,
            step=[pm.Slice([model["noise"]]), pm.Metropolis([model["mu"], model["tau"]])],
            **QUIET,
        )
    assert "tree_depth" not in idata["sample_stats"]
    assert {"bid_flips_tried", "bid_nu"} <= set(idata["sample_stats"])
