"""Named tuples held by reference inside kernels.

numba copies a named tuple, and counts references to every array in it, wherever it is passed or
read from; most of what there was to compile of a kernel with large ones was that. A held one is an
address. Its fields are read by the same names, and can be assigned to.
"""

from numba.core import types
from numba.experimental import structref
from numba.extending import overload

from pymc_bid.kernels.compilation import part


@structref.register
class Held(types.StructRef):
    """The type of a held named tuple."""


NAMED = (types.NamedTuple, types.NamedUniTuple)


def held(value):
    """Inside a kernel, return a named tuple by reference, those in its fields included."""
    raise NotImplementedError("held() is for kernels.")


@overload(held)
def _overload_held(value):
    if isinstance(value, Held):
        return lambda value: value
    if not isinstance(value, NAMED):
        return None
    fields = list(zip(value.fields, value.types, strict=True))
    kind = Held([(name, _held_type(field)) for name, field in fields])
    lines = ["def copy(value):", "    made = new(kind)"]
    for name, field in fields:
        whole = isinstance(field, NAMED)
        lines.append(
            f"    made.{name} = held(value.{name})" if whole else f"    made.{name} = value.{name}"
        )
    space = {"__name__": __name__, "new": structref.new, "kind": kind, "held": held}
    exec("\n".join([*lines, "    return made"]), space)
    return space["copy"]


def _held_type(field):
    if isinstance(field, NAMED):
        return Held([(n, _held_type(f)) for n, f in zip(field.fields, field.types, strict=True)])
    return types.unliteral(field)


@part()
def copy_into(source, into):
    """Copy a vector into one that is at least as long.

    numba's assignment of arrays to arrays compiles how to word an error, seven seconds of it.
    """
    for i in range(source.size):
        into[i] = source[i]
