"""What tests of several folders are given."""

import os
import signal
from pathlib import Path

import pytest


def pytest_sessionstart(session):
    """Compile what most tests need before xdist's workers start, which would each compile it."""
    if not getattr(session.config.option, "numprocesses", None):
        return
    import numpy as np
    import pymc as pm

    import pymc_bid as bid

    A = np.random.default_rng(0).normal(size=(20, 17))
    for model in (bid.gbt(A[:, :5], identity=True), bid.gbtn(A[:, :5]), bid.gbt(A)):
        with model:
            pm.sample(1, tune=1, chains=1, progressbar=False, compute_convergence_checks=False)


@pytest.fixture
def interpreted():
    """PyTensor as an interpreter, where its numbers are wanted and not what it compiles."""
    import pytensor

    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        yield


@pytest.fixture
def interruptible():
    """Interrupts as on a terminal: a shell has what it starts in its background ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def paper_data():
    """The folder with the paper's data; a test that asks for it is skipped where there is none."""
    named = os.environ.get("PYMC_BID_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not (folder / "ccle_ec50.txt").is_file():
        pytest.skip("the paper's data are not ours to commit: name their folder by PYMC_BID_DATA")
    return folder


@pytest.fixture(
    params=[
        pytest.param(16, id="noise integrated out"),
        pytest.param(2, id="noise given", marks=pytest.mark.slow),
    ]
)
def few_columns(request, monkeypatch):
    """Both ways of a ladder, for what tables of few columns are tested on."""
    monkeypatch.setattr("pymc_bid.steps.marginal.FEW_COLUMNS", request.param)
