"""One run that several files look at, of a table whose names terminals and pages could misread."""

import contextlib
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import pymc_bid as bid
from pymc_bid.command_line.fit import fit
from pymc_bid.command_line.interrupts import Interrupts
from pymc_bid.command_line.main import make_parser

SHORT = ["--draws", "60", "--tune", "60", "--chains", "2", "--cores", "1", "--seed", "3"]
NAMES = [
    "nitrate [mg/l]",
    "flow [/min]",
    r"$\bad$",
    '<b>bold</b> & "quoted"',
    "°C, outside",
    "red \x1b[31m",
    "c06",
    "c07",
]


@pytest.fixture(scope="package")
def run(tmp_path_factory):
    """A CSV file run through the command: what came out, and the folder with what it wrote."""
    folder: Path = tmp_path_factory.mktemp("run")
    planted = bid.datasets.make_planted(rows=40, columns=8, rank=3, noise=0.1, seed=2)
    names = dict(zip(planted.A.columns, NAMES, strict=True))
    table = planted.A.mul(100).add(7).rename(columns=names)
    table.to_csv(folder / "data.csv", index=False)
    (folder / "lists.txt").write_text(f"mine: {NAMES[6]}, {NAMES[7]}\n")
    files = ["--out", str(folder / "result.nc"), "--report", str(folder / "report.html")]
    files += ["--score", str(folder / "lists.txt"), "--expected", "3"]
    files += ["--include", "flow [/min]", "--exclude", "°C, outside", "--exclude", "c07"]
    options = make_parser().parse_args(["fit", str(folder / "data.csv"), *SHORT, "--json", *files])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        outcome = fit(options, Interrupts())
    return SimpleNamespace(
        outcome=outcome,
        folder=folder,
        table=table,
        columns=[names[name] for name in planted.columns],
        json=json.loads(out.getvalue()),
    )
