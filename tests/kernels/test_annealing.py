"""The annealed search of warm-up against planted columns."""

import numpy as np
import pytest

from pymc_bid.kernels.annealing import scout_step
from tests.kernels.collapsed_chain import Problem


@pytest.mark.parametrize("flips", [True, False])
def test_the_scout_finds_planted_columns_from_any_start(flips):
    rng = np.random.default_rng(42)
    pool = rng.normal(size=(60, 30))
    planted = np.array([3, 7, 11, 20, 29])
    target = pool[:, planted] @ rng.uniform(-0.9, 0.9, (5, 40)) + 0.3 * rng.normal(size=(60, 40))
    problem = Problem(pool, target)
    for start in ("all", "none", "other") if flips else ("other",):
        state = np.full(30, int(start == "all"))
        if start == "other":
            state[[0, 1, 2, 4, 5]] = 1
        noise_variance = np.mean(target**2)
        for step in range(40):
            noise_variance, _ = scout_step(
                rng,
                state,
                noise_variance,
                problem.moments,
                problem.odds,
                max(1.0, 4.0 ** (1 - step / 30)),
                1e-6,
                flips,
                10,
            )
        assert np.flatnonzero(state).tolist() == planted.tolist(), start
        assert 0.08 < noise_variance < 0.1
