"""What kernels can't start from is refused by name before they are called."""

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

A = np.random.default_rng(0).normal(size=(9, 4))
TAU = np.zeros((4, 4, 2))
WRONG = {
    "too many columns": ("r", np.ones(6, int), r"shape \(6,\): it needs \(4,\)"),
    "too few columns": ("r", np.ones(2, int), r"shape \(2,\)"),
    "two": ("r", np.array([0, 2, 0, 0]), "zeros and ones"),
    "minus one": ("r", np.array([0, -1, 1, 1]), "zeros and ones"),
    "a half": ("r", np.array([0.5, 0.5, 0.0, 0.0]), "zeros and ones"),
    "objects": ("r", np.array([0, 1, 0, 1], dtype=object), "values of type object"),
    "complex ones": ("r", np.array([0, 1, 0, 1], dtype=complex), "values of type complex"),
    "weights of another shape": ("Y", np.zeros((4, 3)), r"shape \(4, 3\): it needs \(4, 4\)"),
    "weights that are nan": ("Y", np.full((4, 4), np.nan), "finite"),
    "weights outside": ("Y", np.full((4, 4), 1.5), "1.5, outside of its bounds"),
    "noise that is nan": ("sigma2", np.array(np.nan), "finite"),
    "negative noise": ("sigma2", np.array(-1.0), "-1.0: it needs positive"),
    "noise of another shape": ("sigma2", np.ones(4), r"shape \(4,\): it needs \(\)"),
    "own variances of another shape": ("omega2", np.ones(3), r"shape \(3,\)"),
    "own variances of zero": ("omega2", np.zeros(4), "0.0: it needs positive"),
    "precisions of zero": ("mu_tau", TAU, "0.0: it needs positive"),
    "weights in words": ("Y", np.full((4, 4), "a"), "values of type"),
    "complex noise": ("sigma2", np.array(1j), "values of type complex"),
}


@pytest.fixture(scope="module")
def model():
    return bid.gbtn(A, k=2, identity=True)


@pytest.mark.parametrize("kind", [bid.SwapStep, bid.NoiseStep, bid.WeightStep])
@pytest.mark.parametrize(("name", "value", "message"), WRONG.values(), ids=WRONG)
def test_a_point_that_does_not_fit_is_refused(model, kind, name, value, message):
    updated = {bid.SwapStep: "r", bid.NoiseStep: "sigma2", bid.WeightStep: "Y"}[kind]
    with model:
        step = kind([model[updated]])
    point = model.initial_point(random_seed=2)
    assert np.shape(point[name]) != value.shape or not np.array_equal(point[name], value)
    with pytest.raises((TypeError, ValueError), match=f"^{name} can't start .*{message}"):
        step.step(point | {name: value})
    step.step(point)


def test_another_number_of_ones_is_refused_where_they_move(model):
    wrong = model.initial_point() | {"r": np.ones(4, int)}
    with model:
        weights, state = bid.WeightStep([model["Y"]]), bid.SwapStep([model["r"]])
    with pytest.raises(ValueError, match=r"^r can't start at \[1 1 1 1\]: it needs 2 ones"):
        state.step(wrong)
    # Weights are drawn of any set, as `decompose(choose=...)` asks for.
    weights.step(wrong)


def test_every_chain_of_a_process_is_looked_at():
    wrong = {"Y": np.full((4, 4), np.nan)}
    with bid.gbt(A, k=2), pytest.raises(ValueError, match="Y can't start at nan"):
        pm.sample(2, tune=2, chains=2, cores=1, initvals=[{}, wrong], progressbar=False)


def test_a_state_vector_that_is_data_is_looked_at():
    with pm.Model() as model:
        r = pm.Data("r", np.ones(4, int))
        Y = pm.TruncatedNormal("Y", 0.0, 1.0, lower=-1.0, upper=1.0, shape=(4, 4))
        sigma2 = pm.InverseGamma("sigma2", 1.0, 1.0)
        pm.Normal("A", (A * r) @ Y, pm.math.sqrt(sigma2), observed=A)
        step = bid.WeightStep([Y])
    step.step(model.initial_point())
    with model:
        pm.set_data({"r": np.array([0, 3, 0, 0])})
    step.rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"^r (is no state vector|can't start)"):
        step.step(model.initial_point())


@pytest.mark.parametrize("kind", [bid.SwapStep, bid.NoiseStep, bid.WeightStep])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("r", np.ones(6, int), r"r can't start with shape \(6,\)"),
        ("Y", np.zeros((8, 3)), r"Y can't start with shape \(8, 3\)"),
        ("r", np.array([0, 2, 0, 0]), r"r is \[0 2 0 0\]: it needs zeros and ones"),
        ("r", np.array([0, -1, 0, 0]), r"r is \[ 0 -1  0  0\]: it needs zeros and ones"),
    ],
)
def test_what_another_step_has_spoilt_is_refused(model, kind, name, value, message):
    updated = {bid.SwapStep: "r", bid.NoiseStep: "sigma2", bid.WeightStep: "Y"}[kind]
    with model:
        step = kind([model[updated]])
    point, _ = step.step(model.initial_point())
    with pytest.raises(ValueError, match=message):
        step.step(point | {name: value})


@pytest.mark.parametrize("kind", [bid.FlipStep, bid.NoiseStep, bid.WeightStep])
def test_data_of_another_shape_are_refused_between_iterations(kind):
    updated = {bid.FlipStep: "r", bid.NoiseStep: "sigma2", bid.WeightStep: "Y"}[kind]
    model = bid.gbt(A, identity=True)
    with model:
        step = kind([model[updated]])
    point, _ = step.step(model.initial_point())
    with model:
        coords = {dim: list("abcdef") for dim in ("column", "basis")}
        pm.set_data({"target": np.zeros((9, 6)), "own_mean": np.zeros(6)}, coords=coords)
    with pytest.raises(ValueError, match=r"r can't start with shape \(4,\): it needs \(6,\)"):
        step.step(point)
    # Nor do replicas fit where all else does.
    shapes = {"r": 6, "sigma2": (), "omega2": 6, "Y": (6, 6)}
    point = {name: np.ones(shape, point[name].dtype) for name, shape in shapes.items()}
    if kind is bid.FlipStep:
        with pytest.raises(ValueError, match="made for 4 columns that explain 4"):
            step.step(point)
    else:
        step.step(point)


def test_parameters_that_a_chain_cannot_start_from_are_named():
    with pm.Model() as model:
        tau = pm.Normal("tau")
        share = pm.Normal("share")
        bid.gbt(A, tau=tau, inclusion=share)
        weights, state = bid.WeightStep([model["Y"]]), bid.FlipStep([model["r"]])
    point = model.initial_point()
    with pytest.raises(ValueError, match=r"prior of Y has the precision nan .* positive"):
        weights.step(point | {"tau": np.array(np.nan)})
    with (
        bid.gbt(A, mu=-1e300) as far,
        pytest.raises(ValueError, match=r"^Y can't start where its prior has the mean -1e\+300"),
    ):
        bid.WeightStep([far["Y"]]).step(far.initial_point())
    with pytest.raises(ValueError, match="r can't start where the prior probability of its entry"):
        state.step(point | {"tau": np.array(1.0), "share": np.array(2.0)})


@pytest.mark.parametrize("name", ["sigma2", "Y"])
def test_a_step_that_would_draw_a_nan_says_what_it_was_given(model, name, monkeypatch):
    with model:
        step = bid.WeightStep([model["Y"]])
    point = model.initial_point()
    monkeypatch.setattr(step, "update", lambda point: (point | {name: point[name] * np.nan}, [{}]))
    with pytest.raises(FloatingPointError, match=f"WeightStep .* nan for {name}, given r from 0"):
        step.step(point)
