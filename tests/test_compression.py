"""A compressed matrix gives the posterior of the matrix, whatever kind of matrix it was."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import scipy.sparse
import xarray as xr

import pymc_bid as bid
from pymc_bid import compression
from tests.helpers.cases import run_points

pytestmark = pytest.mark.usefixtures("interpreted")

ROWS, COLUMNS = 70, 6
LABELS = [f"gene {number}" for number in range(COLUMNS)]
MODELS = {
    "paper": {},
    "paper, k": {"k": 2},
    "identity": {"identity": True, "own_mean": np.linspace(-0.5, 0.5, COLUMNS)},
    "identity, k": {"identity": True, "k": 2},
}


@pytest.fixture(scope="module")
def matrix():
    planted = bid.datasets.make_planted(rows=ROWS, columns=COLUMNS, rank=3, noise=0.3, seed=1)
    values = planted.A.to_numpy() + 0.3
    values[::3] = 0.0
    return values


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few rows, so that small matrices have several."""
    monkeypatch.setattr(compression, "_BLOCK_BYTES", 8 * 17 * (COLUMNS + 1))


def as_memory_map(values, folder):
    mapped = np.memmap(folder / "matrix", dtype=np.float64, mode="w+", shape=values.shape)
    mapped[:] = values
    return np.memmap(folder / "matrix", dtype=np.float64, mode="r", shape=values.shape)


def as_dask(values, folder):
    return pytest.importorskip("dask.array").from_array(values, chunks=(20, 4))


def as_dask_of_unknown_length(values, folder):
    array = as_dask(values, folder)
    return array[array[:, 0] > -np.inf]


def as_zarr(values, folder):
    stored = pytest.importorskip("zarr").create_array(
        store=str(folder / "matrix.zarr"), shape=values.shape, chunks=(20, 4), dtype="f8"
    )
    stored[:] = values
    return stored


KINDS = {
    "array": lambda values, folder: values,
    "list": lambda values, folder: values.tolist(),
    "memory map": as_memory_map,
    "csr": lambda values, folder: scipy.sparse.csr_array(values),
    "coo": lambda values, folder: scipy.sparse.coo_matrix(values),
    "dask": as_dask,
    "dask of unknown length": as_dask_of_unknown_length,
    "zarr": as_zarr,
}


@pytest.mark.parametrize("kind", KINDS)
def test_factor_is_that_of_the_matrix(kind, matrix, tmp_path):
    compressed = bid.compress(KINDS[kind](matrix, tmp_path))
    expected = np.linalg.qr(np.hstack([np.ones((ROWS, 1)), matrix]), mode="r")
    expected *= np.sign(np.diagonal(expected))[:, None]
    np.testing.assert_allclose(compressed.factor, expected[:, 1:], atol=1e-13)
    assert compressed.shape == matrix.shape
    np.testing.assert_allclose(compressed.mean, matrix.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(compressed.variance, matrix.var(axis=0), rtol=1e-12)


def test_a_nearly_perfect_fit_survives():
    rng = np.random.default_rng(2)
    basis = rng.normal(size=(500, 2))
    noise = 1e-9 * rng.normal(size=500)
    matrix = np.column_stack([basis, basis @ [0.5, -0.5] + noise])
    factor = bid.compress(matrix).factor
    left = factor[:, 2] - factor[:, :2] @ [0.5, -0.5]
    np.testing.assert_allclose(left @ left, noise @ noise, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 3, COLUMNS + 1])
def test_few_rows(rows, matrix):
    few = matrix[1 : rows + 1]
    compressed = bid.compress(few)
    assert len(compressed.factor) == rows
    np.testing.assert_allclose(compressed.factor.T @ compressed.factor, few.T @ few, atol=1e-13)


def test_standardised_like_the_matrix(matrix):
    matrix = np.column_stack([matrix, np.full(ROWS, 0.1)])
    compressed = bid.compress(matrix).standardise()
    expected = matrix - matrix.mean(axis=0)
    expected[:, -1] = 0.0
    expected[:, :-1] /= expected[:, :-1].std(axis=0)
    np.testing.assert_allclose(
        compressed.factor.T @ compressed.factor, expected.T @ expected, atol=1e-10
    )
    np.testing.assert_allclose(compressed.mean, 0.0, atol=1e-15)


def log_density(model):
    """The log likelihood as a function of a point, compiled in little time."""
    return model.compile_logp(vars=[model["A"]], mode="FAST_COMPILE")


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_density_is_that_of_the_matrix(options, matrix):
    whole, compressed = bid.gbt(matrix, **options), bid.gbt(bid.compress(matrix), **options)
    densities = log_density(whole), log_density(compressed)
    for seed in range(3):
        point = whole.initial_point(random_seed=seed)
        point["Y"] = np.random.default_rng(seed).uniform(-1, 1, size=point["Y"].shape)
        expected, found = (density(point) for density in densities)
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("model", [bid.gbt, bid.gbtn])
def test_draws_are_those_of_the_matrix(model, options, matrix):
    whole, compressed = (run_points(model(A, **options)) for A in (matrix, bid.compress(matrix)))
    for name, values in whole.items():
        np.testing.assert_allclose(compressed[name], values, atol=1e-9, err_msg=name)


def test_a_graph_written_by_hand_is_served(matrix):
    A = bid.compress(matrix)
    with pm.Model() as by_hand:
        r = bid.StateVector("r", p=0.5, n=COLUMNS)
        sigma2 = pm.InverseGamma("sigma2", 0.1, 1, default_transform=None)
        Y = pm.TruncatedNormal(
            *("Y", 0, 1), lower=-1, upper=1, shape=(COLUMNS, COLUMNS), default_transform=None
        )
        mean = (A.factor * r) @ Y
        bid.CompressedNormal("A", mean, sigma2**0.5, A.number_of_rows, observed=A.factor)
    drawn, expected = run_points(by_hand), run_points(bid.gbt(matrix))
    for name, values in expected.items():
        np.testing.assert_allclose(drawn[name], values, atol=1e-9, err_msg=name)


def test_new_data_are_read_with_their_number_of_rows(matrix):
    other = bid.compress(np.tile(matrix[:40], (3, 1)))
    model = bid.gbt(bid.compress(matrix), identity=True, own_mean=0.2)
    with model:
        step = bid.NoiseStep(model["sigma2"])
        pm.set_data({"target": other.factor, "number_of_rows": other.number_of_rows})
    fresh = bid.gbt(other, identity=True, own_mean=0.2)
    point = fresh.initial_point(random_seed=1)
    np.testing.assert_allclose(log_density(model)(point), log_density(fresh)(point), rtol=1e-12)
    step.decomposition.refresh()
    assert (step.decomposition.regression().products.rows == 120).all()
    np.testing.assert_allclose(
        step.decomposition.own_columns(point).log_densities,
        bid.NoiseStep(fresh["sigma2"], model=fresh).decomposition.own_columns(point).log_densities,
        rtol=1e-12,
    )


@pytest.fixture(scope="module", params=["paper", "identity"])
def fitted(request, matrix):
    """Draws from the compressed matrix, and the decomposition that they and the matrix give."""
    frame = pd.DataFrame(matrix, columns=LABELS)
    results = []
    for A in (frame, bid.compress(frame)):
        with bid.gbt(A, identity=request.param == "identity"):
            idata = pm.sample(
                draws=40,
                tune=40,
                chains=1,
                random_seed=3,
                progressbar=False,
                compute_convergence_checks=False,
            )
        results.append(idata)
    return frame, *results


@pytest.mark.filterwarnings("ignore:Only .* of the draws")
def test_decompositions_agree(fitted):
    frame, whole, compressed = fitted
    expected = bid.decompose(whole, frame)
    for A in (bid.compress(frame), frame):
        found = bid.decompose(compressed, A)
        assert found.columns == expected.columns
        np.testing.assert_allclose(found.W, expected.W, atol=1e-9)
        np.testing.assert_allclose(found.mse, expected.mse, rtol=1e-9)
        np.testing.assert_allclose(found.error_after, expected.error_after, rtol=1e-9)
        np.testing.assert_allclose(
            found.to_xarray()["noise_draws"], expected.to_xarray()["noise_draws"], rtol=1e-9
        )
    np.testing.assert_allclose(found.C, frame[expected.columns])


def test_log_likelihood_needs_the_rows(fitted):
    frame, whole, compressed = fitted
    with pytest.raises(TypeError, match="no rows to leave out"):
        bid.log_likelihood(compressed, bid.compress(frame))
    values = [
        np.asarray(bid.log_likelihood(idata, frame)["log_likelihood"]["A"])
        for idata in (whole, compressed)
    ]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9)


def test_draws_of_other_data_are_refused(fitted):
    frame, whole, compressed = fitted
    for A in (bid.compress(2 * frame), 2 * frame):
        with pytest.raises(ValueError, match="inner products of its columns differ"):
            bid.decompose(compressed, A)
    with pytest.raises(ValueError, match=r"shape \(69, 6\), the model was given .*\(70, 6\)"):
        bid.decompose(whole, bid.compress(frame.iloc[1:]))


def test_labels_come_along(matrix):
    frame = pd.DataFrame(matrix, columns=LABELS)
    array = xr.DataArray(matrix, dims=("cell", "gene"), coords={"gene": LABELS})
    for labelled in (frame, array):
        assert bid.compress(labelled).columns.tolist() == LABELS
    assert list(bid.gbt(bid.compress(array)).coords["column"]) == LABELS
    assert bid.compress(xr.DataArray(matrix)).columns is None


def test_compressed_matrices_do_not_change(matrix):
    compressed = bid.compress(matrix)
    with pytest.raises(ValueError, match="read-only"):
        compressed.factor[0, 0] = 1.0
    with pytest.raises(AttributeError):
        compressed.number_of_rows = 1
    assert repr(compressed) == "CompressedMatrix(70 × 6, kept as 7 × 6)"


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (np.ones(3), ValueError, "must be a matrix"),
        (np.ones((0, 3)), ValueError, "is empty"),
        (np.array([["a", "b"]]), TypeError, "must hold real numbers"),
        (np.array([[1.0, np.nan]]), ValueError, "nan or infinite"),
        (np.array([[1e300, 1.0]]), ValueError, "overflow"),
    ],
)
def test_what_is_no_matrix_is_refused(bad, error, message):
    with pytest.raises(error, match=message):
        bid.compress(bad)


def test_what_models_refuse(matrix):
    with pytest.raises(TypeError, match="compressed already"):
        bid.compress(bid.compress(matrix))
    with pytest.raises(TypeError, match="transformed alike"):
        bid.gbt(bid.compress(matrix), pool=matrix)
    with pytest.raises(TypeError, match=r"pass bid\.compress\(A\)"):
        bid.gbt(scipy.sparse.csr_array(matrix))


PEAK = """
import resource, sys
import numpy as np, scipy.sparse, pymc_bid as bid
{prepare}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
compressed = bid.compress(matrix)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(compressed.shape[0], before / 2**10, after / 2**10)
"""
SPARSE = """
rng = np.random.default_rng(0)
matrix = scipy.sparse.random_array((1_000_000, 300), density=0.001, format="csr", rng=rng)
"""
DASK = """
import dask.array, zarr
folder = {folder!r}
rng = np.random.default_rng(0)
stored = zarr.create_array(
    store=folder, shape=(1_000_000, 200), chunks=(20_000, 200), dtype="f8", compressors=None
)
for first in range(0, 1_000_000, 20_000):
    stored[first : first + 20_000] = rng.normal(size=(20_000, 200))
matrix = dask.array.from_zarr(folder)
"""


def peak_memory(prepare):
    """Rows, and the process's peak memory in MiB before and after compressing."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEAK.format(prepare=prepare)],
        # The threads of dask and those of BLAS would compete.
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in result.stdout.split()]


@pytest.mark.slow
def test_a_million_sparse_rows_are_never_dense():
    rows, before, after = peak_memory(SPARSE)
    assert rows == 1e6
    # Dense it would take 2289 MiB.
    assert after - before < 500


@pytest.mark.slow
def test_a_million_rows_of_a_dask_array_take_less_than_a_gibibyte(tmp_path):
    pytest.importorskip("dask.array")
    pytest.importorskip("zarr")
    rows, _, after = peak_memory(DASK.format(folder=str(tmp_path / "matrix.zarr")))
    assert rows == 1e6
    assert after < 1024
