"""Post-processing on the paper's data, and its cost on draws of their size."""

import resource
import time
import warnings

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_bid as bid
from tests.helpers.draws import as_idata

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "k"), [("ec50", None), ("ec50", 10), ("ic50", 10)])
def test_errors_of_drug_sensitivity(paper_data, name, k):
    data = bid.datasets.load(f"ccle_{name}", paper_data)
    A = bid.datasets.prepare(data, duplicates=1).to_numpy()
    with bid.gbt(A, k=k) as model:
        idata = pm.sample(
            draws=300,
            tune=600,
            chains=4,
            cores=2,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = bid.decompose(idata, A, model=model, random_seed=1)
    print(result)
    assert result.mse <= float(result.error_before.mean())
    assert float(np.abs(result.W).max()) <= 1
    np.testing.assert_array_equal(result.W[:, result.positions], np.eye(len(result.columns)))
    assert len(result.columns) == result.size.idxmax()
    # Every column is there twice; each copy's group is it and the copy.
    groups = result.groups["columns"].tolist()
    assert all(
        [2 * column, 2 * column + 1] in groups for column in {c // 2 for c in result.columns}
    )


@pytest.mark.parametrize(
    ("columns", "size", "seconds"), [(48, 24, 2.0), (254, 7, 30.0), (254, 127, 30.0)]
)
@pytest.mark.parametrize("wander", [False, True])
def test_time_and_memory(columns, size, seconds, wander):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(160, columns))
    Y = np.empty((4, 1000, columns, columns))
    for chain in Y:
        rng.random(out=chain)
    r = np.zeros((4, 1000, columns), dtype=int)
    r[..., rng.permutation(columns)[:size]] = 1
    if wander:
        r = np.where(rng.random(r.shape) < 0.02, 1 - r, r)
    posterior = xr.Dataset(
        {
            "r": (("chain", "draw", "basis"), r),
            "Y": (("chain", "draw", "basis", "column"), Y),
            "sigma2": (("chain", "draw"), rng.gamma(9.0, size=(4, 1000))),
        }
    )
    idata = as_idata(posterior=posterior)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bid.decompose(idata, A)
    took = time.perf_counter() - started
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(f"N = {columns}, K = {size}: {took:.1f} s, {more / Y.nbytes:.2f} of Y")
    assert took < seconds
    # Y itself, and at most half of it again.
    assert more < 0.5 * Y.nbytes
