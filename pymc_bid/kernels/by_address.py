"""Large functions that kernels call by their address, compiled once and for themselves.

numba compiles a function anew as a part of each kernel that calls it, by whatever way: what a
kernel takes to compile is all that it calls. Behind an address the kernel does not see the
function, and both can be compiled at the same time.
"""

import copyreg
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from pymc_bid.kernels.compilation import part


class ByAddress:
    """A function that kernels call by its address, as numba's functions call each other.

    Parameters
    ----------
    result : numba type
    function : function

    Attributes
    ----------
    call : function
        Inside a kernel, ``call(address, arguments)`` with a tuple of arguments.
    """

    def __init__(self, result, function: Callable):
        # What pickle knows it by.
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self.__doc__ = function.__doc__
        self._result = result
        self._function = part()(function)
        self._addresses: dict[tuple, int] = {}
        self._postponed_in: int | None = None
        self.call = _make_call(result, self._addresses)

    def address(self, *kinds) -> int:
        """Return the address of the function for arguments of these types, in this process."""
        address = self._addresses.setdefault(kinds, 0)
        if address == 0 and self._postponed_in != threading.get_ident():
            self._function.compile(kinds)
            compiled: Any = self._function.overloads[kinds]
            if compiled.signature.return_type != self._result:
                raise TypeError(f"The function returns {compiled.signature.return_type}.")
            address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
            self._addresses[kinds] = address
        return address

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Within, in this thread, return 0 for an address not known: to compile what calls it."""
        self._postponed_in = threading.get_ident()
        try:
            yield
        finally:
            self._postponed_in = None

    def kinds_at(self, address: int) -> tuple | None:
        """Return the types of the arguments of the function at an address, None for none."""
        known = {address: kinds for kinds, address in self._addresses.items() if address}
        return known.get(address)

    def __reduce__(self) -> str:
        return self.__qualname__


def keep_address_out(kind: type, function: ByAddress) -> None:
    """Pickle named tuples of a kind without the address of a function, their last field.

    It is another one in each process.
    """

    def reduce(value):
        return _restore, (kind, value[:-1], function, function.kinds_at(value[-1]))

    copyreg.pickle(kind, reduce)


def _restore(kind: type, fields: tuple, function: ByAddress, kinds: tuple | None):
    return kind(*fields, 0 if kinds is None else function.address(*kinds))


def _make_call(result, known: dict[tuple, int]):
    @intrinsic
    def call(typing_context, address, arguments):
        kinds = tuple(numba.types.unliteral(kind) for kind in arguments)
        if kinds not in known:
            # The address would be that of a function that takes its arguments for something else.
            raise TypingError(f"No function was asked for that takes {kinds}.")

        def generate(context, builder, signature, values):
            convention = context.call_conv
            pointer = convention.get_function_type(result, kinds).as_pointer()
            function = builder.inttoptr(values[0], pointer)
            passed = cgutils.unpack_tuple(builder, values[1])
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, values[0])):
                message = "A function that was not compiled is called."
                convention.return_user_exc(builder, RuntimeError, (message,))
            status, found = convention.call_function(builder, function, result, kinds, passed)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return found

        return result(address, numba.types.Tuple(kinds)), generate

    return call
