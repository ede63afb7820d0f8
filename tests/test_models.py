"""The constructors: variables, labels, and what happens with input that is not as it should be."""

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.inputs import read_matrix
from tests.helpers.cases import run_points

pytestmark = pytest.mark.usefixtures("interpreted")

A = np.random.default_rng(0).normal(size=(8, 4))


def sample(model, draws=20):
    with model:
        return pm.sample(
            draws=draws,
            tune=10,
            chains=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )["posterior"]


def with_identity(data, k):
    return bid.gbt(data, k=k, identity=True)


def assert_sane(draws, bounds=(-1.0, 1.0)):
    for name, values in draws.items():
        assert np.isfinite(values).all(), name
    assert ((draws["Y"] >= bounds[0]) & (draws["Y"] <= bounds[1])).all()
    assert (draws["sigma2"] > 0).all()
    assert np.isin(draws["r"], (0, 1)).all()


@pytest.mark.parametrize("constructor", [bid.gbt, bid.gbtn])
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize(
    "bounds", [(-1, 1), (-2, 2), (0, None), (None, 0.5), None, (-np.inf, np.inf)]
)
def test_every_model_draws_within_its_bounds(constructor, k, bounds):
    draws = run_points(constructor(A, k=k, bounds=bounds))
    lower, upper = bounds if bounds is not None else (None, None)
    assert_sane(draws, (-np.inf if lower is None else lower, np.inf if upper is None else upper))
    if k is not None:
        assert (draws["r"].sum(axis=1) == k).all()


def test_labels_of_a_data_frame_become_coords():
    frame = pd.DataFrame(A, index=[f"cell {i}" for i in range(8)], columns=list("abcd"))
    pool = pd.DataFrame(A[:, :3], index=frame.index, columns=["x", "y", "z"])
    model = bid.gbtn(frame, pool=pool)
    assert list(model.coords["column"]) == list("abcd")
    assert list(model.coords["basis"]) == ["x", "y", "z"]
    assert list(model.coords["row"]) == list(frame.index)
    assert model.named_vars_to_dims["mu_tau"] == ("basis", "column", "hyperparameter")
    posterior = sample(model)
    assert list(posterior["Y"].coords["basis"].values) == ["x", "y", "z"]
    assert posterior["r"].dims == ("chain", "draw", "basis")


def test_labels_of_a_data_array_become_coords():
    array = xr.DataArray(A, dims=("time", "sensor"), coords={"sensor": list("abcd")})
    model = bid.gbt(array)
    assert list(model.coords["column"]) == list("abcd")
    assert list(model.coords["row"]) == list(range(8))


def test_the_graph_has_the_density_of_the_formula():
    from scipy import stats

    model = bid.gbt(A, tau=4.0, mu=0.2, bounds=(-2, 2), inclusion=0.3)
    point = model.initial_point(random_seed=3)
    r, Y, sigma2 = point["r"], np.full((4, 4), 0.1), 0.7
    expected = (
        stats.bernoulli.logpmf(r, 0.3).sum()
        + stats.invgamma.logpdf(sigma2, 0.1, scale=1.0)
        + stats.truncnorm.logpdf(Y, -4.4, 3.6, loc=0.2, scale=0.5).sum()
        + stats.norm.logpdf(A, (A * r) @ Y, np.sqrt(sigma2)).sum()
    )
    found = model.compile_logp()({**point, "Y": Y, "sigma2": np.array(sigma2)})
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_chains_start_from_different_states():
    model = bid.gbt(np.random.default_rng(0).normal(size=(5, 30)))
    starts = [model.initial_point(random_seed=seed)["r"] for seed in (1, 2)]
    assert (starts[0] != starts[1]).any()


def test_initvals_of_the_user_are_respected():
    given = np.zeros(30, dtype=int)
    given[:10] = 1
    with bid.gbt(np.random.default_rng(0).normal(size=(5, 30)), k=10):
        idata = pm.sample(
            draws=2,
            tune=0,
            chains=2,
            cores=1,
            initvals={"r": given},
            bid_swap={"scheme": "paper"},
            progressbar=False,
            compute_convergence_checks=False,
        )
    # One swap changes two entries; a start of the sampler's own would differ in many more.
    assert (np.abs(np.asarray(idata["posterior"]["r"])[:, 0] - given).sum(axis=1) <= 2).all()


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.zeros(4), ValueError, "A must be a matrix, but has 1 dim"),
        (np.zeros((2, 2, 2)), ValueError, "has 3 dimensions"),
        (np.zeros((0, 3)), ValueError, "A is empty"),
        (np.zeros((3, 0)), ValueError, "A is empty"),
        (pl.DataFrame(), ValueError, r"A is empty, its shape is \(0, 0\)"),
        ([["a", "b"]], TypeError, "A must hold real numbers"),
        (np.zeros((2, 2), dtype=complex), TypeError, "A must hold real numbers"),
        (np.array([[1.0, np.nan]]), ValueError, "nan or infinite.*column 1.*missing="),
        (np.array([[1.0, np.inf]]), ValueError, "entries that are infinite.*make them nan"),
        (np.ma.masked_greater(A, 0.5), ValueError, "nan or infinite"),
        (np.full((2, 2), 1e160), ValueError, "overflow; rescale"),
        (pd.DataFrame({"a": ["x"], "b": [1.0]}), TypeError, "A must hold .* column a is of type"),
        (pd.DataFrame({"b": [1.0], "d": [pd.Timestamp(0)]}), TypeError, "column d is of type date"),
        (pd.DataFrame({"b": [1.0], "o": [object()]}), TypeError, "column o is of type object"),
        (
            pd.DataFrame({"b": [1.0], "c": pd.Categorical(["u"])}),
            TypeError,
            "column c is of type c",
        ),
        (pd.DataFrame({"b": [1.0], "z": [1j]}), TypeError, "column z is of type complex"),
        (pl.DataFrame({"b": [1.0], "t": ["x"]}), TypeError, "column t is of type String"),
        (
            pd.DataFrame(A, columns=list("abab")),
            ValueError,
            "several columns .* called a, b; rename",
        ),
        (A + 1e10 * np.eye(4)[2], ValueError, "Column 2 of A lies further from 0 .*the means"),
        (bid.compress(A + 1e12), ValueError, "Column 0 of A lies further from 0"),
    ],
)
def test_bad_matrices_are_refused_by_name(data, error, message):
    with pytest.raises(error, match=message):
        bid.gbt(data)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": -1}, ValueError, "k must be between 0 and the 4 columns"),
        ({"k": 5}, ValueError, "k must be between"),
        ({"k": 2.0}, TypeError, "k must be an integer"),
        ({"k": True}, TypeError, "k must be an integer"),
        ({"bounds": (1, -1)}, ValueError, "lower < upper"),
        ({"bounds": (1, 1)}, ValueError, "lower < upper"),
        ({"bounds": (np.nan, 1)}, ValueError, "lower < upper"),
        ({"bounds": 1}, TypeError, "bounds must be"),
        ({"bounds": (1, 2, 3)}, TypeError, "bounds must be"),
        ({"bounds": (pt.dscalar("a"), 1)}, TypeError, "bounds must be"),
        ({"identity": True, "own_mean": pt.dscalar("a")}, TypeError, "own_mean must be"),
        ({"bounds": ("a", "b")}, TypeError, "bounds must be"),
        ({"pool": np.zeros((7, 2))}, ValueError, "pool has 7 rows, A has 8"),
        ({"pool": np.full((8, 2), np.nan)}, ValueError, "pool has 16 entries"),
        ({"tau": 10**400}, ValueError, "tau .* too large"),
        ({"bounds": (0, 10**400)}, ValueError, "upper bounds .* too large"),
        ({"tau": 0.0}, ValueError, "tau must be positive"),
        ({"tau": np.ones(3)}, ValueError, "tau has shape"),
        ({"mu": "x"}, TypeError, "mu must be a number"),
        ({"mu": np.inf}, ValueError, "mu must be finite"),
        ({"alpha_sigma": -1}, ValueError, "alpha_sigma must be positive"),
        ({"beta_sigma": np.nan}, ValueError, "beta_sigma must be positive"),
        ({"inclusion": 1.5}, ValueError, "inclusion must be between"),
        ({"inclusion": np.ones(3) / 2}, ValueError, "inclusion has shape"),
    ],
)
def test_bad_options_are_refused_by_name(options, error, message):
    with pytest.raises(error, match=message):
        bid.gbt(A, **options)


def test_variances_of_chosen_columns_have_a_prior_for_each():
    options = {"alpha_omega": np.array([1.0, 2.0, 1.0, 1.0]), "identity": True}
    assert_sane(run_points(bid.gbt(A, **options)))
    with pytest.raises(ValueError, match="alpha_omega has shape"):
        bid.gbt(A, **options | {"alpha_omega": np.ones(3)})


@pytest.mark.parametrize(
    "option", [{"tau_mu": 0}, {"alpha_t": -1}, {"beta_t": 0}, {"mu_mu": np.nan}]
)
def test_bad_hyperparameters_are_refused_by_name(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        bid.gbtn(A, **option)


def test_pool_with_other_row_labels_is_refused():
    frame = pd.DataFrame(A)
    with pytest.raises(ValueError, match="row labels"):
        bid.gbt(frame, pool=frame.iloc[::-1])


@pytest.mark.parametrize("k", [0, 4])
def test_no_swap_is_possible_with_no_or_all_columns(k):
    draws = run_points(bid.gbt(A, k=k))
    assert_sane(draws)
    assert (draws["r"].sum(axis=1) == k).all()


ZERO_COLUMN = A * np.array([1.0, 0.0, 1.0, 1.0])
READ_ONLY = A.copy()
READ_ONLY.setflags(write=False)


# Arrays of one entry are contiguous whatever they are views of: all kernels are compiled for them.
SINGLE = pytest.mark.slow


# The data, and what a model with the identity says of them.
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (np.zeros((4, 3)), "constant columns: 0, 1, 2"),
        (ZERO_COLUMN, "constant columns: 1"),
        pytest.param(A[:, :1], None, marks=SINGLE),
        (A[:1], "it takes 3 for columns|constant columns"),
        pytest.param(A[:1, :1], "it takes 3 for columns|constant columns", marks=SINGLE),
        ((10 * A).astype(np.int32), "mean square is far from 1"),
        (A > 0, None),
        (A.astype(np.float32), None),
        (A[::2, ::-1], None),
        (np.asfortranarray(A), None),
        (READ_ONLY, None),
        (1e-150 * A, "mean square is far from 1"),
        (1e150 * A, "mean square is far from 1"),
        (np.column_stack([A, A]), "copies of each other"),
    ],
    ids=[
        *("zero", "zero column", "one column", "one row", "one entry", "integer", "boolean"),
        *("float32", "view", "fortran", "read-only", "tiny", "huge", "duplicates"),
    ],
)
@pytest.mark.parametrize("k", [None, 1])
@pytest.mark.parametrize("constructor", [bid.gbt, bid.gbtn, with_identity])
def test_unusual_matrices_are_decomposed_and_never_written(constructor, k, data, said):
    before = data.copy()
    warned = said is not None and constructor is with_identity
    with pytest.warns(UserWarning, match=said) if warned else contextlib.nullcontext():
        model = constructor(data, k=k)
    assert_sane(run_points(model, draws=110))
    np.testing.assert_array_equal(data, before)


def test_prior_predictive_draws_work():
    with bid.gbtn(A, pool=A[:, :2]):
        prior = pm.sample_prior_predictive(draws=5, random_seed=0)
    assert prior["prior_predictive"]["A"].shape == (1, 5, 8, 4)


def test_prior_predictive_draws_with_the_identity_are_decompositions_of_themselves():
    matrix = 5.0 + np.random.default_rng(0).normal(size=(200, 4))
    with bid.gbt(matrix, k=2, identity=True, own_mean=5.0):
        prior = pm.sample_prior_predictive(draws=20, random_seed=0)
    drawn = {name: np.asarray(prior["prior"][name])[0] for name in ("r", "Y", "sigma2", "omega2")}
    for draw, matrix in enumerate(np.asarray(prior["prior_predictive"]["A"])[0]):
        chosen = drawn["r"][draw] == 1
        deviation = (matrix[:, chosen] - 5.0) / np.sqrt(drawn["omega2"][draw, chosen])
        fitted = matrix[:, chosen] @ drawn["Y"][draw][chosen][:, ~chosen]
        error = (matrix[:, ~chosen] - fitted) / np.sqrt(drawn["sigma2"][draw])
        # 400 standard normal numbers each.
        for standard in (deviation, error):
            assert abs(standard.mean()) < 0.3
            assert 0.7 < standard.std() < 1.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": A}, "leave out pool"),
        ({"own_mean": np.zeros(3)}, "own_mean has shape"),
        ({"alpha_omega": 0.0}, "alpha_omega"),
        ({"beta_omega": -1.0}, "beta_omega"),
    ],
)
def test_bad_options_of_the_identity_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        bid.gbt(A, identity=True, **options)


FRAME = pd.DataFrame(A, columns=list("abcd")).assign(a=[1, 0] * 4, b=[True, False] * 4)
TABLES = {
    "a column of true and false": FRAME,
    "nullable": FRAME.convert_dtypes(),
    "pyarrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "small": FRAME.astype({"c": "float32", "a": "UInt8", "d": "Float32"}),
    "polars": pl.DataFrame({name: FRAME[name].tolist() for name in FRAME}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("missing", [False, True])
def test_every_type_of_number_is_read(table, missing):
    expected = FRAME.to_numpy(dtype=float)
    if missing:
        expected[2, 1] = np.nan
        if isinstance(table, pl.DataFrame):
            holes = [None if row == 2 else value for row, value in enumerate(table["b"])]
            table = table.with_columns(pl.Series("b", holes))
        else:
            table = table.astype({"b": "boolean"}) if table["b"].dtype == bool else table.copy()
            table.loc[2, "b"] = pd.NA
    read = read_matrix(table, "A", "mask" if missing else None)
    assert read.columns.tolist() == list("abcd")
    seen = slice(None) if read.observed is None else read.observed
    np.testing.assert_allclose(read.values[seen], expected[seen], rtol=1e-6)
    if not missing:
        compressed = bid.compress(table)
        np.testing.assert_allclose(compressed.factor.T @ compressed.factor, expected.T @ expected)
        assert compressed.columns.tolist() == list("abcd")


def test_a_name_that_two_columns_have_is_refused_in_compression():
    with pytest.raises(ValueError, match="A has several columns that are called a; rename"):
        bid.compress(pd.DataFrame(A, columns=list("aabc")))


def contents(model):
    return {
        name: list(value) for name, value in vars(model).items() if isinstance(value, list | dict)
    }


@pytest.mark.parametrize("name", ["", "inner"])
def test_a_constructor_that_fails_within_a_model_leaves_nothing_behind(name):
    with pm.Model(coords={"place": list("wxyz")}) as outer:
        pm.Normal("z")
        with pm.Model(name=name) as inner:
            pm.Normal("omega2")
            before = contents(inner), contents(outer)
            with pytest.raises(ValueError, match="omega2 already exists"):
                bid.gbt(A, identity=True)
            assert (contents(inner), contents(outer)) == before
            model = bid.gbt(A, pool=A[:, :2])
    assert "z" in outer.named_vars
    assert model is inner
