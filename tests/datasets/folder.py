"""Where the paper's data are, if they are."""

import os
from pathlib import Path

import pytest

_named = os.environ.get("PYMC_BID_DATA")
FOLDER = Path(_named) if _named else Path(__file__).parents[3] / "shared" / "data"

needs_data = pytest.mark.skipif(
    not (FOLDER / "ccle_ec50.txt").is_file(),
    reason="the paper's data are not ours to commit: name their folder by PYMC_BID_DATA",
)
