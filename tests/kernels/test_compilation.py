"""Kernels are compiled where nothing can be written to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pymc_bid

CALL = """
import sys, tempfile
import pymc
def mkdtemp(*arguments, **options):
    raise PermissionError
if "nowhere" in sys.argv:
    tempfile.mkdtemp = mkdtemp
import numpy as np
from numba import config
from pymc_bid.kernels.residual import squared_errors
print(squared_errors(np.array([0]), np.ones((1, 1)), np.ones((3, 1)), np.zeros((3, 1))))
print(config.CACHE_DIR)
"""


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package, and a cache, in which nobody can make a folder: not even root."""
    package = tmp_path / "site" / "pymc_bid"
    shutil.copytree(
        Path(pymc_bid.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    # numba's folder of a user; ArviZ 0.x needs others beside it.
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "numba").write_text("")
    (tmp_path / "temporary").mkdir()
    without = ("NUMBA_CACHE_DIR", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in without} | {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(cache),
        "PYTHONPATH": str(package.parent),
        "PYTENSOR_FLAGS": f"base_compiledir={tmp_path / 'pytensor'}",
        "TMPDIR": str(tmp_path / "temporary"),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="closes the folders of Linux's caches")
@pytest.mark.parametrize("where", ["temporary folder", "nowhere"])
def test_without_a_writable_cache_kernels_run_and_one_line_says_so(sealed, where):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CALL, where],
        env=sealed,
        cwd=sealed["TMPDIR"],
        capture_output=True,
        text=True,
        check=True,
    )
    result, folder = done.stdout.splitlines()
    assert result == "[3.]"
    assert done.stderr.count("no folder for compiled kernels can be written") == 1
    if where == "nowhere":
        assert folder == ""
        assert "every process compiles them anew" in done.stderr
    else:
        assert folder in done.stderr
        assert Path(folder).parent == Path(sealed["TMPDIR"])
        assert not Path(folder).exists()
