"""Do chains from different starts agree? One row for each data set and number of columns.

Run from the repository's root, with the paper's data in the folder that PYMC_BID_DATA names, or
downloaded::

    python -m benchmarks.agreement planted ec50 ic50 promoter gene_body
    python -m benchmarks.agreement ec50:5 ec50:24 gene_body:100 --draws 500

Four chains: with a free number of columns from all, none and two random sets; with a fixed number
from random sets. Everything else is what `pm.sample` does by default.
"""

import argparse
import logging
import time
import warnings

import arviz as az
import numpy as np
import pymc as pm

import pymc_bid as bid

NAMES = {
    "ec50": "ccle_ec50",
    "ic50": "ccle_ic50",
    "gene_body": "methylation_gene_body",
    "promoter": "methylation_promoter",
}


def load(name: str) -> np.ndarray:
    """Return a data set as the paper prepares it, or another one made for the purpose.

    "planted": every column twice. "collinear": gene body methylation as it might be without
    standardised rows, each gene with a level of its own, so that all columns are much alike.
    """
    if name == "planted":
        planted = bid.datasets.make_planted(
            rows=90, columns=15, rank=6, noise=0.3, duplicates=1, seed=1
        )
        return planted.A.to_numpy()
    if name == "collinear":
        standardised = load("gene_body")
        levels = np.random.default_rng(0).normal(size=(len(standardised), 1))
        return levels + 0.3 * standardised
    duplicates = 1 if NAMES[name].startswith("ccle") else 0
    data = bid.datasets.load(NAMES[name])
    return bid.datasets.prepare(data, duplicates=duplicates).to_numpy()


def start_states(size: int, k: int | None, rng: np.random.Generator) -> list[np.ndarray]:
    if k is None:
        return [np.ones(size, int), np.zeros(size, int), *rng.integers(0, 2, (2, size))]
    return [np.isin(np.arange(size), rng.permutation(size)[:k]).astype(int) for _ in range(4)]


def r_hat(values: np.ndarray) -> float:
    return float(az.rhat(np.asarray(values, dtype=float))) if np.ptp(values) else np.nan


def measure(name: str, k: int | None, draws: int, tune: int, seed: int) -> str:
    """Run the four chains and return a row of the table."""
    data = load(name)
    starts = start_states(data.shape[1], k, np.random.default_rng(seed))
    started = time.perf_counter()
    with bid.gbt(data, k=k):
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=4,
            cores=2,
            initvals=[{"r": start} for start in starts],
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r", "sigma2", "K"],
        )
    seconds = time.perf_counter() - started
    posterior = {name: np.asarray(idata["posterior"][name]) for name in ("r", "sigma2", "K")}
    r = posterior["r"]
    moving = [column for column in range(r.shape[2]) if np.ptp(r[..., column])]
    worst = max((r_hat(r[..., column]) for column in moving), default=np.nan)
    least = min((float(az.ess(r[..., column].astype(float))) for column in moving), default=np.nan)
    sets = {tuple(np.flatnonzero(chain.mean(axis=0) > 0.5)) for chain in r}
    errors = np.asarray(idata["sample_stats"]["bid_mse"]).mean(axis=1)
    return (
        f"{name:>10} {k or 'free':>5} {posterior['K'].mean():7.2f} {r_hat(posterior['K']):7.3f} "
        f"{r_hat(posterior['sigma2']):7.3f} {worst:8.3f} {least:8.0f} {len(sets):5d} "
        f"{errors.max() / errors.min():7.4f} {seconds:6.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["planted"], help="name or name:k")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    print(
        f"{'':>10} {'':>5} {'mean':>7} {'R-hat':>7} {'R-hat':>7} {'worst':>8} {'least':>8} "
        f"{'':>5} {'error':>7}\n"
        f"{'data':>10} {'k':>5} {'K':>7} {'K':>7} {'σ²':>7} {'R-hat r':>8} {'ESS r':>8} "
        f"{'sets':>5} {'ratio':>7} {'s':>6}"
    )
    for case in options.cases:
        name, _, k = case.partition(":")
        k = int(k) if k else None
        print(measure(name, k, options.draws, options.tune, options.seed), flush=True)


if __name__ == "__main__":
    main()
