"""PyMC's own progress bar shows the number of columns and the error of each chain."""

import io

import pytest
from pymc.progress_bar.progress import MCMCProgressBarManager
from pymc.step_methods.compound import CompoundStep
from rich.console import Console

import pymc_bid as bid
from tests.steps.cases import small_data


@pytest.mark.parametrize("k", [None, 2])
def test_each_chain_has_its_number_of_columns_and_its_error(k):
    model = bid.gbt(small_data()[0], k=k)
    state = bid.FlipStep if k is None else bid.SwapStep
    with model:
        steps = [
            state([model["r"]]),
            bid.NoiseStep([model["sigma2"]]),
            bid.WeightStep([model["Y"]]),
        ]
        compound = CompoundStep(steps)
    manager = MCMCProgressBarManager(compound, chains=2, draws=10, tune=0, progressbar=True)
    shown = []
    for chain in range(2):
        _, statistics = compound.step(model.initial_point())
        manager._backend._initialize_tasks() if chain == 0 else None
        manager.update(chain_idx=chain, is_last=False, draw=1, tuning=False, stats=statistics)
        shown.append((statistics[0]["bid_K"], statistics[-1]["bid_mse"]))
    progress = manager._backend._progress
    stream = io.StringIO()
    Console(file=stream, width=160).print(progress.make_tasks_table(progress.tasks))
    _, heading, _, *lines = stream.getvalue().splitlines()[:5]
    assert heading.index(" K ") < heading.index(" Error ")
    for line, (size, error) in zip(lines, shown, strict=True):
        assert f" {size} " in line and f" {error:.3g} " in line
