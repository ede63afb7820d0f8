"""Models that stay as they were when something can't be added to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymc.model import Model


@contextmanager
def all_or_nothing(model: Model) -> Iterator[None]:
    """Take out of a model, and of those that it is a part of, what a failure within has left."""
    kept: list[tuple[Any, Any]] = []
    part: Model | None = model
    while part is not None:
        # Lists and dictionaries of variables, coords and data: whatever PyMC's line calls them.
        contents = [value for value in vars(part).values() if isinstance(value, list | dict)]
        kept += [(value, (dict if isinstance(value, dict) else list)(value)) for value in contents]
        part = part.parent
    try:
        yield
    except BaseException:
        for value, before in kept:
            # Not by methods of PyMC's own kinds, which would write to the other models as well.
            if isinstance(value, dict):
                dict.clear(value)
                dict.update(value, before)
            else:
                list.__setitem__(value, slice(None), before)
        raise
