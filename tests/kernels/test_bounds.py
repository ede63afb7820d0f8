"""No kernel reads or writes outside of its arrays: numba's bounds checking finds nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKED = (
    "tests/kernels",
    *(f"tests/steps/test_{name}.py" for name in ("starting_point", "numerics", "moves", "ladder")),
    *(f"tests/steps/test_{name}.py" for name in ("weights", "model_forms", "noise_and_entries")),
)


@pytest.mark.slow
def test_kernels_and_steps_stay_within_their_arrays(tmp_path):
    ignored = [
        f"--ignore={Path(__file__)}",
        f"--ignore={Path(__file__).parent}/test_compilation.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *ignored, *CHECKED],
        cwd=ROOT,
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert any(tmp_path.rglob("*.nbi")), "Nothing was compiled for it."
