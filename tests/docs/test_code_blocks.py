"""Every code block of the README and of the pages is run, with few draws."""

import re
import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.command_line.main import make_parser

matplotlib.use("Agg")
pytestmark = pytest.mark.documentation

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
# Has a test of its own, next to this one.
ELSEWHERE = {"priors"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page, language):
    return [code for kind, code in BLOCK.findall(page.read_text("utf-8")) if kind == language]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page, "python") and page.stem not in ELSEWHERE],
    ids=lambda page: page.stem,
)
def test_the_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    few = {"draws": 50, "tune": 40, "chains": 2, "cores": 1, "progressbar": False}
    original = pm.sample

    def sample(draws=None, **given):
        return original(**{**given, **few, "random_seed": 1})

    monkeypatch.setattr(pm, "sample", sample)
    monkeypatch.chdir(tmp_path)
    if page.stem == "command_line":
        write_result(tmp_path / "result.nc")
    namespace = {}
    with warnings.catch_warnings():
        # So few draws do not converge, and are told so.
        warnings.simplefilter("ignore")
        for code in blocks(page, "python"):
            exec(compile(code, str(page), "exec"), namespace)
    matplotlib.pyplot.close("all")


def write_result(path):
    A = bid.datasets.make_planted(rows=20, columns=4, rank=2, seed=0).A
    with bid.gbt(A, k=2, identity=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bid.decompose(pm.sample(), A).to_netcdf(path)


def check_sphinx(arguments):
    assert arguments[-2] == "docs" and (ROOT / "docs" / "conf.py").exists()


def check_install(arguments):
    requirement = arguments[-1]
    extras = re.fullmatch(r"\.\[([\w,]+)\]", requirement)
    assert extras is not None, requirement
    listed = (ROOT / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in listed for extra in extras[1].split(","))


def check_command(words):
    """Check that a command is one that exists; long ones are run elsewhere, by `.ci/run`."""
    program, *arguments = words
    if program == "pymc-bid":
        make_parser().parse_args(arguments)
    elif program == "python" and arguments[0] == "-m":
        known = {"pip": check_install, "sphinx": check_sphinx}
        assert find_spec(arguments[1]) is not None or arguments[1] in {"sphinx"}
        known.get(arguments[1], lambda _: None)(arguments)
    elif program == "python":
        assert (ROOT / arguments[0]).exists(), arguments[0]
    else:
        assert program in {"ruff", "mypy"}, program


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "bash")], ids=lambda p: p.stem)
def test_the_commands_of_a_page_exist(page):
    for code in blocks(page, "bash"):
        for line in code.strip().splitlines():
            for part in line.split("&&"):
                words = shlex.split(part, comments=True)
                if words:
                    check_command(words)


def test_every_language_of_a_block_is_known():
    for page in PAGES:
        kinds = {kind for kind, _ in BLOCK.findall(page.read_text("utf-8"))}
        assert kinds <= {"python", "bash", "text"}, page
