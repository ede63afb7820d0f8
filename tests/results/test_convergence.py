"""A state vector that stands still is spoken of; numbers are those of plain NumPy."""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.results.draws import read_group
from tests.helpers.draws import as_idata, make_draws


def result(states, **variables):
    states = np.asarray(states)
    values = {"r": (("chain", "draw", "basis"), states)}
    values |= {name: (("chain", "draw"), draws) for name, draws in variables.items()}
    return as_idata(posterior=xr.Dataset(values, coords={"basis": list("abc")}))


STILL = np.zeros((2, 150, 3), dtype=int)
APART = STILL.copy()
APART[1, :, 0] = 1
RNG = np.random.default_rng(0)
MOVING = RNG.integers(0, 2, (4, 500, 3))
FRESH = RNG.normal(size=(4, 500))


@pytest.mark.parametrize(
    ("idata", "converged", "words"),
    [
        (result(APART), False, "hold different columns"),
        (result(STILL), None, "tells nothing"),
        (result(STILL[:1]), None, "one chain"),
        (result(MOVING, sigma2=FRESH), True, "4 chains agree on K, sigma2"),
        (result(MOVING, sigma2=FRESH + np.arange(4)[:, None]), False, "R-hat of sigma2"),
        (result(MOVING[:, :60], sigma2=FRESH[:, :60]), False, "take more draws"),
        (result(np.where(np.arange(4)[:, None, None] > 1, 0, MOVING)), False, "R-hat of 3 entries"),
        (result(MOVING, sigma2=FRESH * np.nan), False, "sigma2 has draws that are nan"),
        (
            result(MOVING, sigma2=np.where(FRESH > 3.0, np.inf, FRESH)),
            False,
            "sigma2 has draws that",
        ),
        (
            result(MOVING[:, :1], sigma2=FRESH[:, :1]),
            False,
            "1 draws of each chain, and 100 or more",
        ),
        (result(MOVING[:, :3]), None, "3 draws of each chain, and 100 or more are needed"),
        (result(STILL[:, :99]), None, "99 draws of each chain, and 100"),
        (result(MOVING[:1], sigma2=FRESH[:1]), None, "one chain"),
    ],
    ids=[
        *("apart", "still", "one chain", "fine", "noise apart", "short", "state apart", "nan"),
        *("infinite", "one draw", "three draws", "still and few", "one chain that moves"),
    ],
)
def test_the_verdict_in_words(idata, converged, words):
    verdict = bid.check_convergence(idata)
    assert verdict.converged is converged
    assert words in str(verdict)
    assert str(verdict).startswith(
        {True: "converged", False: "not converged", None: "can't tell"}[converged]
    )


def test_columns_that_never_move_next_to_ones_that_do():
    states = MOVING.copy()
    states[..., 0] = [[0], [0], [1], [1]]
    states[..., 1] = 1
    verdict = bid.check_convergence(result(states))
    assert verdict.converged is False
    assert "1 columns never move and differ between chains: a" in str(verdict)
    table = bid.state_summary(result(states))
    assert table["r_hat"].tolist()[:2] == ["stuck apart", "constant"]
    assert table["r_hat"].iloc[2] == pytest.approx(float(az.rhat(states[..., 2])), abs=1e-4)


def test_the_table_of_the_state_vector():
    table = bid.state_summary(result(MOVING))
    assert table.index.tolist() == list("abc")
    np.testing.assert_allclose(table["inclusion"], MOVING.mean(axis=(0, 1)))
    flips = np.abs(np.diff(MOVING, axis=1)).mean(axis=(0, 1))
    np.testing.assert_allclose(table["flips"], flips)
    # Independent draws: the standard error is that of a coin.
    np.testing.assert_allclose(table["mcse"], 0.5 / np.sqrt(2000), rtol=0.2)


def test_averaged_autocorrelation_is_that_of_each_entry():
    rng = np.random.default_rng(1)
    weights = np.zeros((2, 400, 2, 3))
    for step in range(1, 400):
        weights[:, step] = 0.8 * weights[:, step - 1] + rng.normal(size=(2, 2, 3))
    weights[..., 1, 2] = 0.25  # a constant entry has no autocorrelation and is left out
    dataset = xr.Dataset(
        {"Y": (("chain", "draw", "basis", "column"), weights)}, coords={"basis": ["a", "b"]}
    )
    found = bid.autocorrelation(as_idata(posterior=dataset), lags=5)
    expected = []
    for series in weights.transpose(0, 2, 3, 1).reshape(-1, 400):
        if np.ptp(series) > 0:
            x = series - series.mean()
            expected.append([x[: 400 - lag] @ x[lag:] / (x @ x) for lag in range(6)])
    np.testing.assert_allclose(found, np.mean(expected, axis=0), atol=1e-10)
    one = bid.autocorrelation(as_idata(posterior=dataset), lags=5, basis=["b"])
    assert len(one) == 6 and not np.allclose(one, found)
    with pytest.raises(ValueError, match="lags must be between 1"):
        bid.autocorrelation(as_idata(posterior=dataset), lags=400)


def test_effective_draws_per_second():
    idata = make_draws(np.random.default_rng(0).normal(size=(9, 4)), [[0], [1, 2]], draws=50)
    table = bid.ess_per_second(idata)
    np.testing.assert_allclose(table["ess_per_second"], table["ess"] / 2.0)
    assert {"K", "sigma2", "error", "r, least", "r, median"} == set(table.index)
    bare = as_idata(posterior=read_group(idata, "posterior").drop_attrs())
    with pytest.raises(ValueError, match="sampling_time"):
        bid.ess_per_second(bare)


def test_a_missing_state_is_named():
    with pytest.raises(ValueError, match="no variable 'state'"):
        bid.check_convergence(result(STILL), state="state")


def with_ladder(states, tried=50, accepted=40, trips=5):
    """Draws with what the sampler reports of its ladder, the same in all chains or by chain."""
    chains, draws = np.asarray(states).shape[:2]
    counts = {"exchanges_tried": tried, "exchanges_accepted": accepted, "round_trips": trips}
    statistics = {}
    for name, count in counts.items():
        values = np.zeros((chains, draws), dtype=int)
        values[:, 0] = count
        statistics[f"bid_{name}"] = (("chain", "draw"), values)
    posterior = xr.Dataset(
        {"r": (("chain", "draw", "basis"), states)}, coords={"basis": list("abc")}
    )
    return as_idata(posterior=posterior, sample_stats=xr.Dataset(statistics))


@pytest.mark.parametrize(
    ("idata", "converged", "words"),
    [
        (with_ladder(STILL), True, "sets from random starts led to them"),
        (with_ladder(STILL, trips=[0, 5]), None, "In 1 of 2 chains no set came down"),
        (with_ladder(STILL, accepted=[3, 0]), None, "1 of 2 chains took none of the 50 sets"),
        (with_ladder(STILL, tried=0, accepted=0, trips=0), None, "scheme='collapsed'"),
        (with_ladder(APART), False, "Take more draws"),
        (with_ladder(APART, accepted=0), False, "the closed form is not like this model"),
        (with_ladder(MOVING), True, "4 chains agree"),
        (with_ladder(STILL[:, :1]), None, "100 or more are needed"),
        (with_ladder(STILL[:1]), None, "one chain"),
        (with_ladder(MOVING, trips=0), None, "no set came down"),
    ],
)
def test_chains_that_could_not_have_left_are_not_called_converged(idata, converged, words):
    verdict = bid.check_convergence(idata)
    assert verdict.converged is converged
    assert words in str(verdict)


@pytest.mark.parametrize("dim", ["chain", "draw"])
def test_a_chain_that_was_selected_without_its_dimension_is_named(dim):
    idata = as_idata(posterior=read_group(result(STILL), "posterior").isel({dim: 0}))
    with pytest.raises(ValueError, match=rf"no dimension '{dim}'.* idata.sel\({dim}=\[0\]\)"):
        bid.check_convergence(idata)


def test_a_state_vector_that_stands_still_brings_no_warning_and_hides_no_other():
    planted = bid.datasets.make_planted(rows=20, columns=5, rank=2, noise=0.01, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with bid.gbt(planted.A, k=5, identity=True):
            idata = pm.sample(100, tune=20, chains=2, cores=1, progressbar=False, random_seed=1)
        assert (np.asarray(idata["posterior"]["r"]) == 1).all()
        assert not [one for one in caught if one.category is RuntimeWarning]
        np.float64(0.0) / np.float64(0.0)
    assert [str(one.message) for one in caught if one.category is RuntimeWarning] == [
        "invalid value encountered in scalar divide"
    ]
