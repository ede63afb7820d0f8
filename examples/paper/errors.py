"""The error of a set of columns: one function for every method that chooses some."""

import numpy as np

TOLERANCE = 1e-7
LARGEST_NUMBER_OF_STEPS = 20_000


def unbounded_error(data: np.ndarray, columns) -> float:
    """‖A - C W‖²/(MN) with C = A[:, columns] and W by least squares."""
    basis = data[:, columns]
    weights = np.linalg.lstsq(basis, data, rcond=None)[0]
    return float(np.mean((data - basis @ weights) ** 2))


def bounded_error(data: np.ndarray, columns, bound: float = 1.0) -> float:
    """‖A - C W‖²/(MN) with C = A[:, columns] and W by least squares within |w| ≤ bound."""
    basis = data[:, columns]
    weights = bounded_least_squares(basis, data, bound)
    return float(np.mean((data - basis @ weights) ** 2))


def bounded_least_squares(basis: np.ndarray, target: np.ndarray, bound: float = 1.0) -> np.ndarray:
    """Return W with |w| ≤ bound that makes ‖target - basis W‖² smallest.

    The alternating direction method of multipliers, for all columns of the target at once: it needs
    one eigendecomposition, where `scipy.optimize.lsq_linear` solves a system for each column and
    step. Columns that plain least squares solves within the bound are left at that.
    """
    weights = np.linalg.lstsq(basis, target, rcond=None)[0]
    outside = np.flatnonzero(np.abs(weights).max(axis=0, initial=0.0) > bound)
    if outside.size == 0:
        return weights
    values, vectors = np.linalg.eigh(basis.T @ basis)
    values = np.maximum(values, 0.0)
    linear = basis.T @ target[:, outside]
    penalty = np.sqrt(values[-1] * max(values[0], 1e-4 * values[-1]))
    inside = np.clip(weights[:, outside], -bound, bound)
    dual = np.zeros_like(inside)
    for step in range(1, LARGEST_NUMBER_OF_STEPS + 1):
        rotated = vectors.T @ (linear + penalty * (inside - dual))
        free = vectors @ (rotated / (values + penalty)[:, None])
        before, inside = inside, np.clip(free + dual, -bound, bound)
        dual += free - inside
        primal, change = np.abs(free - inside).max(), np.abs(inside - before).max()
        if max(primal, change) < TOLERANCE * bound:
            break
        if step % 50 == 0 and not 0.2 < primal / max(change, 1e-300) < 5:
            factor = 2.0 if primal > change else 0.5
            penalty *= factor
            dual /= factor
    weights[:, outside] = inside
    return weights
