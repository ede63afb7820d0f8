"""How much memory the draws of a run take, said before it starts."""

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import numpy as np
from pymc.model import Model, modelcontext

from pymc_bid.graph.values import Point, Quantities

_USUAL_TUNING = 1000


def trace_size(
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    *,
    var_names: Sequence[str] | None = None,
    model: Model | None = None,
) -> int:
    """Bytes that `pm.sample` needs for its draws.

    PyMC reserves room for every draw, tuning included, of every variable, with and without its
    transform, and copies what follows the tuning into the result.

    Parameters
    ----------
    draws, tune, chains : int
        As for `pm.sample`.
    var_names : sequence of str, optional
        As for `pm.sample`: the variables to keep, all if not given.
    model : pymc.Model, optional
        Taken from the context if not given.

    Examples
    --------
    >>> bid.trace_size(draws=2000, model=model) > bid.trace_size(draws=1000, model=model)
    True
    """
    model = modelcontext(model)
    sizes = _draw_sizes(model, var_names, model.initial_point())
    return sum(sizes.values()) * _number_of_draws(draws, tune, chains)


def warn_if_too_large(model: Model, point: Point) -> None:
    """Warn if `pm.sample`, should it be what is running, will run out of memory for its draws."""
    asked = _arguments_of_sample()
    free = free_memory()
    if asked is None or free is None or asked.get("trace") is not None:
        return
    # PyMC 6 leaves the length of tuning to the steps if it is not given.
    tune = _USUAL_TUNING if asked["tune"] is None else asked["tune"]
    sizes = _draw_sizes(model, asked["var_names"], point)
    number = _number_of_draws(asked["draws"], tune, asked["chains"])
    needed = number * sum(sizes.values())
    if needed <= free:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    warnings.warn(
        f"The draws that pm.sample is asked to keep need {_readable(needed)}, and "
        f"{_readable(free)} of memory are free: {asked['chains']} chains of {tune} + "
        f"{asked['draws']} draws with {_readable(sum(sizes.values()))} each, "
        f"{_readable(sizes[largest])} of it for {largest}. Leave {largest} out with `var_names=` "
        "and keep its means, and every k-th draw of it, with bid.RunningMeans; or ask for fewer "
        "draws or chains.",
        UserWarning,
        stacklevel=2,
    )


def free_memory() -> int | None:
    """Bytes that a process can still take without swapping; None where nobody tells."""
    known = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        known += [int(line.split()[1]) * 2**10 for line in lines if "MemAvailable" in line]
    except OSError:
        if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
            known.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        # A container may be given less than the machine has.
        limit, used = (
            Path("/sys/fs/cgroup", name).read_text().strip()
            for name in ("memory.max", "memory.current")
        )
        if limit != "max":
            known.append(int(limit) - int(used))
    except OSError:
        pass
    return max(min(known), 0) if known else None


def _arguments_of_sample() -> dict | None:
    """Arguments of the call of `pm.sample` that is going on, None if there is none.

    PyMC makes the steps before it reserves memory, and does not tell them how many draws there will
    be. Its own frame knows, under the names of its public arguments.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        is_sample = frame.f_code.co_name == "sample"
        if is_sample and frame.f_globals.get("__name__") == "pymc.sampling.mcmc":
            wanted = ("draws", "tune", "chains", "var_names", "trace")
            found = {name: frame.f_locals[name] for name in wanted if name in frame.f_locals}
            return found if len(found) == len(wanted) and found["chains"] is not None else None
        frame = frame.f_back
    return None


def _draw_sizes(model: Model, var_names, point: Point) -> dict[str, int]:
    """Bytes that one draw of each variable takes."""
    if var_names is None:
        variables = model.unobserved_value_vars
    else:
        asked = [v for v in model.unobserved_RVs if v.name in set(var_names)]
        variables = model.replace_rvs_by_values(asked)
    shapes = Quantities([v.shape for v in variables], model)(point)
    return {
        variable.name: int(np.prod(shape)) * np.dtype(variable.dtype).itemsize
        for variable, shape in zip(variables, shapes, strict=True)
    }


def _number_of_draws(draws: int, tune: int, chains: int) -> int:
    """Draws in memory at once: all of them, and again what follows the tuning."""
    return chains * (tune + 2 * draws)


def _readable(size: float) -> str:
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(int(np.log10(max(size, 1)) // 3), len(units) - 1)
    return f"{size / 1000**power:.3g} {units[power]}"
