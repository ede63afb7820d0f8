"""PyMC's own progress bar shows the number of columns and the error of each chain.

PyMC has no public way to add to it. Here its output is read: a PyMC that no longer asks the steps
for columns, or asks in another way, fails.
"""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise

from pymc.progress_bar.progress import MCMCProgressBarManager
from pymc.step_methods.compound import CompoundStep

import pymc_bid as bid
from tests.helpers.cases import make_steps, small_data

# In a process of its own: PyMC writes to the stream that it found when it was imported.
SAMPLE = """
import json
import numpy as np
import pymc as pm
import pymc_bid as bid

rng = np.random.default_rng(0)
pool, target = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
several = bid.gbt(pool)
with pm.Model() as one:
    Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(3, 2))
    pm.Normal("A", (pool * pm.Data("r", [1, 0, 1])) @ Y, 1.0, observed=target)
for model in (several, one):
    with model:
        idata = pm.sample(
            draws=5, tune=2, chains=2, cores=1, random_seed=1, compute_convergence_checks=False
        )
    statistics = idata["sample_stats"]
    last = {
        name: np.asarray(statistics[name])[:, -1].tolist()
        for name in ("bid_K", "bid_mse") if name in statistics
    }
    print(f"last: {json.dumps(last)}", flush=True)
"""


def run(width):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SAMPLE],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": str(width), "PYTHONUTF8": "1"},
    )
    return list(read_tables(done.stdout))


def test_each_chain_has_its_number_of_columns_and_its_error():
    several, one = run(160)
    for (heading, rows, last), names in ((several, ["K", "Error"]), (one, ["Error"])):
        assert [word for word in heading.split() if word in ("K", "Error")] == names
        shown = [f"{error:.3g}" for error in last["bid_mse"]]
        if "K" in names:
            shown = [f"{size} {error}" for size, error in zip(last["bid_K"], shown, strict=True)]
        for row, numbers in zip(rows, shown, strict=True):
            assert f" {numbers} " in " ".join(row.split())


def test_no_time_is_cut_in_a_narrow_terminal():
    (heading, rows, last), _ = run(80)
    assert "K" in heading.split()
    for row, size in zip(rows, last["bid_K"], strict=True):
        assert f" {size} " in " ".join(row.split())
        assert "…" not in row
        assert len(re.findall(r"\d:\d\d:\d\d", row)) == 2


def test_no_other_statistics_are_handed_to_the_progress_bar():
    """In notebooks of marimo PyMC shows whatever it is handed."""
    model = bid.gbt(small_data()[0])
    compound = CompoundStep(make_steps(model))
    manager = MCMCProgressBarManager(compound, chains=2, draws=10, tune=0, progressbar=True)
    _, statistics = compound.step(model.initial_point())
    handed = [
        update(of_step)
        for update, of_step in zip(manager.update_stats_functions, statistics, strict=True)
    ]
    assert [list(of_step) for of_step in handed] == [["bid_K"], [], ["bid_mse"]]


def read_tables(output):
    """Heading, line of each chain, and last statistics, of each run."""
    parts = output.split("last: ")
    for part, after in pairwise(parts):
        lines = part.splitlines()
        (heading,) = (number for number, line in enumerate(lines) if "Draw" in line.split())
        # Between them is a ruled line.
        rows = lines[heading + 2 : heading + 4]
        yield lines[heading], rows, json.loads(after.splitlines()[0])
