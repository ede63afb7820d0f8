"""Importing the package costs little more than importing PyMC."""

import importlib
import subprocess
import sys

import pymc_bid as bid

SLOW = ("numba", "arviz", "matplotlib", "pymc_bid.kernels")


def test_nothing_slow_is_imported_that_pymc_does_not_import():
    code = f"""
import sys
import pymc
before = {{name for name in {SLOW!r} if name in sys.modules}}
import pymc_bid
print(sorted(set({SLOW!r}) & set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_found_where_they_are_said_to_be():
    assert set(bid.__all__) == set(bid._HOMES) | {"datasets"}
    for name, module in bid._HOMES.items():
        assert getattr(bid, name) is getattr(importlib.import_module(f"pymc_bid.{module}"), name)
    assert set(bid.__all__) <= set(dir(bid))
