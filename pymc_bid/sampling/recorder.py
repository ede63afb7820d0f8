"""Samplers that write down their draws and where they are, and go on from there."""

import os
import time
from io import BytesIO
from multiprocessing import parent_process
from threading import Thread
from typing import Any

import numpy as np
from pymc.model import Model
from pymc.step_methods.compound import CompoundStep

from pymc_bid.graph.values import Entry, Point, Quantities
from pymc_bid.sampling.folder import ChainFiles, RunFolder
from pymc_bid.sampling.states import restore, write_state


class Recorded:
    """What is kept of a draw: every variable of a model, and what its samplers report.

    Parameters
    ----------
    model : pymc.Model
    step : pymc.step_methods.CompoundStep
    point : dict
        Any point, for the shapes.

    Attributes
    ----------
    dtype : numpy.dtype
        Of one draw.
    """

    def __init__(self, model: Model, step: CompoundStep, point: Point):
        self._names = [variable.name for variable in model.unobserved_RVs]
        self._entries = {variable.name: Entry(variable, model) for variable in model.free_RVs}
        self._quantities = Quantities(model.unobserved_RVs, model)
        # Objects are none of ours: warnings of NUTS, which it logs.
        self._reported = [
            {name: np.dtype(kind) for name, kind in one.items() if not np.dtype(kind).hasobject}
            for one in step.stats_dtypes
        ]
        values = zip(self._names, self._quantities(point), strict=True)
        variables = [(name, value.dtype, value.shape) for name, value in values]
        reported = [(str(place), list(one.items())) for place, one in enumerate(self._reported)]
        self.dtype = np.dtype([("variables", variables), ("reported", reported)], align=True)

    def write(self, point: Point, statistics: list[dict]) -> np.ndarray:
        """Return the record of a draw."""
        record = np.zeros((), self.dtype)
        for name, value in zip(self._names, self._quantities(point), strict=True):
            record["variables"][name] = value
        for place, one in enumerate(self._reported):
            for name in one:
                record["reported"][str(place)][name] = statistics[place].get(name, 0)
        return record

    def read(self, record: np.ndarray, point: Point) -> tuple[Point, list[dict]]:
        """Return the point of a draw, but for rounding by transforms, and what was reported."""
        for name, entry in self._entries.items():
            point = entry.write(record["variables"][name], point)
        return point, self.reports(record)

    def reports(self, record: np.ndarray) -> list[dict]:
        """Return what samplers reported."""
        return [
            {name: record["reported"][str(place)][name][()] for name in one}
            for place, one in enumerate(self._reported)
        ]


class RecordedStep(CompoundStep):
    """Samplers for all variables of a model, whose draws and states go to a folder.

    A chain that has been in that folder before is read back up to where it was flushed last, and
    goes on from there; until then PyMC is handed what samplers reported, and the point it gave.

    Parameters
    ----------
    methods : list of step methods
    model : pymc.Model
    point : dict
    """

    def __init__(self, methods, model: Model, point: Point):
        super().__init__(methods)
        self.recorded = Recorded(model, self, point)
        # Now, and not when an hour of draws is to be flushed.
        write_state(BytesIO(), {"states": self.sampling_state})

    def keep_in(self, folder: RunFolder, tune: int, every: float) -> None:
        """Say where draws go, how many there are, and after how many seconds to flush."""
        self._folder, self._every, self._tune = folder, every, tune
        self._last = tune + folder.draws
        self._files: Any = None

    # PyMC 5 calls the one, PyMC 6 the other.
    def set_rng(self, rng):
        """Begin a chain."""
        super().set_rng(rng)
        self._begin(rng)

    def setup_chain(self, rng, tune, draws):
        """Begin a chain."""
        super().setup_chain(rng, tune, draws)
        self._begin(rng)

    def _begin(self, rng: np.random.Generator) -> None:
        if self._files is not None:
            self._files.close()
        # PyMC spawns a generator for each chain and does not tell a step which one it is.
        seed: Any = rng.bit_generator.seed_seq
        *_, chain = seed.spawn_key
        self._files = ChainFiles(self._folder, chain)
        self._kept = self._files.where({"states": self.sampling_state}) or {"iteration": 0}
        self._iteration = 0
        self._flushed = time.monotonic()
        parent = parent_process()
        if parent is not None:
            Thread(target=_end_with, args=(parent,), daemon=True).start()

    def step(self, point):
        """Make an iteration, or read back one that was made."""
        if self._iteration < self._kept["iteration"]:
            return self._read_back(point)
        point, statistics = super().step(point)
        draw = self._iteration - self._tune
        if draw >= 0:
            self._files.write(draw, self.recorded.write(point, statistics))
        self._iteration += 1
        due = time.monotonic() - self._flushed >= self._every
        if due or self._iteration == self._last:
            states = self.sampling_state
            self._files.flush({"iteration": self._iteration, "point": point, "states": states})
            self._flushed = time.monotonic()
        return point, statistics

    def _read_back(self, point: Point):
        draw = self._iteration - self._tune
        if draw >= 0:
            point, statistics = self.recorded.read(self._files.read(draw), point)
        else:
            # Nobody is shown the draws of tuning.
            statistics = self.recorded.reports(np.zeros((), self.recorded.dtype))
        self._iteration += 1
        if self._iteration == self._kept["iteration"]:
            restore(self, self._kept["states"])
            point = self._kept["point"]
        return point, statistics


def _end_with(parent) -> None:
    """End this process when the one that it works for has been killed.

    A forked chain of PyMC's has both ends of the pipe that it waits at, and would wait for ever.
    """
    parent.join()
    os._exit(1)
