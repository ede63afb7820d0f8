"""Running means are those of the draws that were not kept, and every k-th Y is that of its draw."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_bid as bid

LABELS = [f"c{number}" for number in range(5)]
DRAWS, EVERY = 25, 4


def sample(**options):
    return pm.sample(
        draws=DRAWS,
        tune=30,
        chains=2,
        cores=1,
        random_seed=6,
        progressbar=False,
        compute_convergence_checks=False,
        **options,
    )


@pytest.fixture(scope="module")
def frame():
    values = bid.datasets.make_planted(rows=40, columns=5, rank=2, noise=0.5, seed=2).A.to_numpy()
    return pd.DataFrame(values, columns=LABELS)


@pytest.fixture(scope="module", params=["identity", "paper", "pool"])
def run(request, frame):
    """A run with everything kept, to compare with, and its running means."""
    options = {
        "identity": {"identity": True},
        "paper": {"k": 2},
        "pool": {"pool": frame.iloc[:, ::-1] + 0.1},
    }[request.param]
    with bid.gbt(frame, **options) as model:
        keep = bid.RunningMeans(every=EVERY)
        return request.param, model, keep, sample(callback=keep)


def weights_with_identity(kind, idata):
    """W of each draw with its zeros, written out."""
    r, Y = (np.asarray(idata["posterior"][name]) for name in ("r", "Y"))
    W = (r[..., None] * Y).reshape(-1, *Y.shape[2:])
    if kind != "pool":
        for state, weights in zip(r.reshape(len(W), -1), W, strict=True):
            for column in np.flatnonzero(state):
                weights[:, column] = 0.0
                weights[column, column] = 1.0
    return W


def test_means_are_those_of_all_draws(run, frame):
    kind, model, keep, idata = run
    W = weights_with_identity(kind, idata)
    assert keep.number == 2 * DRAWS
    np.testing.assert_allclose(keep.W, W.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(keep.W_sd, W.std(axis=0), atol=1e-12)
    r = np.asarray(idata["posterior"]["r"])
    np.testing.assert_allclose(keep.inclusion, r.mean(axis=(0, 1)), atol=1e-13)
    candidates = model["pool"].get_value() if kind == "pool" else frame.to_numpy()
    np.testing.assert_allclose(
        keep.reconstruction(candidates), (candidates @ W).mean(axis=0), atol=1e-12
    )
    assert list(keep.W.coords["column"].values) == LABELS
    assert keep.inclusion.dims == ("basis",)


def test_every_kth_draw_comes_with_its_weights(run):
    _, _, keep, idata = run
    few = keep.thinned(idata)
    assert type(few) is type(idata)
    for name in idata["posterior"].data_vars:
        np.testing.assert_array_equal(
            few["posterior"][name], idata["posterior"][name][:, ::EVERY], err_msg=name
        )
    assert list(few["posterior"]["Y"].coords["column"].values) == LABELS
    np.testing.assert_array_equal(
        few["sample_stats"]["bid_mse"], idata["sample_stats"]["bid_mse"][:, ::EVERY]
    )


@pytest.fixture(scope="module")
def without_weights(frame):
    """A run of which Y is left out."""
    with bid.gbtn(frame, identity=True) as model:
        keep = bid.RunningMeans(every=5)
        return model, keep, sample(callback=keep, var_names=keep.var_names)


def test_weights_are_left_out_of_the_trace(without_weights):
    _, keep, idata = without_weights
    assert set(keep.var_names) == {"r", "K", "sigma2", "omega2"}
    assert set(idata["posterior"].data_vars) == set(keep.var_names)


@pytest.mark.filterwarnings("ignore:Only .* of the draws", "ignore:.*converge", "ignore:.*agree")
def test_decompose_works_from_either(without_weights, frame):
    model, keep, idata = without_weights
    few = bid.decompose(keep.thinned(idata), frame)
    assert few.to_xarray().attrs["weights_from"] == "draws"
    assert np.isfinite(few.error_after).all()
    drawn = bid.decompose(idata, frame, model=model, random_seed=1)
    assert drawn.to_xarray().attrs["weights_from"] == "conditional"
    np.testing.assert_allclose(drawn.error_after, idata["sample_stats"]["bid_mse"])
    with pytest.raises(ValueError, match=r"Y is not among the draws.*pass `model=`"):
        bid.decompose(idata, frame)


def test_weights_with_a_transform_and_a_second_run(frame):
    values = frame.to_numpy()
    with pm.Model():
        r = bid.StateVector("r", k=2, n=5)
        sigma2 = pm.InverseGamma("sigma2", 0.1, 1)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(5, 5))
        pm.Normal("A", mu=(values * r) @ Y, sigma=pm.math.sqrt(sigma2), observed=values)
        keep = bid.RunningMeans()
        for _ in range(2):
            idata = sample(callback=keep)
    assert keep.number == 2 * DRAWS
    np.testing.assert_allclose(
        keep.W, weights_with_identity("paper", idata).mean(axis=0), atol=1e-12
    )
    with pytest.raises(ValueError, match="No Y was kept"):
        keep.thinned(idata)


def test_what_is_refused(run, frame):
    _, model, keep, idata = run
    with pytest.raises(ValueError, match="every must be a positive integer"):
        bid.RunningMeans(model, every=0)
    with pytest.raises(ValueError, match="No draws were seen"):
        bid.RunningMeans(model).W  # noqa: B018
    with pytest.raises(ValueError, match="idata is that of another run"):
        other = bid.RunningMeans(model, every=2)
        other.number = 1
        other.thinned(idata)
    with pytest.raises(ValueError, match="A has 3 columns"):
        keep.reconstruction(frame.iloc[:, :3])
    with pm.Model() as plain:
        pm.Normal("x")
    with pytest.raises(TypeError, match="0 decompositions"):
        bid.RunningMeans(plain)
