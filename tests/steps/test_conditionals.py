"""Each block update against the conditional that the model's own compiled logp implies."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_bid as bid
from tests.helpers.cases import handwritten, make_steps, small_data

DRAWS = 1000
ALPHA = 1e-5


def conditional_cdf(logp, point, name, index, grid):
    """CDF of one entry of a variable given all others, by quadrature of the model's logp.

    `grid` is in the units of the point's entry, transformed or not; the returned CDF is of that.
    """
    values = np.empty(len(grid))
    for position, value in enumerate(grid):
        changed = {key: np.array(entry, dtype=entry.dtype) for key, entry in point.items()}
        changed[name][index] = value
        values[position] = logp(changed)
    density = np.exp(values - values.max())
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(grid)
    cumulated = np.concatenate([[0.0], np.cumsum(steps)])
    return lambda x: np.interp(x, grid, cumulated / cumulated[-1])


def random_point(model, seed):
    point = model.initial_point(random_seed=seed)
    rng = np.random.default_rng(seed)
    return {
        name: value if value.dtype.kind == "i" else value + 0.1 * rng.uniform(size=value.shape)
        for name, value in point.items()
    }


def entry_name(model, name):
    return model.rvs_to_values[model[name]].name


@pytest.mark.parametrize("transforms", [True, False], ids=["transformed", "plain"])
@pytest.mark.parametrize("hierarchical", [False, True], ids=["gbt", "gbtn"])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, 2.0)], ids=["symmetric", "nonnegative"])
def test_weights_follow_their_conditional(transforms, hierarchical, bounds):
    pool, target = small_data()
    model = handwritten(
        pool, target, hierarchical=hierarchical, bounds=bounds, transforms=transforms
    )
    point = random_point(model, 1)
    # Row 1 is the first one on, so it is drawn given the others as they stand.
    point["r"] = np.array([0, 1, 1])
    weight_step = make_steps(model)[2]
    name = entry_name(model, "Y")
    drawn = np.array([weight_step.step(point)[0][name] for _ in range(DRAWS)])
    grid = np.linspace(-14, 14, 801) if transforms else np.linspace(*bounds, 801)[1:-1]
    # All that Y enters: the density of what it depends on takes long, and says nothing.
    logp = model.compile_logp(vars=[model["Y"], model["A"]])
    for row in (0, 1):
        cdf = conditional_cdf(logp, point, name, (row, 1), grid)
        assert stats.kstest(drawn[:, row, 1], cdf).pvalue > ALPHA


@pytest.mark.parametrize("transforms", [True, False], ids=["transformed", "plain"])
def test_noise_variance_follows_its_conditional(transforms):
    pool, target = small_data()
    model = handwritten(pool, target, transforms=transforms)
    point = random_point(model, 2)
    noise_step = make_steps(model)[1]
    noise_step.stop_tuning()
    name = entry_name(model, "sigma2")
    drawn = np.array([noise_step.step(point)[0][name] for _ in range(DRAWS)])
    grid = np.linspace(-6, 6, 1001) if transforms else np.geomspace(1e-3, 1e3, 2001)
    cdf = conditional_cdf(model.compile_logp(), point, name, (), grid)
    assert stats.kstest(drawn, cdf).pvalue > ALPHA


@pytest.mark.compiled
def test_noise_variance_drawn_between_flips_follows_its_conditional():
    pool, target = small_data()
    model = handwritten(pool, target)
    flip = make_steps(model, scheme="collapsed")[0]
    flip.stop_tuning()
    name = entry_name(model, "sigma2")
    logp = model.compile_logp()
    point = random_point(model, 6)
    ranks, states = [], set()
    # The last draw of a step comes after its last flip: each is compared with its own conditional.
    for _ in range(150):
        point, _ = flip.step(point)
        states.add(tuple(point["r"]))
        cdf = conditional_cdf(logp, point, name, (), np.linspace(-6, 6, 201))
        ranks.append(cdf(point[name]))
    assert len(states) > 1
    assert stats.kstest(ranks, "uniform").pvalue > ALPHA


def test_a_noise_variance_with_other_children_is_not_drawn_between_flips():
    pool, target = small_data()
    model = handwritten(pool, target)
    with model:
        pm.Normal("other", 0, pm.math.sqrt(model["sigma2"]), observed=1.0)
        flip = bid.FlipStep(model["r"], rng=np.random.default_rng(0))
    flip.stop_tuning()
    point = random_point(model, 7)
    name = entry_name(model, "sigma2")
    assert flip.step(point)[0][name] == point[name]


@pytest.mark.compiled
def test_hyperparameters_follow_their_conditionals():
    pool, target = small_data()
    model = handwritten(pool, target, hierarchical=True, transforms=False)
    point = random_point(model, 3)
    weight_step = make_steps(model)[2]
    logp = model.compile_logp(vars=[model["hyper"], model["Y"]])
    ranks = []
    # μ and τ are drawn given weights that were themselves just drawn, so each draw is compared with
    # its own conditional: the probability integral transform must be uniform.
    for _ in range(150):
        new, _ = weight_step.step(point)
        before = dict(new)
        before["hyper"] = new["hyper"].copy()
        before["hyper"][0, 0, 1] = point["hyper"][0, 0, 1]
        mean = conditional_cdf(logp, before, "hyper", (0, 0, 0), np.linspace(-12, 12, 201))
        precision = conditional_cdf(logp, new, "hyper", (0, 0, 1), np.geomspace(1e-4, 40, 201))
        ranks.append([mean(new["hyper"][0, 0, 0]), precision(new["hyper"][0, 0, 1])])
        point = new
    for column in np.transpose(ranks):
        assert stats.kstest(column, "uniform").pvalue > ALPHA


def test_first_flip_follows_the_odds_of_the_model():
    pool, target = small_data()
    model = handwritten(pool, target)
    point = random_point(model, 4)
    flip = make_steps(model)[0]
    logp = model.compile_logp()
    on, off = (logp({**point, "r": np.array([value, 1, 0])}) for value in (1, 0))
    exact = 1 / (1 + np.exp(off - on))
    drawn = np.array([flip.step(point)[0]["r"][0] for _ in range(4000)])
    assert stats.binomtest(int(drawn.sum()), len(drawn), exact).pvalue > ALPHA
    assert 0.02 < exact < 0.98


def test_swap_follows_the_odds_of_the_model():
    pool, target = small_data(pool_columns=2)
    model = handwritten(pool, target, k=1)
    point = random_point(model, 5)
    swap = make_steps(model)[0]
    logp = model.compile_logp()
    first, second = (logp({**point, "r": np.array(state)}) for state in ([1, 0], [0, 1]))
    exact = 1 / (1 + np.exp(second - first))
    drawn = np.array([swap.step(point)[0]["r"][0] for _ in range(4000)])
    assert stats.binomtest(int(drawn.sum()), len(drawn), exact).pvalue > ALPHA
    assert 0.02 < exact < 0.98
