"""How fast do K and r mix? Collapsed moves, the paper's update, and PyMC's own default.

Run from the repository's root::

    python -m benchmarks.mixing
    python -m benchmarks.mixing --copies 2 --samplers collapsed paper

One model, written by hand, on one planted matrix, 60×12 if not told otherwise; four chains from all
columns, none and two random sets. "pymc" is what PyMC chooses where this package is not imported:
BinaryGibbsMetropolis for r, NUTS for σ² and Y. The seconds are processor time of the chains' own
processes, tuning included, so that it does not matter what else the machine does; what comes
before, compilation first of all, is told apart.

An effective sample size takes for granted that the chains draw from one distribution. Where R-hat
says that they do not, it means nothing, and stands in brackets, as does the ratio made of it.
"""

import argparse
import logging
import resource
import time
import warnings
from typing import NamedTuple

import arviz as az
import numpy as np
import pymc as pm
from pymc.step_methods import NUTS, BinaryGibbsMetropolis

import pymc_bid as bid
from benchmarks.agreement import r_hat, start_states

SAMPLERS = ("collapsed", "paper", "pymc")
AGREEMENT = 1.05
"""Largest R-hat with which an effective sample size is worth a look."""


class Run(NamedTuple):
    """State vectors of a run, (chain, iteration, column), and what they cost."""

    tuning: np.ndarray
    r: np.ndarray
    seconds: float
    """Processor time of the chains."""
    elapsed: float
    """Time by the clock, from the call of `pm.sample` to its return."""
    divergences: int


class Mixing(NamedTuple):
    """R-hat, and effective draws per second, of one quantity or of the worst of several."""

    r_hat: float
    ess_per_second: float

    def __str__(self):
        return f"{self.r_hat:7.3f} {self.bracket(self.ess_per_second):>9}"

    def bracket(self, number: float) -> str:
        """Write a number made of this effective sample size, in brackets if it means nothing."""
        return f"{number:.3g}" if self.r_hat <= AGREEMENT else f"({number:.3g})"


def planted(copies: int = 1) -> np.ndarray:
    """Return a 60×12 matrix of rank 4, every column `copies` times."""
    matrix = bid.datasets.make_planted(rows=60, columns=12, rank=4, noise=0.05, seed=1)
    return np.repeat(matrix.A.to_numpy(), copies, axis=1)


def written_by_hand(data: np.ndarray) -> pm.Model:
    size = data.shape[1]
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=size)
        sigma2 = pm.InverseGamma("sigma2", 0.1, 1)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(size, size))
        pm.Normal("A", mu=(data * r) @ Y, sigma=pm.math.sqrt(sigma2), observed=data)
    return model


def run(data, sampler, starts, *, draws, tune, seed, cores=2) -> Run:
    """Sample with one of SAMPLERS, one chain for each start."""
    started, before = time.perf_counter(), processor_time_of_children()
    with written_by_hand(data) as model:
        if sampler == "pymc":
            steps = [BinaryGibbsMetropolis([model["r"]]), NUTS([model["sigma2"], model["Y"]])]
            options = {"step": steps}
        else:
            options = {"bid_flip": {"scheme": sampler}}
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=len(starts),
            cores=cores,
            mp_ctx="fork",
            initvals=[{"r": start} for start in starts],
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r"],
            discard_tuned_samples=False,
            **options,
        )
    seconds = processor_time_of_children() - before
    statistics = idata["sample_stats"]
    divergences = int(statistics["diverging"].sum()) if sampler == "pymc" else 0
    tuning, r = (np.asarray(idata[group]["r"]) for group in ("warmup_posterior", "posterior"))
    return Run(tuning, r, seconds, time.perf_counter() - started, divergences)


def processor_time_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def mixing(values: np.ndarray, seconds: float) -> Mixing:
    """Mixing of a quantity (chain, draw), or the worst of several (chain, draw, quantity).

    Quantities that have one value in all draws of all chains have nothing to mix and are left out.
    """
    columns = np.moveaxis(np.atleast_3d(values.astype(float)), 2, 0)
    moving = [column for column in columns if np.ptp(column)]
    if not moving:
        return Mixing(np.nan, np.nan)
    return Mixing(
        # Chains that each stand still, but not at the same place, have an R-hat of infinity.
        max(r_hat(c) if np.ptp(c, axis=1).any() else np.inf for c in moving),
        min(float(az.ess(c)) for c in moving) / seconds,
    )


def compare(best: Mixing, other: Mixing) -> str:
    """Return how many times fewer effective draws per second the other one gives."""
    return other.bracket(best.ess_per_second / other.ess_per_second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=SAMPLERS)
    parser.add_argument("--copies", type=int, default=1, help="how often each column is there")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    data = planted(options.copies)
    starts = start_states(data.shape[1], None, np.random.default_rng(options.seed))
    print(
        f"{'':>10} {'':>19} {'K':^17} {'r, worst column':^17} {'times fewer':^21}\n"
        f"{'':>10} {'mean K':>19} {'':>7} {'ESS':>9} {'':>7} {'ESS':>9} {'ESS per second':^21} "
        f"{'diver-':>7} {'':>7} {'first':>7}\n"
        f"{'sampler':>10} {'of each chain':>19} {'R-hat':>7} {'per s':>9} {'R-hat':>7} "
        f"{'per s':>9} {'of K':>10} {'of r':>10} {'gences':>7} {'s':>7} {'call s':>7}"
    )
    best = None
    for sampler in options.samplers:
        # In this process: those of the chains are forked from it and find everything compiled.
        first_call = run(data, sampler, starts[:1], draws=2, tune=2, seed=1, cores=1)
        result = run(
            data, sampler, starts, draws=options.draws, tune=options.tune, seed=options.seed
        )
        K = result.r.sum(axis=-1)
        found = mixing(K, result.seconds), mixing(result.r, result.seconds)
        best = best or found
        ratios = [compare(*pair) for pair in zip(best, found, strict=True)]
        means = " ".join(f"{mean:.1f}" for mean in K.mean(axis=1))
        print(
            f"{sampler:>10} {means:>19} {found[0]} {found[1]} {ratios[0]:>10} {ratios[1]:>10} "
            f"{result.divergences:7d} {result.seconds:7.1f} {first_call.elapsed:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
