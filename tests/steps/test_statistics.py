"""What the steps report in sample_stats is what the draws say."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

A = bid.datasets.make_planted(rows=12, columns=6, rank=3, noise=1.0).A.to_numpy()


def sample(model, **options):
    with model:
        return pm.sample(
            draws=40,
            tune=0,
            chains=1,
            random_seed=3,
            progressbar=False,
            compute_convergence_checks=False,
            **options,
        )


@pytest.mark.parametrize("k", [None, 2])
def test_size_and_error_are_those_of_the_draw(k):
    idata = sample(bid.gbt(A, k=k))
    posterior, statistics = idata["posterior"], idata["sample_stats"]
    r, Y = np.asarray(posterior["r"])[0], np.asarray(posterior["Y"])[0]
    errors = [np.sum((A - (A * state) @ weights) ** 2) for state, weights in zip(r, Y, strict=True)]
    np.testing.assert_array_equal(statistics["bid_K"][0], r.sum(axis=1))
    np.testing.assert_allclose(statistics["bid_sse"][0], errors, rtol=1e-10)
    np.testing.assert_allclose(statistics["bid_mse"][0], np.divide(errors, A.size), rtol=1e-10)
    assert (np.asarray(statistics["bid_nu"]) == 1).all()


def test_accepted_flips_are_the_changes_of_the_state():
    idata = sample(bid.gbt(A, beta_sigma=1e4), bid_flip={"scheme": "paper"})
    r = np.asarray(idata["posterior"]["r"])[0]
    statistics = idata["sample_stats"]
    changes = np.abs(np.diff(r, axis=0)).sum(axis=1)
    np.testing.assert_array_equal(statistics["bid_flips_accepted"][0][1:], changes)
    assert (np.asarray(statistics["bid_flips_tried"]) == 6).all()
    assert changes.sum() > 0


def test_accepted_swaps_are_the_changes_of_the_state():
    idata = sample(bid.gbt(A, k=2, beta_sigma=1e4), bid_swap={"scheme": "paper"})
    r = np.asarray(idata["posterior"]["r"])[0]
    changes = np.abs(np.diff(r, axis=0)).sum(axis=1)
    statistics = idata["sample_stats"]
    np.testing.assert_array_equal(2 * statistics["bid_swaps_accepted"][0][1:], changes)
    assert (np.asarray(statistics["bid_swaps_tried"]) == 1).all()
    assert changes.sum() > 0


def test_no_swap_is_tried_where_none_is_possible():
    for k in (0, 6):
        statistics = sample(bid.gbt(A, k=k), bid_swap={"scheme": "paper"})["sample_stats"]
        assert int(statistics["bid_swaps_tried"].sum()) == 0


@pytest.mark.parametrize("nu", [0, -1, 1.5, True])
def test_a_number_of_sweeps_that_is_none_is_refused(nu):
    model = bid.gbt(A)
    with pytest.raises(ValueError, match="nu must be a positive integer"):
        bid.WeightStep([model["Y"]], model=model, nu=nu)


def test_an_unknown_scheme_or_option_is_refused():
    model = bid.gbt(A)
    with pytest.raises(ValueError, match="scheme must be one of"):
        bid.FlipStep([model["r"]], model=model, scheme="fast")
    with pytest.raises(TypeError, match="FlipStep has no option sheme"):
        bid.FlipStep([model["r"]], model=model, sheme="paper")
