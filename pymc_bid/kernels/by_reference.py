"""Named tuples by reference inside kernels.

numba copies a named tuple, and counts references to every array in it, wherever it is passed or
read from; most of what there was to compile of a kernel with large ones was that. One by reference
is an address. Its fields are read by the same names, and can be assigned to.

Python hands over a named tuple array by array, which for the large ones takes longer than what a
kernel does with them; `held_by_reference` makes that one address too.
"""

from functools import cache
from typing import Any

import numba
from numba.experimental import structref
from numba.extending import overload

from pymc_bid.kernels.compilation import kernel, part

# Most of its names are made in ways that type checkers do not follow.
types: Any = numba.types


@structref.register
class ByReference(types.StructRef):
    """The type of a named tuple by reference."""


class Held(structref.StructRefProxy):
    """A named tuple by reference, as Python has it."""


structref.define_boxing(ByReference, Held)

MOST_HELD = 4
"""Named tuples that are held for Python, with their arrays."""
_held: dict[tuple[int, ...], tuple[tuple, Held]] = {}

NAMED = (types.NamedTuple, types.NamedUniTuple)


def by_reference(value):
    """Inside a kernel, return a named tuple by reference, those in its fields included."""
    raise NotImplementedError("by_reference() is for kernels.")


@overload(by_reference)
def _copy_of(value):
    if isinstance(value, ByReference):
        return lambda value: value
    if not isinstance(value, NAMED):
        return None
    # numba compiles nothing that goes through fields by name: the lines have to be written out.
    lines, space = ["def copy(value):"], {"__name__": __name__, "new": structref.new}
    made = _write_copy(value, "value", lines, space)
    exec("\n".join([*lines, f"    return {made}"]), space)
    return space["copy"]


def _write_copy(kind, given: str, lines: list[str], space: dict) -> str:
    """Write lines that copy a named tuple; return what the copy is called in them."""
    made = f"made_{len(lines)}"
    space[f"kind_of_{made}"] = type_by_reference(kind)
    lines.append(f"    {made} = new(kind_of_{made})")
    for name, field in zip(kind.fields, kind.types, strict=True):
        found = f"{given}.{name}"
        if isinstance(field, NAMED):
            found = _write_copy(field, found, lines, space)
        lines.append(f"    {made}.{name} = {found}")
    return made


@cache
def type_by_reference(field):
    """Return the type that a field has in a named tuple by reference."""
    if not isinstance(field, NAMED):
        return types.unliteral(field)
    fields = zip(field.fields, field.types, strict=True)
    return ByReference([(name, type_by_reference(kind)) for name, kind in fields])


@kernel()
def _hold(value):
    """Return a named tuple by reference to Python."""
    return by_reference(value)


def held_by_reference(kind: type, *fields) -> Held:
    """Return a named tuple as kernels take it fastest, the same for the same fields.

    Its arrays are shared.
    """
    # Fields that are held can't have given their identity to others.
    key = tuple(map(id, fields))
    if key not in _held:
        if len(_held) == MOST_HELD:
            del _held[next(iter(_held))]
        _held[key] = fields, _hold(kind(*fields))
    return _held[key][1]


@part()
def copy_into(source, into):
    """Copy a vector into one that is at least as long.

    numba's assignment of arrays to arrays compiles how to word an error, seven seconds of it.
    """
    for i in range(source.size):
        into[i] = source[i]
