"""Ctrl-C while compiled code runs: kernels with a lot to do look up from it now and then.

Python notes a signal at once but handles it only between two of its own instructions, so that one
would wait for the end of the kernel.
"""

import threading

from numba.core import cgutils, types
from numba.extending import intrinsic

from pymc_bid.kernels.compilation import spread

LONG = 1e5
"""Products of two numbers, some tenths of a millisecond, that are made without looking up, which
takes about as long as a thousand of them."""
OF_A_DRAW = 100
"""Products that take as long as a draw from a truncated normal distribution."""

waiting: list[float] = []
"""When interrupts came in that are held back, see `pymc_bid.steps.interrupts`."""


class GaveWay(BaseException):
    """Work was broken off because an interrupt waits."""


def give_way() -> None:
    """Break work off if an interrupt waits; one that nobody holds back is handled here."""
    if waiting and threading.current_thread() is threading.main_thread():
        raise GaveWay


@intrinsic
def _call_give_way(typing_context):
    """Inside a kernel, call `give_way`; what it raises ends the kernel."""

    def generate(context, builder, signature, arguments):
        python = context.get_python_api(builder)
        name = context.insert_const_string(builder.module, __name__)
        module = python.import_module(name)
        function = python.object_getattr_string(module, give_way.__name__)
        result = python.call_function_objargs(function, ())
        python.decref(function)
        python.decref(module)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, result)):
            context.call_conv.return_exc(builder)
        python.decref(result)
        return context.get_dummy_value()

    return types.none(), generate


@spread()
def let_interrupts_in(products):
    """Inside a kernel, let an interrupt in if as many products as these come next."""
    if products > LONG:
        _call_give_way()
