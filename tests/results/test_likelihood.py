"""Log likelihoods are PyMC's, in less memory, and ArviZ takes them."""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_bid as bid
from pymc_bid.results.draws import read_group
from tests.helpers.draws import as_idata, make_draws

pytestmark = pytest.mark.usefixtures("interpreted")

A = bid.datasets.make_planted(rows=12, columns=5, rank=2, noise=0.5, seed=3).A


@pytest.fixture(scope="module")
def runs():
    found = {}
    for name, model in (("free", bid.gbt(A)), ("two", bid.gbt(A, k=2))):
        with model:
            idata = pm.sample(
                draws=60,
                tune=60,
                chains=2,
                cores=1,
                random_seed=1,
                progressbar=False,
                compute_convergence_checks=False,
            )
        found[name] = model, idata
    return found


@pytest.mark.parametrize("name", ["free", "two"])
def test_entries_are_those_of_pymc(runs, name):
    model, idata = runs[name]
    theirs = pm.compute_log_likelihood(
        idata, model=model, progressbar=False, extend_inferencedata=False
    )["A"]
    ours = bid.log_likelihood(idata, A, by="entry")["log_likelihood"]["A"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    rows = bid.log_likelihood(idata, A, thin=7)["log_likelihood"]["A"]
    np.testing.assert_allclose(rows, np.asarray(theirs)[:, ::7].sum(axis=3), rtol=1e-6)
    np.testing.assert_array_equal(rows["draw"], idata["posterior"]["draw"][::7])


def test_models_and_numbers_of_columns_are_compared(runs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pointwise = {name: bid.log_likelihood(idata, A) for name, (_, idata) in runs.items()}
        assert "Y" not in pointwise["two"]["posterior"]
        assert np.isfinite(az.loo(pointwise["two"], var_name="A").se)
        table = az.compare(pointwise)
    assert set(table.index) == {"free", "two"}


def test_posterior_predictive_has_the_fit_for_its_mean(runs):
    model, idata = runs["two"]
    thinned = idata.isel(draw=slice(None, None, 2))
    drawn = pm.sample_posterior_predictive(thinned, model=model, random_seed=1, progressbar=False)[
        "posterior_predictive"
    ]["A"]
    posterior = read_group(thinned, "posterior")
    r, Y, sigma2 = (np.asarray(posterior[name]) for name in ("r", "Y", "sigma2"))
    fit = np.einsum("mk,cdk,cdkl->cdml", A.to_numpy(), r, Y)
    standard = (np.asarray(drawn) - fit) / np.sqrt(sigma2)[..., None, None]
    assert stats.kstest(standard.ravel(), "norm").pvalue > 1e-5


def test_with_the_identity_inside_chosen_columns_have_their_own_density():
    idata = make_draws(A, [[0, 3]], draws=3, own_variance=True)
    found = np.asarray(bid.log_likelihood(idata, A, by="entry")["log_likelihood"]["A"])
    posterior = read_group(idata, "posterior")
    for chain, draw in np.ndindex(2, 3):
        point = posterior.isel(chain=chain, draw=draw)
        r, Y = np.asarray(point["r"]), np.asarray(point["Y"])
        mean = np.where(r, 0.0, (A.to_numpy() * r) @ Y)
        scale = np.sqrt(np.where(r, point["omega2"], point["sigma2"]))
        np.testing.assert_allclose(found[chain, draw], stats.norm.logpdf(A, mean, scale))


def test_what_is_missing_is_named():
    idata = make_draws(A, [[0, 3]], draws=3)
    for name in ("Y", "sigma2"):
        without = as_idata(posterior=read_group(idata, "posterior").drop_vars(name))
        with pytest.raises(ValueError, match=f"needs '{name}'"):
            bid.log_likelihood(without, A)
    with pytest.raises(ValueError, match="by must be one of"):
        bid.log_likelihood(idata, A, by="column")
    with pytest.raises(ValueError, match="thin must be"):
        bid.log_likelihood(idata, A, thin=0)
