"""The command from end to end: table, JSON, files, exit codes, Ctrl-C."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.command_line.main import DONE, INTERRUPTED, NOT_CONVERGED, UNUSABLE, main

SHORT = ["--draws", "60", "--tune", "60", "--chains", "2", "--cores", "1", "--seed", "3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A CSV file run through the command: exit code, JSON, and the folder with what it wrote."""
    folder = tmp_path_factory.mktemp("run")
    planted = bid.datasets.make_planted(rows=40, columns=8, rank=3, noise=0.1, seed=2)
    planted.A.mul(100).add(7).rename_axis("sample").to_csv(folder / "data.csv", index=False)
    files = ["--out", str(folder / "result.nc"), "--report", str(folder / "report.html")]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["fit", str(folder / "data.csv"), *SHORT, "--json", *files])
    return planted, code, out.getvalue(), folder


def test_json_is_all_that_is_printed_and_has_the_planted_columns(run):
    planted, code, printed, folder = run
    found = json.loads(printed)
    assert code == (DONE if found["converged"] is not False else NOT_CONVERGED)
    assert found["chosen"] == planted.columns
    assert found["seed"] == 3 and found["draws"] == 60 and found["identity"] is True
    assert found["written"] == {
        "result": str(folder / "result.nc"),
        "report": str(folder / "report.html"),
    }


def test_the_result_file_has_the_units_of_the_data(run):
    planted, _, _, folder = run
    result = bid.InterpolativeDecomposition.from_netcdf(folder / "result.nc")
    assert result.columns == planted.columns
    data = planted.A.to_numpy() * 100 + 7
    restored = result.data["C"] * result.data["scale"][result.positions].values
    restored = restored + result.data["centre"][result.positions].values
    np.testing.assert_allclose(restored, data[:, result.positions])


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.sources, self.text, self.viewport = [], [], False

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.sources += [named[key] for key in ("src", "srcset", "href") if key in named]
        self.viewport |= named.get("name") == "viewport"

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_one_page_that_loads_nothing(run):
    planted, _, _, folder = run
    content = (folder / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(content)
    words = "".join(page.text)
    assert page.viewport and len(page.sources) == 10
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert "http" not in re.sub('base64,[^"]*', "", content)
    assert all(name in words for name in planted.columns)
    assert 'from_netcdf("result.nc")' in words and "$" not in words
    assert any(verdict in words for verdict in ("chains agree", "Not converged"))


def test_the_table_names_columns_and_exit_codes_tell_convergence(tmp_path, capsys):
    code = main(["fit", *SHORT[:4], "--chains", "1", "--seed", "1", "--quiet", "--k", "2"])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert code == DONE  # one chain: can't tell
    assert "probability" in printed.out and "planted" in printed.out
    assert "There is one chain" in printed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "99"], "k must be between 0 and the 15 columns"),
        (["--out", "nowhere/result.nc"], "--out: there is no folder nowhere"),
        (["--report", "."], "--report: . can't be written"),
        (["--drop", "c99"], "no column c99"),
    ],
)
def test_what_can_be_known_before_sampling_is_said_before(arguments, message, capsys):
    assert main(["fit", *arguments]) == UNUSABLE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_does_not_import_pymc(arguments):
    code = f"""
import sys
sys.orig_argv[1:3] = ["-m", "pymc_bid"]
from pymc_bid.command_line.main import main
try:
    main({arguments!r})
finally:
    assert "pymc" not in sys.modules, "pymc was imported"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pymc-bid" in done.stdout


@pytest.mark.skipif(
    os.name == "nt", reason="Windows has no pseudo-terminals, on which progress is drawn"
)
def test_an_interrupt_keeps_what_was_drawn(tmp_path):
    # A terminal of its own: progress bars are drawn while sampling only there.
    terminal, other = os.openpty()
    command = [sys.executable, "-m", "pymc_bid", "fit", "--chains", "1", "--cores", "1"]
    command += ["--tune", "5", "--draws", "50000", "--out", str(tmp_path / "result.nc"), "--json"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=other,
        cwd=Path(bid.__file__).parents[1],
        start_new_session=True,
        # A shell starts processes in the background with interrupts ignored, and so their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(other)
    drawing = threading.Event()
    threading.Thread(target=_watch, args=(terminal, drawing), daemon=True).start()
    assert drawing.wait(timeout=300)
    os.kill(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == INTERRUPTED
    found = json.loads(printed)
    assert found["interrupted"] and 0 < found["draws"] < 50000
    result = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "result.nc")
    assert result.columns == found["chosen"]


def _watch(terminal, drawing):
    """Read what is shown until the terminal closes; tell when many draws are there."""
    seen = ""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 4096):
            seen = (seen + part.decode(errors="replace"))[-20000:]
            draws = re.findall(r" (\d+) +\d+ +[\d.]+ +[\d.]+ draws/s", seen)
            if draws and int(draws[-1]) > 50:
                drawing.set()
