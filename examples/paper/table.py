"""The results of all finished cells as one tidy table."""

from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd

from examples.paper.cells import Cell

ERRORS = {
    "mean_error": "error of the posterior mean",
    "identity_error": "error of a draw, post-processed",
    "identity_mean_error": "error of the posterior mean, post-processed",
    "set_error": "error of the most visited set",
}


def tidy_table(cells: list[Cell], folder: Path) -> pd.DataFrame:
    """One value in each row: data, model, k, sampler, chain (-1: all of them), quantity."""
    rows = []
    for cell in cells:
        for chain, quantity, value in quantities(dict(np.load(folder / f"{cell.name}.npz"))):
            rows.append((cell.data, cell.model, cell.columns, cell.sampler, chain, quantity, value))
    names = ("data", "model", "k", "sampler", "chain", "quantity", "value")
    return pd.DataFrame(rows, columns=names)


def quantities(results: dict[str, np.ndarray]):
    """Yield chain, quantity and value."""
    kept = slice(int(results["tune"]), None)
    number = results["number"][:, kept]
    for chain, error in enumerate(results["error"][:, kept]):
        yield chain, "error of a draw", error.mean()
        yield chain, "number of columns", number[chain].mean()
        yield chain, "autocorrelation at lag 10", results["autocorrelation"][chain, 10]
        yield (
            chain,
            "autocorrelation at lag 10, chosen columns",
            results["autocorrelation_on"][chain, 10],
        )
        yield chain, "largest weight", results["largest_weight"][chain]
        for name, quantity in ERRORS.items():
            yield chain, quantity, results[name][chain]
    states = results["r"].astype(float)
    varying = [column for column in range(states.shape[2]) if np.ptp(states[..., column])]
    yield -1, "columns that ever change", len(varying)
    yield -1, "R-hat of the number of columns", r_hat(number)
    yield -1, "R-hat of the noise variance", r_hat(results["sigma2"])
    worst = [r_hat(states[..., column]) for column in varying]
    yield -1, "R-hat of r, worst column", max(worst, default=np.nan)
    yield -1, "ESS of the number of columns", effective_size(number)
    yield -1, "ESS of the noise variance", effective_size(results["sigma2"])
    least = [effective_size(states[..., column]) for column in varying]
    yield -1, "ESS of r, worst column", min(least, default=np.nan)
    yield -1, "seconds", float(results["seconds"])
    yield -1, "processor seconds", float(results["processor_seconds"])


def r_hat(values: np.ndarray) -> float:
    """R-hat of chains × draws: nan for a constant, infinite for chains that stand still apart."""
    values = np.asarray(values, dtype=float)
    if np.ptp(values) == 0:
        return np.nan
    if not np.ptp(values, axis=1).any():
        return np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(az.rhat(values))


def effective_size(values: np.ndarray) -> float:
    """Effective sample size of chains × draws; nan if no chain moves."""
    values = np.asarray(values, dtype=float)
    return float(az.ess(values)) if np.ptp(values, axis=1).any() else np.nan
