"""How much memory the draws of a run take, said before it starts."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakSet

import numpy as np
import psutil
from pymc.model import Model, modelcontext

from pymc_bid.graph.values import Point, Quantities

CONTAINER = Path("/sys/fs/cgroup")
"""Where Linux says what a container may take."""
_told: WeakSet[Model] = WeakSet()


def trace_size(
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    *,
    var_names: Sequence[str] | None = None,
    model: Model | None = None,
) -> int:
    """Bytes that `pm.sample` needs for its draws, by default those that it makes by default.

    PyMC reserves room for every draw, tuning included, of every variable, with and without its
    transform, and copies what follows the tuning into the result.

    Parameters
    ----------
    draws, tune, chains, var_names, model
        As for `pm.sample`.

    Examples
    --------
    >>> bid.trace_size(draws=2000, model=model) > bid.trace_size(draws=1000, model=model)
    True
    """
    model = modelcontext(model)
    sizes = _draw_sizes(model, var_names, model.initial_point())
    return sum(sizes.values()) * chains * (tune + 2 * draws)


def warn_if_too_large(model: Model, point: Point) -> None:
    """Warn, once for a model, if `pm.sample` with its defaults will run out of memory.

    A step is not told how many draws are asked for and which variables are kept, and those who have
    seen to it should not have to read the same again.
    """
    if model in _told:
        return
    sizes = _draw_sizes(model, None, point)
    total, free = sum(sizes.values()), free_memory()
    needed = 4 * (1000 + 2 * 1000) * total
    if needed <= free:
        return
    _told.add(model)
    largest = max(sizes, key=lambda name: sizes[name])
    warnings.warn(
        f"pm.sample() with its defaults, 4 chains of 1000 + 1000 draws, keeps {readable(needed)}, "
        f"and {readable(free)} of memory are free: {readable(total)} for each draw, "
        f"{readable(sizes[largest])} of it for {largest}. If you have not done so, leave "
        f"{largest} out with `var_names=` and keep its "
        "means, and every k-th draw of it, with bid.RunningMeans; or ask for fewer draws or "
        "chains, bid.trace_size says what they take.",
        UserWarning,
        stacklevel=2,
    )


def free_memory() -> int:
    """Bytes that a process can still take without swapping."""
    free = psutil.virtual_memory().available
    try:
        # A container may be given less than the machine has.
        limit, used = (
            int((CONTAINER / name).read_text()) for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):
        # There is no container, or no limit: the word "max".
        return free
    return max(min(free, limit - used), 0)


def _draw_sizes(model: Model, var_names, point: Point) -> dict[str, int]:
    """Bytes that one draw of each variable takes."""
    variables = model.unobserved_value_vars
    if var_names is not None:
        asked = [v for v in model.unobserved_RVs if v.name in set(var_names)]
        variables = model.replace_rvs_by_values(asked)
    shapes = Quantities([v.shape for v in variables], model)(point)
    return {
        variable.name: int(np.prod(shape)) * np.dtype(variable.dtype).itemsize
        for variable, shape in zip(variables, shapes, strict=True)
    }


def readable(size: float) -> str:
    """Write a number of bytes with a unit."""
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(int(np.log10(max(size, 1)) // 3), len(units) - 1)
    return f"{size / 1000**power:.3g} {units[power]}"
