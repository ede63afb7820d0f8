"""How many examples were tried and what they ended in, said at the end of a run."""

import pytest

FUZZED = "examples"


@pytest.fixture
def report(record_property):
    """Keep the outcomes of a test for the summary; reports carry them from xdist's workers too."""

    def keep(outcomes):
        record_property(FUZZED, dict(outcomes))

    return keep


@pytest.fixture(autouse=True)
def _no_rehearsals(monkeypatch):
    """Steps are made by the hundred, by one process, in which kernels are compiled once anyway."""
    monkeypatch.setattr("pymc_bid.steps.base.rehearse", lambda *arguments: [])


def pytest_terminal_summary(terminalreporter):
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    found = [
        (report.nodeid, value)
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == FUZZED
    ]
    if not found:
        return
    tried = sum(sum(value.values()) for _, value in found)
    terminalreporter.section(f"{tried} fuzzed examples")
    for test, value in found:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(value.items()))
        terminalreporter.line(f"{test.rpartition('/')[2]}: {kinds}")
