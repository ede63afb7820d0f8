"""Importing the package costs little more than importing PyMC."""

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


def test_public_names_are_there_and_others_are_not():
    assert {"gbt", "FlipStep", "decompose", "plot_size", "datasets"} <= set(bid.__all__)
    assert set(bid.__all__) <= set(dir(bid))
    assert all(hasattr(bid, name) for name in bid.__all__)
    assert not hasattr(bid, "no_such_name")
