"""The decomposition is what plain NumPy makes of the draws."""

import tracemalloc
import warnings

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.results.draws import read_group
from tests.helpers.draws import as_idata, make_draws
from tests.reference.monte_carlo import assert_means_agree

pytestmark = pytest.mark.usefixtures("interpreted")

PLANTED = bid.datasets.make_planted(rows=30, columns=8, rank=3, noise=0.3, seed=4)
A = PLANTED.A
VALUES = A.to_numpy()
J = [1, 4, 6]
OTHER = [0, 4]


@pytest.fixture(scope="module")
def idata():
    # The first set is visited twice as often as the second.
    return make_draws(VALUES, [J, J, OTHER], draws=75, labels=A.columns)


def flat(idata):
    posterior = idata["posterior"]
    r = np.asarray(posterior["r"]).reshape(-1, 8)
    return r, np.asarray(posterior["Y"]).reshape(-1, 8, 8)


def quietly(*args, **kwargs):
    """These chains were made up, and the verdict on them is not what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return bid.decompose(*args, **kwargs)


def by_hand(idata, chosen):
    """W of every draw with exactly the chosen columns."""
    r, Y = flat(idata)
    found = []
    for state, weights in zip(r, Y, strict=True):
        if list(np.flatnonzero(state)) == chosen:
            W = weights[chosen].copy()
            W[:, chosen] = np.eye(len(chosen))
            found.append(W)
    return np.array(found)


def test_columns_and_weights_are_those_of_numpy(idata):
    result = quietly(idata, A, ci_prob=0.9)
    W = by_hand(idata, J)
    assert result.columns == list(A.columns[J])
    assert result.data.attrs["weights_from"] == "draws"
    assert result.data.attrs["draws_used"] == len(W) == 100
    np.testing.assert_array_equal(result.C, VALUES[:, J])
    np.testing.assert_allclose(result.W, W.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.W_sd, W.std(axis=0), atol=1e-9)
    np.testing.assert_allclose(result.W_interval, np.quantile(W, [0.05, 0.95], axis=0), atol=1e-12)
    np.testing.assert_allclose(result.reconstruct(), VALUES[:, J] @ W.mean(axis=0), rtol=1e-12)
    expected = np.mean((VALUES - VALUES[:, J] @ W.mean(axis=0)) ** 2)
    assert result.mse == pytest.approx(expected)


def test_the_identity_is_exact_and_weights_keep_their_bounds(idata):
    result = quietly(idata, A)
    np.testing.assert_array_equal(result.W[:, J], np.eye(3))
    np.testing.assert_array_equal(result.W_sd[:, J], 0)
    for bound in result.W_interval:
        np.testing.assert_array_equal(bound[:, J], np.eye(3))
    assert float(np.abs(result.W).max()) <= 1
    assert float(np.abs(result.W_interval).max()) <= 1


def test_errors_before_and_after_are_those_of_numpy(idata):
    result = quietly(idata, A)
    before, after = [], []
    for state, weights in zip(*flat(idata), strict=True):
        chosen = np.flatnonzero(state)
        W = weights[chosen].copy()
        before.append(np.mean((VALUES - VALUES[:, chosen] @ W) ** 2))
        W[:, chosen] = np.eye(chosen.size)
        after.append(np.mean((VALUES - VALUES[:, chosen] @ W) ** 2))
    np.testing.assert_allclose(np.ravel(result.error_before), before, rtol=1e-9)
    np.testing.assert_allclose(np.ravel(result.error_after), after, rtol=1e-9)
    assert result.errors.iloc[1] == pytest.approx(np.mean(after))


def test_sizes_inclusion_and_sets_are_counted(idata):
    result = quietly(idata, A)
    r, _ = flat(idata)
    np.testing.assert_allclose(result.inclusion["inclusion"], r.mean(axis=0))
    assert result.size.to_dict() == pytest.approx({2: 1 / 3, 3: 2 / 3})
    assert result.sets["columns"].tolist() == [list(A.columns[J]), list(A.columns[OTHER])]
    np.testing.assert_allclose(result.sets["frequency"], [2 / 3, 1 / 3])
    assert result.sets["visits"].tolist() == [100, 50]


def test_with_the_identity_inside_entries_without_a_meaning_are_ignored():
    idata = make_draws(VALUES, [J], labels=A.columns, own_variance=True)
    posterior = read_group(idata, "posterior").copy(deep=True)
    posterior["Y"][..., J] = np.nan
    result = quietly(as_idata(posterior=posterior), A, minimum_draws=1)
    np.testing.assert_array_equal(result.error_before, result.error_after)
    assert np.isfinite(result.error_after).all()
    np.testing.assert_array_equal(result.W[:, J], np.eye(3))
    assert np.isfinite(result.W).all()
    # Here σ² is that of the interpolated columns already.
    np.testing.assert_array_equal(
        np.isin(result.data["noise_draws"], np.asarray(posterior["sigma2"])), True
    )


def test_with_a_pool_no_identity_is_put_in_place():
    rng = np.random.default_rng(3)
    pool = rng.normal(size=(30, 4))
    target = pool[:, [0, 2]] @ rng.uniform(-1, 1, (2, 5))
    r = np.zeros((2, 60, 4), int)
    r[..., [0, 2]] = 1
    Y = rng.uniform(-1, 1, (2, 60, 4, 5))
    dataset = xr.Dataset(
        {"r": (("chain", "draw", "basis"), r), "Y": (("chain", "draw", "basis", "column"), Y)}
    )
    result = quietly(as_idata(posterior=dataset), target, pool=pool)
    np.testing.assert_allclose(result.W, Y[:, :, [0, 2]].mean(axis=(0, 1)))
    np.testing.assert_array_equal(result.error_before, result.error_after)
    fit = np.einsum("mk,cdkl->cdml", pool[:, [0, 2]], Y[:, :, [0, 2]])
    np.testing.assert_allclose(result.error_after, ((target - fit) ** 2).mean(axis=(2, 3)))
    with pytest.raises(ValueError, match="noise variance, which was not stored"):
        result.transform(pool)


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        ("most visited", J),
        ("median probability", J),
        ("lowest error", J),
        (list(A.columns[OTHER]), OTHER),
        ([4, 0], OTHER),
        (np.isin(np.arange(8), OTHER), OTHER),
    ],
    ids=str,
)
def test_the_set_is_chosen_as_asked(idata, choose, expected):
    result = quietly(idata, A, choose=choose, minimum_draws=50)
    assert result.positions.tolist() == expected
    np.testing.assert_allclose(result.W, by_hand(idata, expected).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        ("best", "choose must be one of"),
        (["c00", "nobody"], "not in the data: .'nobody'"),
        ([0, 8], "position 8, there are 8"),
        (["c00", "c00"], "twice"),
        ([True, False], "mask of length 2"),
    ],
    ids=str,
)
def test_a_bad_choice_is_named(idata, choose, message):
    with pytest.raises(ValueError, match=message):
        bid.decompose(idata, A, choose=choose)


@pytest.mark.filterwarnings("ignore:not converged")
def test_few_draws_of_the_set_are_spoken_of(idata):
    with pytest.warns(UserWarning, match="Only 50 of the draws have exactly these 2 columns"):
        bid.decompose(idata, A, choose=OTHER)


def test_a_set_never_visited_needs_the_model(idata):
    with pytest.raises(ValueError, match=r"never visited together.*pass `model=`"):
        quietly(idata, A, choose=[0, 1])


@pytest.mark.filterwarnings("ignore:Only .* of the draws")
def test_chains_that_disagree_are_spoken_of():
    idata = make_draws(VALUES, [J], draws=40)
    posterior = read_group(idata, "posterior").copy(deep=True)
    posterior["r"][1] = 0
    with pytest.warns(UserWarning, match="hold different columns"):
        bid.decompose(as_idata(posterior=posterior), A, minimum_draws=1)


@pytest.mark.filterwarnings("ignore:not converged", "ignore:A has columns that are copies")
def test_twins_that_share_their_probability_are_a_group():
    rng = np.random.default_rng(1)
    twins = VALUES.copy()
    twins[:, 5] = twins[:, 1] + 0.01 * rng.normal(size=30)
    # Always one of columns 0, 2, 3, which look nothing like each other, in turn.
    idata = make_draws(twins, [[1, 0], [5, 2], [1, 3], [5, 0], [1, 2], [5, 3]])
    with pytest.warns(UserWarning, match="share it"):
        result = bid.decompose(
            idata, twins, choose="median probability", model=bid.gbt(twins), random_seed=1
        )
    assert result.columns == []
    assert [1, 5] in result.groups["columns"].tolist()
    assert [0, 2, 3] in result.groups["columns"].tolist()
    np.testing.assert_allclose(result.groups[["probability", "expected"]], 1.0)


def test_netcdf_round_trip_and_repr(idata, tmp_path):
    result = quietly(idata, A)
    result.to_netcdf(tmp_path / "result.nc")
    again = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "result.nc")
    xr.testing.assert_allclose(again.to_xarray(), result.to_xarray())
    assert again.columns == result.columns
    assert repr(again) == repr(result)
    for words in ("3 of 8: c01, c04, c06", "100 draws with exactly", "before", "after"):
        assert words in repr(result)


def test_draws_without_columns_have_an_empty_decomposition(tmp_path):
    idata = make_draws(VALUES, [[]], draws=20)
    result = quietly(idata, A, minimum_draws=1)
    assert result.columns == [] and result.W.shape == (0, 8)
    assert result.mse == pytest.approx(np.mean(VALUES**2))
    prediction = result.transform(VALUES[:3])
    np.testing.assert_allclose(prediction["mean"], 0)
    assert "0 of 8" in repr(result)
    result.to_netcdf(tmp_path / "empty.nc")
    again = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "empty.nc")
    assert again.columns == [] and again.W.shape == (0, 8) and repr(again) == repr(result)


def test_y_is_never_copied():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20, 60))
    idata = make_draws(data, [range(5)], draws=200)
    size = idata["posterior"]["Y"].nbytes
    quietly(idata, data)
    tracemalloc.start()
    quietly(idata, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * size


@pytest.mark.parametrize(
    ("spoil", "data", "message"),
    [
        (lambda p: p.drop_vars("r"), A, "no variable 'r' in the posterior; it has Y, sigma2"),
        (lambda p: p.rename(r="Y", Y="r"), A, "r has 2 dimensions"),
        (lambda p: p.assign(r=p["r"] + 0.5), A, "other than 0 and 1"),
        (lambda p: p.isel(draw=slice(0)), A, "no draws: 2 chains of 0 draws"),
        (lambda p: p.isel(column=slice(3)), A, "Y is 8 × 3 in the posterior.*need 8 × 8"),
        (lambda p: p, VALUES[:, :5], "A has 5 columns, r has 8"),
        (lambda p: p, A.rename(columns={"c03": "x"}), "labels of A and of idata differ, first 'x'"),
        (lambda p: p.drop_vars("Y"), A, "Y is not among the draws.*pass `model=`"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_use_says_what_is_missing(idata, spoil, data, message):
    spoilt = as_idata(posterior=spoil(read_group(idata, "posterior")))
    with pytest.raises(ValueError, match=message):
        quietly(spoilt, data)


def test_other_data_than_the_models_are_found_out(idata):
    posterior = read_group(idata, "posterior")
    observed = xr.Dataset({"A": (("row", "column"), VALUES)})
    with_data = as_idata(posterior=posterior, observed_data=observed)
    with pytest.raises(ValueError, match="other entries"):
        bid.decompose(with_data, A * 2)
    with pytest.raises(ValueError, match=r"A has shape \(29, 8\)"):
        bid.decompose(with_data, A.iloc[1:])
    with pytest.raises(ValueError, match="no posterior group"):
        bid.decompose(as_idata(observed_data=observed), A)
    with pytest.raises(ValueError, match="ci_prob"):
        bid.decompose(with_data, A, ci_prob=2)


@pytest.fixture(scope="module")
def model():
    return bid.gbt(A, k=3)


@pytest.fixture(scope="module")
def sampled(model):
    with model:
        return pm.sample(
            draws=400,
            tune=200,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )


def test_weights_drawn_for_the_set_are_those_of_the_draws(model, sampled):
    of_draws = quietly(sampled, A)
    without = as_idata(
        posterior=read_group(sampled, "posterior").drop_vars("Y"),
        sample_stats=read_group(sampled, "sample_stats"),
    )
    made = quietly(without, A, model=model, random_seed=2)
    assert made.columns == of_draws.columns == PLANTED.columns
    assert made.data.attrs["weights_from"] == "conditional"
    np.testing.assert_array_equal(made.W[:, made.positions], np.eye(3))
    np.testing.assert_allclose(made.error_before, of_draws.error_before, rtol=1e-6)
    assert np.isnan(made.error_after).all() and "unknown" in repr(made)
    kept = [np.reshape(result.data["W_draws"].values, (500, -1)) for result in (made, of_draws)]
    assert_means_agree(*kept, label="W", alpha=1e-5)
    assert_means_agree(*(values**2 for values in kept), label="W²", alpha=1e-5)
    with model:
        inside = quietly(without, A, random_seed=2)
    np.testing.assert_array_equal(inside.W, made.W)


def test_weights_for_a_set_of_ones_own_come_from_the_model(model, sampled):
    result = quietly(sampled, A, choose=[0, 1], model=model, random_seed=1)
    assert result.data.attrs["weights_from"] == "conditional"
    best = np.linalg.lstsq(VALUES[:, :2], VALUES, rcond=None)[0]
    inside = (np.abs(best) < 0.4).all(axis=0)
    assert inside.any()
    # Far from the bounds the prior N(0, 1) hardly matters, and W is that of least squares.
    difference = np.abs(result.W.values - best)[:, inside]
    assert (difference < 0.5 * result.W_sd.values[:, inside] + 0.05).all()


@pytest.mark.parametrize("stored", [None, ["r", "sigma2"]], ids=["all", "no Y"])
def test_the_model_with_the_identity_inside(stored):
    with bid.gbt(A, identity=True) as model:
        idata = pm.sample(
            draws=120,
            tune=150,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=stored,
        )
        result = quietly(idata, A, random_seed=1)
    assert result.columns == PLANTED.columns
    assert result.data.attrs["identity"]
    assert result.data.attrs["weights_from"] == ("draws" if stored is None else "conditional")
    reported = np.asarray(idata["sample_stats"]["bid_mse"])
    np.testing.assert_allclose(result.error_before, reported, rtol=1e-9)
    np.testing.assert_array_equal(result.error_before, result.error_after)
    np.testing.assert_array_equal(result.W[:, result.positions], np.eye(3))
    sigma2 = float(idata["posterior"]["sigma2"].mean())
    assert float(result.data["noise_draws"].mean()) == pytest.approx(sigma2, rel=0.1)
    if stored is None:
        theirs = pm.compute_log_likelihood(
            idata, model=model, progressbar=False, extend_inferencedata=False
        )["A"]
        ours = bid.log_likelihood(idata, A, by="entry")["log_likelihood"]["A"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_model_with_more_variables_is_refused(sampled):
    with pm.Model() as more:
        r = bid.StateVector("r", p=0.5, n=8)
        tau = pm.Gamma("tau", 2, 2)
        Y = pm.TruncatedNormal("Y", 0, tau=tau, lower=-1, upper=1, shape=(8, 8))
        sigma2 = pm.InverseGamma("sigma2", 0.1, 1)
        pm.Normal("A", mu=(VALUES * r) @ Y, sigma=pm.math.sqrt(sigma2), observed=VALUES)
    with pytest.raises(TypeError, match="free variables tau"):
        quietly(sampled, A, choose=[0, 1], model=more)
