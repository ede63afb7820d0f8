"""Chains from every start draw from the same distribution, in runs as long as a user's."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

PAIRS = 15
PLANTED = bid.datasets.make_planted(rows=90, columns=PAIRS, rank=6, noise=0.3, seed=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A has columns that are copies")
@pytest.mark.parametrize("identity", [False, True])
@pytest.mark.parametrize("seed", [51, 52])
def test_copies_of_a_column_are_chosen_equally_often_from_every_start(seed, identity):
    data = np.repeat(PLANTED.A.to_numpy(), 2, axis=1)
    everything = np.ones(2 * PAIRS, int)
    sets = np.random.default_rng(seed).integers(0, 2, (2, 2 * PAIRS))
    with bid.gbt(data, identity=identity):
        posterior = pm.sample(
            draws=2000,
            tune=1000,
            chains=4,
            initvals=[{"r": start} for start in (everything, 0 * everything, *sets)],
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r"],
        )["posterior"]
    r = np.asarray(posterior["r"]).astype(float)
    moving = [column for column in range(2 * PAIRS) if np.ptp(r[..., column])]
    if np.ptp(r.sum(axis=-1)):
        assert az.rhat(r.sum(axis=-1)) <= 1.02
    assert max(az.rhat(r[..., column]) for column in moving) <= 1.02
    for pair in range(PAIRS):
        difference = r[..., 2 * pair] - r[..., 2 * pair + 1]
        if not np.ptp(difference):
            assert difference.max() == 0, PLANTED.A.columns[pair]
            continue
        assert abs(difference.mean()) <= 4 * az.mcse(difference), PLANTED.A.columns[pair]
