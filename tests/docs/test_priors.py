"""The page on priors is true: its examples run as they are written, its tests exist."""

import re
from pathlib import Path

import pymc as pm
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "priors.md"
TEXT = PAGE.read_text(encoding="utf-8")
INTRODUCTION, *EXAMPLES = re.split(r"^## (?=\d\. )", TEXT.split("## What is served")[0], flags=re.M)
SAMPLED_BY_NUTS = {"3"}


def code_of(section):
    return "\n".join(re.findall(r"^```python\n(.*?)^```", section, flags=re.M | re.S))


@pytest.fixture
def quick_sampling(monkeypatch):
    """A `pm.sample` that is short unless it is told otherwise."""
    sample = pm.sample
    quick = {
        "draws": 15,
        "tune": 35,
        "chains": 1,
        "cores": 1,
        "progressbar": False,
        "compute_convergence_checks": False,
        "random_seed": 1,
    }
    monkeypatch.setattr(pm, "sample", lambda *args, **options: sample(*args, **quick | options))


def test_there_are_four_examples():
    assert [section[:2] for section in EXAMPLES] == ["1.", "2.", "3.", "4."]


@pytest.mark.documentation
@pytest.mark.parametrize("section", EXAMPLES, ids=lambda section: section.splitlines()[0])
def test_an_example_runs_as_it_is_written(section, quick_sampling):
    namespace = {}
    exec(code_of(INTRODUCTION) + code_of(section), namespace)
    statistics = set(namespace["idata"]["sample_stats"])
    assert {"bid_K", "bid_nu"} <= statistics
    assert ("tree_depth" in statistics) == (section[0] in SAMPLED_BY_NUTS)


def test_every_test_that_is_named_exists():
    table = TEXT.split("<!-- what is served -->")[1]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            source = (PAGE.parents[1] / path).read_text(encoding="utf-8")
            assert f"\ndef {name}(" in source, f"{path}::{name}"
