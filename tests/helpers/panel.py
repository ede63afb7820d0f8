"""Small slices of real tables, all of whose sets of columns can be enumerated."""

import os
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import arviz as az
import numpy as np
import pymc as pm
from scipy.special import logsumexp
from sklearn import datasets

import pymc_bid as bid
from pymc_bid.kernels.marginal.evidence import log_evidence
from tests.helpers.marginals import marginal_of

TABLES = ("load_wine", "load_iris", "load_breast_cancer", "load_digits", "load_diabetes")
PAPER = ("methylation_gene_body", "methylation_promoter")
EXTRAS = ("plain", "copy", "negated", "scaled", "near copy", "sum", "constant")


class Problem(NamedTuple):
    """A table and the model it is decomposed by."""

    name: str
    A: np.ndarray
    options: dict


class Outcome(NamedTuple):
    """What chains made of a problem."""

    error: float
    """Largest difference of an inclusion probability from the exact one."""
    excess: float
    """Largest difference over max(0.03, 4 MCSE)."""
    r_hat: float
    """Of the worst entry of r."""
    converged: bool | None


@cache
def tables():
    """Numbers of every table at hand; the paper's where PYMC_BID_DATA names their folder."""
    found = {name: getattr(datasets, name)().data for name in TABLES}
    folder = os.environ.get("PYMC_BID_DATA")
    if folder:
        found |= {name: np.loadtxt(Path(folder, f"{name}.txt")) for name in PAPER}
    return found


def standardised(values):
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def make_problem(seed):
    """Draw a slice, an extra column and a model."""
    rng = np.random.default_rng([7, seed])
    found = tables()
    name = list(found)[rng.integers(len(found))]
    table = found[name]
    extra = EXTRAS[seed % len(EXTRAS)]
    usable = np.flatnonzero(table.std(axis=0) > 0)
    most = min(13 if extra == "plain" else 12, usable.size)
    columns = rng.choice(usable, rng.integers(min(4, most), most + 1), replace=False)
    rows = rng.choice(len(table), min(len(table), rng.integers(20, 401)), replace=False)
    A = standardised(table[np.ix_(rows, columns)])
    first, second = rng.choice(A.shape[1], 2, replace=False)
    made = {
        "plain": None,
        "copy": A[:, first],
        "negated": -A[:, first],
        "scaled": 0.5 * A[:, first],
        "near copy": A[:, first] + 0.05 * rng.normal(size=len(A)),
        "sum": standardised(A[:, first] + A[:, second]),
        "constant": np.zeros(len(A)),
    }[extra]
    if made is not None:
        A = np.column_stack([A, made])
    options = {
        "identity": bool(rng.integers(2)),
        "noise": ("common", "column")[rng.integers(2)],
        "k": None if rng.random() < 0.6 else int(rng.integers(1, A.shape[1])),
    }
    shape = f"{len(A)}×{A.shape[1]}"
    return Problem(f"{seed}: {name} {shape} {extra} {options}", A, options)


def exact_inclusion(model, size, k, has_bounds):
    """Inclusion probabilities by enumeration of all sets, with bounds by weighted draws."""
    marginal, _ = marginal_of(model)
    states = np.array([s for s in product((0, 1), repeat=size) if k is None or sum(s) == k])
    if has_bounds:
        found = [
            bid.log_evidence(model, np.flatnonzero(state).tolist(), draws=300, random_seed=0)
            for state in states
        ]
        logs = np.array([evidence.value for evidence in found])
        shares = np.exp(logs - logsumexp(logs))
        # Where sets come to nothing it does not matter how far off they are.
        assert shares @ [evidence.standard_error for evidence in found] < 0.03
    else:
        logs = np.array([log_evidence(state, marginal) for state in states])
    logs += states @ marginal.log_odds
    return np.exp(logs - logsumexp(logs)) @ states


def run(problem, seed, bounds=None, draws=1000, tune=1000, chains=4):
    """Sample a problem by defaults and compare with enumeration."""
    model = bid.gbt(problem.A, bounds=bounds, **problem.options)
    exact = exact_inclusion(model, problem.A.shape[1], problem.options["k"], bounds is not None)
    with model:
        idata = pm.sample(
            draws=draws,
            tune=tune,
            chains=chains,
            cores=2,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
        )
    r = np.asarray(idata["posterior"]["r"])
    table = bid.state_summary(idata)
    off = np.abs(r.mean(axis=(0, 1)) - exact)
    mcse = np.nan_to_num(table["mcse"].to_numpy(dtype=float))
    moving = [column for column in range(r.shape[2]) if np.ptp(r[..., column])]
    hats = [float(az.rhat(r[..., column].astype(float))) for column in moving]
    return Outcome(
        off.max(),
        (off / np.maximum(0.03, 4 * mcse)).max(),
        max(hats, default=1.0),
        bid.check_convergence(idata).converged,
    )
