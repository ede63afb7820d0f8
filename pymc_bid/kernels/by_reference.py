"""Named tuples by reference inside kernels.

numba copies a named tuple, and counts references to every array in it, wherever it is passed or
read from; most of what there was to compile of a kernel with large ones was that. One by reference
is an address. Its fields are read by the same names, and can be assigned to.
"""

from functools import cache
from typing import Any

import numba
from numba.experimental import structref
from numba.extending import overload

from pymc_bid.kernels.compilation import part

# Most of its names are made in ways that type checkers do not follow.
types: Any = numba.types


@structref.register
class ByReference(types.StructRef):
    """The type of a named tuple by reference."""


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
    lines = ["def copy(value):", "    made = new(kind)"]
    for name, field in zip(value.fields, value.types, strict=True):
        found = f"by_reference(value.{name})" if isinstance(field, NAMED) else f"value.{name}"
        lines.append(f"    made.{name} = {found}")
    space = {
        "__name__": __name__,
        "new": structref.new,
        "kind": type_by_reference(value),
        "by_reference": by_reference,
    }
    exec("\n".join([*lines, "    return made"]), space)
    return space["copy"]


@cache
def type_by_reference(field):
    """Return the type that a field has in a named tuple by reference."""
    if not isinstance(field, NAMED):
        return types.unliteral(field)
    fields = zip(field.fields, field.types, strict=True)
    return ByReference([(name, type_by_reference(kind)) for name, kind in fields])


@part()
def copy_into(source, into):
    """Copy a vector into one that is at least as long.

    numba's assignment of arrays to arrays compiles how to word an error, seven seconds of it.
    """
    for i in range(source.size):
        into[i] = source[i]
