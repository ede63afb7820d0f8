"""What users would pick instead, on the study's matrices and with its error function::

    python -m examples.paper.comparison

Each method chooses columns; the weights are then those of least squares, and of least squares
within |w| ≤ 1. Writes `comparison.csv`. scikit-matter is left out if it is not installed (extra
`comparison`).
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.linalg.interpolative

from examples.paper.cells import NUMBERS, matrix
from examples.paper.errors import bounded_error, unbounded_error
from examples.paper.subsets import best_columns, exchanged_columns, greedy_columns

RANDOM_SUBSETS = 20


def scipy_columns(data: np.ndarray, k: int) -> np.ndarray:
    """The columns of SciPy's interpolative decomposition."""
    return scipy.linalg.interpolative.interp_decomp(data, k, rand=False)[0][:k]


def pivoted_columns(data: np.ndarray, k: int) -> np.ndarray:
    """The first pivots of a QR decomposition with column pivoting."""
    return scipy.linalg.qr(data, mode="r", pivoting=True)[1][:k]


def greedy_exchanged(data: np.ndarray, k: int) -> np.ndarray:
    """Greedy columns, then exchanges until none helps."""
    return exchanged_columns(data, greedy_columns(data, k))


@cache
def methods() -> dict[str, Callable[[np.ndarray, int], np.ndarray | None]]:
    """The methods that are installed."""
    best_columns(np.eye(3), 1)  # compiles, once, so that it is not in the time
    found = {
        "best subset": best_columns,
        "scipy ID": scipy_columns,
        "pivoted QR": pivoted_columns,
        "greedy": greedy_columns,
        "greedy, then exchanges": greedy_exchanged,
    }
    try:
        from skmatter.feature_selection import CUR, FPS
    except ImportError:
        print("scikit-matter is not installed (extra `comparison`) and left out.")
        return found

    def selector(kind):
        return lambda data, k: kind(n_to_select=k).fit(data).selected_idx_

    return {**found, "skmatter CUR": selector(CUR), "skmatter FPS": selector(FPS)}


def compare(data: np.ndarray, k: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield method, error, error within the bounds and milliseconds of choosing."""
    singular = np.linalg.svd(data, compute_uv=False)
    yield "SVD bound", float((singular[k:] ** 2).sum() / data.size), np.nan, np.nan
    for name, choose in methods().items():
        started = time.perf_counter()
        try:
            columns = choose(data, k)
        except Exception as error:
            # A method that fails on copies, or beyond the rank, is a finding, not an accident.
            print(f"{name}, K = {k}: {type(error).__name__}: {error}")
            continue
        milliseconds = 1e3 * (time.perf_counter() - started)
        if columns is None:
            continue
        yield name, unbounded_error(data, columns), bounded_error(data, columns), milliseconds
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(data.shape[1])[:k] for _ in range(RANDOM_SUBSETS)]
    error, bounded = (
        float(np.mean([measure(data, columns) for columns in drawn]))
        for measure in (unbounded_error, bounded_error)
    )
    yield "random columns, mean", error, bounded, np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("::")[0])
    parser.add_argument("--data", nargs="*", choices=NUMBERS, default=list(NUMBERS))
    parser.add_argument("--folder", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.data:
        for k in NUMBERS[name]:
            for row in compare(matrix(name).to_numpy(), k):
                rows.append((name, k, *row))
                method, error, bounded, milliseconds = row
                errors = f"{error:.4f} {bounded:.4f}"
                print(f"{name:22} {k:4d} {method:24} {errors} {milliseconds:9.1f} ms", flush=True)
    names = ("data", "k", "method", "error", "error within bounds", "milliseconds")
    pd.DataFrame(rows, columns=names).to_csv(options.folder / "comparison.csv", index=False)


if __name__ == "__main__":
    main()
