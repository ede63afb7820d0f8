"""Time per iteration: kernels, steps and whole draws, against N, K and M, and against the floor.

One iteration is the paper's with ν = 1: a sweep of flips, a draw of the noise variance, a sweep
over the weights with every row of Y refreshed. The floor is N² plain normals drawn by NumPy. Every
figure is the least of many repetitions, on one thread, so that other processes do not matter.
"""

import logging
import time
from typing import NamedTuple

import numpy as np
import pymc as pm

import pymc_bid as bid
from benchmarks.compare_literal import low_rank_matrix
from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.kernels.exact.paper import flip_sweep
from pymc_bid.kernels.exact.weights import sweep_weights
from pymc_bid.kernels.residual import residual_cross_products
from pymc_bid.regression import reduce_regression

SETTLING_SWEEPS = 60
REPEATS = 1000


class Case(NamedTuple):
    """A matrix and how many of its columns are on."""

    rows: int
    columns: int
    active: int

    def __str__(self):
        return f"{self.rows:,}×{self.columns}, K = {self.active}"


class Profile(NamedTuple):
    """Seconds of one iteration and of its parts."""

    floor: float
    parts: dict[str, float]
    steps: float
    draw: float

    @property
    def kernels(self) -> float:
        return sum(self.parts.values())


def least(call, repeats: int) -> float:
    """Least time of a call by the clock."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def make(case: Case):
    rng = np.random.default_rng(0)
    matrix = low_rank_matrix(rng, case.rows, case.columns)
    state = np.isin(np.arange(case.columns), rng.permutation(case.columns)[: case.active])
    return rng, matrix, state.astype(np.int64)


def profile_kernels(case: Case, repeats: int) -> dict[str, float]:
    """Seconds of each kernel of an iteration, at weights that have settled."""
    rng, matrix, state = make(case)
    data = reduce_regression(matrix, matrix)
    products, active = data.products, np.flatnonzero(state)
    prior = WeightPrior.of(data.shape, 0.0, 1.0, -1.0, 1.0)
    weights = np.zeros(data.shape)
    for _ in range(SETTLING_SWEEPS):
        variance = data.squared_errors(active, weights).sum() / matrix.size
        precision = np.full(case.columns, 1 / variance)
        sweep_weights(rng, active, weights, products, precision, prior, True)
    cross = residual_cross_products(active, weights, products)
    # Nothing of this changes: certain columns do not flip.
    fixed = (
        np.full(case.columns, variance),
        OwnColumns.none(case.columns),
        1e9 * (2 * state - 1.0),
    )
    calls = {
        "products with the residual": lambda: residual_cross_products(active, weights, products),
        "flips": lambda: flip_sweep(rng, state, weights, cross, products, *fixed),
        "squared errors": lambda: data.squared_errors(active, weights),
        "weights": lambda: sweep_weights(rng, active, weights, products, precision, prior, True),
    }
    for call in calls.values():
        call()
    return {name: least(call, repeats) for name, call in calls.items()}


def time_steps(case: Case, repeats: int) -> float:
    """Seconds of the three steps, called one after the other."""
    _, matrix, state = make(case)
    model = bid.gbt(bid.compress(matrix) if case.rows > 10_000 else matrix)
    steps = [
        bid.FlipStep([model["r"]], model=model, scheme="paper"),
        bid.NoiseStep([model["sigma2"]], model=model),
        bid.WeightStep([model["Y"]], model=model, nu=1),
    ]
    point = model.initial_point()
    point["r"] = state
    for _ in range(SETTLING_SWEEPS):
        for step in steps[1:]:
            point, _ = step.step(point)

    def iterate():
        nonlocal point
        for step in steps:
            point, _ = step.step(point)

    iterate()
    return least(iterate, repeats)


class Clock:
    """Callback that takes the time of each draw."""

    def __init__(self):
        self.times = []

    def __call__(self, trace, draw):
        self.times.append(time.process_time())


def time_draw(case: Case, draws: int) -> float:
    """Processor time between two draws of `pm.sample`, everything kept."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    _, matrix, state = make(case)
    clock = Clock()
    with bid.gbt(matrix):
        pm.sample(
            draws=draws,
            tune=SETTLING_SWEEPS,
            chains=1,
            initvals={"r": state},
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            callback=clock,
            bid_flip={"scheme": "paper"},
            bid_weights={"nu": 1},
        )
    return float(np.diff(clock.times[SETTLING_SWEEPS:]).min())


def profile(case: Case) -> Profile:
    rng = np.random.default_rng(0)
    floor = least(lambda: rng.standard_normal((case.columns, case.columns)), REPEATS)
    parts = profile_kernels(case, REPEATS)
    return Profile(floor, parts, time_steps(case, REPEATS), time_draw(case, REPEATS))
