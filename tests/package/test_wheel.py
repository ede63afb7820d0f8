"""What is in the wheel, and what it says about itself."""

import email
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pymc_bid

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = wheel.namelist()
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pymc_bid").rglob("*")
        if path.is_file() and path.suffix in {".py", ".html", ".typed"}
    } | {"pymc_bid/py.typed"}
    information = {name for name in names if ".dist-info/" in name}
    assert set(names) - information == sources
    assert {Path(name).name for name in information} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "LICENSE",
        "entry_points.txt",
    }


def test_the_metadata_have_the_version_the_extras_and_the_readme(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    metadata = email.message_from_string(wheel.read(name).decode())
    assert metadata["Version"] == pymc_bid.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert {"datasets", "dask", "plots", "docs", "test", "comparison"} <= set(
        metadata.get_all("Provides-Extra")
    )
    assert metadata.get_payload().startswith("# pymc-bid")
    # Without an extra: draws can be written to netCDF after a plain installation.
    assert {"h5netcdf", "h5py"} <= set(metadata.get_all("Requires-Dist"))


def test_the_command_is_installed(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "pymc-bid = pymc_bid.command_line.main:main" in wheel.read(name).decode()
