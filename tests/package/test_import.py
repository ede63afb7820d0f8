"""Importing the package costs little more than importing PyMC."""

import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("name", ["pymc-bid.py", "pymc-bid", "model.py"])
def test_a_script_finds_the_steps_whatever_it_is_called(name, tmp_path):
    script = tmp_path / name
    script.write_text(
        "import pymc_bid as bid\n"
        "bid.datasets\n"
        "from pymc.step_methods import STEP_METHODS\n"
        "assert STEP_METHODS[0].name == 'bid_flip', STEP_METHODS[0]\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_public_names_are_there_and_others_are_not():
    assert {"gbt", "FlipStep", "decompose", "plot_size", "datasets"} <= set(bid.__all__)
    assert set(bid.__all__) <= set(dir(bid))
    assert all(hasattr(bid, name) for name in bid.__all__)
    assert not hasattr(bid, "no_such_name")
