"""How much memory the draws of a run take, said before it starts."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakSet

import numpy as np
import psutil
from pymc.model import Model, modelcontext

from pymc_bid.graph.values import Point, Quantities

DRAWS, TUNE, CHAINS = 1000, 1000, 4
"""What `pm.sample` does if it is not told otherwise."""
CONTAINER = Path("/sys/fs/cgroup")
"""Where Linux says what a container may take."""
_told: WeakSet[Model] = WeakSet()


def trace_size(
    draws: int = DRAWS,
    tune: int = TUNE,
    chains: int = CHAINS,
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
    """Warn, once for a model, if `pm.sample` with its defaults will run out of memory.

    A step is not told how many draws are asked for and which variables are kept, and those who have
    seen to it should not have to read the same again.
    """
    if model in _told:
        return
    sizes = _draw_sizes(model, None, point)
    needed = _number_of_draws(DRAWS, TUNE, CHAINS) * sum(sizes.values())
    free = free_memory()
    if needed <= free:
        return
    _told.add(model)
    largest = max(sizes, key=lambda name: sizes[name])
    warnings.warn(
        f"pm.sample() with its defaults, {CHAINS} chains of {TUNE} + {DRAWS} draws, keeps "
        f"{_readable(needed)}, and {_readable(free)} of memory are free: "
        f"{_readable(sum(sizes.values()))} for each draw, {_readable(sizes[largest])} of it for "
        f"{largest}. If you have not done so, leave {largest} out with `var_names=` and keep its "
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
