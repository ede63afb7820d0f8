"""Bayesian interpolative decomposition for PyMC."""

import importlib
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymc_bid.api import *  # noqa: F403

__version__ = "0.1.0"


# numba, ArviZ and matplotlib together take longer to import than PyMC, so nothing is loaded before
# a public name is first asked for.
def __getattr__(name: str) -> Any:
    if name == "__all__" or not name.startswith("_"):
        api = vars(importlib.import_module("pymc_bid.api"))
        public = {name: value for name, value in api.items() if not name.startswith("_")}
        globals().update(public, __all__=list(public))
        _register()
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


def _register() -> None:
    from pymc_bid.registration import register_steps

    register_steps()


def _runs_as_command() -> bool:
    """Whether this is `pymc-bid` or `python -m pymc_bid`, whose --help needs no PyMC.

    A script of the user's is neither, whatever it is called: it has an ending.
    """
    command = PurePath(sys.argv[0]).name in ("pymc-bid", "pymc-bid.exe")
    return command or sys.orig_argv[1:3] == ["-m", __name__]


if not _runs_as_command():
    _register()
