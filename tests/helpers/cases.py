"""Small models on which the steps are tested, and a loop that runs steps without pm.sample."""

import numpy as np
import pymc as pm

import pymc_bid as bid


def small_data(seed=0, rows=6, pool_columns=3, target_columns=2):
    """A pool and a target with so little information that every state has some probability."""
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(rows, pool_columns))
    target = 0.7 * pool[:, :1] + rng.normal(size=(rows, target_columns))
    return pool, target


def handwritten(pool, target, *, k=None, hierarchical=False, bounds=(-1.0, 1.0), transforms=True):
    """The model as a user would write it, with PyMC's default transforms or none."""
    size, columns = pool.shape[1], target.shape[1]
    options = {} if transforms else {"default_transform": None}
    with pm.Model() as model:
        if k is None:
            r = pm.Bernoulli("r", 0.5, shape=size)
        else:
            r = bid.StateVector("r", k=k, n=size)
        sigma2 = pm.InverseGamma("sigma2", 2.0, 1.5, **options)
        lower, upper = bounds
        mu, tau = 0.3, 0.8
        if hierarchical:
            hyper = bid.GTNSNG("hyper", lower=lower, upper=upper, shape=(size, columns, 2))
            mu, tau = hyper[:, :, 0], hyper[:, :, 1]
        Y = pm.TruncatedNormal(
            "Y", mu=mu, tau=tau, lower=lower, upper=upper, shape=(size, columns), **options
        )
        pm.Normal("A", mu=(pool * r) @ Y, sigma=pm.math.sqrt(sigma2), observed=target)
    return model


def make_steps(model, seed=0, scheme="paper", nu=1, names=("r", "sigma2", "Y")):
    """Flip or swap, noise and weight steps for a model, each with its own stream."""
    state, noise, weights = (model[name] for name in names)
    fixed = "Subset" in type(state.owner.op).__name__
    rngs = np.random.default_rng(seed).spawn(3)
    with model:
        return [
            (bid.SwapStep if fixed else bid.FlipStep)(state, scheme=scheme, rng=rngs[0]),
            bid.NoiseStep(noise, rng=rngs[1]),
            bid.WeightStep(weights, nu=nu, rng=rngs[2]),
        ]


def run_points(model, draws=20, seed=1):
    """A few iterations of a constructor's model, as a dict of arrays with one row per draw."""
    steps = make_steps(model, seed=seed, scheme="collapsed")
    point = model.initial_point(random_seed=seed)
    points = []
    for _ in range(draws):
        for step in steps:
            point, _ = step.step(point)
        points.append(point)
    return {name: np.array([point[name] for point in points]) for name in points[0]}


def run_states(steps, point, draws, warm_up=200):
    """Run the steps in turn and return the visited state vectors."""
    for step in steps:
        step.stop_tuning()
    visited = np.empty((draws, len(point["r"])), dtype=np.int64)
    for draw in range(-warm_up, draws):
        for step in steps:
            point, _ = step.step(point)
        if draw >= 0:
            visited[draw] = point["r"]
    return visited
