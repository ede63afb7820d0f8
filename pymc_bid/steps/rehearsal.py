"""Going through what a step does before chains start, so that no chain has to compile anything.

Chains in processes of their own would each compile all kernels by themselves. What a rehearsal has
compiled, forked processes have in memory and spawned ones find in numba's cache.
"""

import copyreg
import logging
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import current_process, get_context
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from pymc.model import Model

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.values import Point, WeightPrior
from pymc_bid.kernels.compilation import CompilationNeeded, announce, from_cache_only
from pymc_bid.regression import Products
from pymc_bid.steps.interrupts import finish_before_interrupt

if TYPE_CHECKING:
    from pymc_bid.steps.base import DecompositionStep

FEW_COLUMNS = 3
ITERATIONS = 2
"""Of each kind: the chain is offered an exchange with the ladder every other time."""

LEAST_WAIT = 10
"""Seconds, beside those that its own half has taken, that a process waits for the other half."""

_log = logging.getLogger(__name__)
_starts: WeakKeyDictionary[Joint, tuple[Products, Point]] = WeakKeyDictionary()


class Verdict(np.random.Generator):
    """A generator by which a step accepts every proposal, or none.

    Steps decide by ``rng.standard_exponential() > -log_ratio``.
    """

    def __init__(self, accepts: bool):
        super().__init__(np.random.PCG64(0))
        self._accepts = accepts

    def standard_exponential(self, *arguments, **options):
        """Return infinity, with the sign that leads to the verdict."""
        return math.inf if self._accepts else -math.inf


def rehearse(step: "DecompositionStep", model: Model, point: Point | None = None) -> list[dict]:
    """Let a double of a step go through what sampling may lead to; return what it recorded.

    The step itself stays as it is, its generator included. Moves of the user's own are not made.

    Parameters
    ----------
    step : DecompositionStep
    model : pymc.Model
    point : dict, optional
        Where to start; the model's initial point if not given.
    """
    try:
        joint = step.decomposition.joint
        point = _with_few_columns(joint, _start(joint, model) if point is None else point)
        try:
            with from_cache_only():
                return _go_through(_double(step), point)
        except CompilationNeeded:
            announce()
            _compile_in_two(_double(step), model, point)
            return _go_through(_double(step), point)
    except Exception:
        # Sampling may start elsewhere, with other data; if it can't either, it says so.
        _log.debug("The rehearsal of %s failed.", type(step).__name__, exc_info=True)
        return []


def _double(step: "DecompositionStep") -> "DecompositionStep":
    """Return a step like this one that shares nothing with it that changes."""
    double = object.__new__(type(step))
    double.__dict__.update(step.__dict__)
    # PyMC copies what changes while a chain runs.
    double.sampling_state = step.sampling_state
    double.rng = Verdict(True)
    if getattr(step, "moves", ()):
        double.moves = (_stay,)
    return double


def _go_through(double: "DecompositionStep", point: Point) -> list[dict]:
    recorded: list[dict] = []
    for tune, accepts in ((True, True), (True, False), (False, True)):
        double.tune, double.rng = tune, Verdict(accepts)
        for _ in range(ITERATIONS):
            point, statistics = double.step(point)
            recorded += statistics
    return recorded


@finish_before_interrupt
def _compile_in_two(double: "DecompositionStep", model: Model, point: Point) -> None:
    """Have a forked process compile a half of the kernels, which end up in numba's cache.

    Only on Linux: elsewhere processes can't be forked, or not safely once libraries have threads.
    """
    halves = double.halves_to_compile(model, point)
    if halves is None or sys.platform != "linux" or current_process().daemon:
        return
    if len(os.sched_getaffinity(0)) == 1:
        return
    here, there = halves
    helper = get_context("fork").Process(target=_try, args=(there,), daemon=True)
    try:
        helper.start()
    except OSError:
        # No memory for it; then all is compiled here.
        return
    started = time.perf_counter()
    try:
        here()
        helper.join(LEAST_WAIT + time.perf_counter() - started)
    finally:
        # It may have been forked while another thread had a lock that it waits for.
        helper.kill()
        helper.join()


def _try(work: Callable) -> None:
    """Do the work of a forked process, whose interrupts and messages are those of the other too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    logging.disable()
    with suppress(Exception):
        work()


def _start(joint: Joint, model: Model) -> Point:
    """Return the model's initial point, which takes PyMC longer than all the rest: once for all."""
    known = _starts.get(joint)
    if known is None or known[0] is not joint.products():
        known = _starts[joint] = (joint.products(), model.initial_point())
    return known[1]


def _with_few_columns(joint: Joint, point: Point) -> Point:
    """Return a point with few columns chosen, for which the same is compiled.

    Where half of a thousand columns are chosen at the start, what is compiled runs for minutes.
    """
    state = joint.state
    if not state.sampled or joint.parts[0].roles.fixed_size:
        return point
    few = np.array(state.read(point))
    few[np.flatnonzero(few)[FEW_COLUMNS:]] = 0
    return state.write(few, point)


def _stay(*arguments) -> tuple[int, int]:
    """Stand for a move of the user's own."""
    return 0, 0


def _reduce(prior: WeightPrior) -> tuple:
    """Pickle views as views: as arrays they would have kernels compiled for them in each chain."""
    fields = [
        field[tuple(slice(None if stride else 1) for stride in field.strides)] for field in prior
    ]
    return WeightPrior.of, (prior.mean.shape, *fields)


copyreg.pickle(WeightPrior, _reduce)
