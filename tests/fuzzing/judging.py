"""What an example may end in: a clear error of this package, or draws that can be used."""

import contextlib
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings

import pymc_bid as bid

PACKAGE = Path(bid.__file__).parent
CLEAR = (TypeError, ValueError, FloatingPointError)
DRAWN = "drawn"
ITERATIONS = 2
"""Of tuning, and as many after it."""


def try_all(strategy, judge: Callable[..., str], number: int) -> Counter:
    """Judge as many examples, the same every time; return how often each outcome was met."""
    outcomes: Counter = Counter()

    @settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def judge_one(example):
        outcomes[judge(example)] += 1

    judge_one()
    return outcomes


@contextlib.contextmanager
def strictly() -> Iterator[None]:
    """Make errors of NumPy's warnings: what a user has no use for is no answer either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


def kind_of(error: Exception, names: Iterable[str]) -> str:
    """Return the type of an error, if it is one that a user can act on.

    This package raised it, by a statement of its own, in words with one of the names.
    """
    where = traceback.extract_tb(error.__traceback__)[-1]
    lines = Path(where.filename).read_text(encoding="utf-8").splitlines()
    statement = " ".join(lines[where.lineno - 1 : where.end_lineno])
    assert PACKAGE in Path(where.filename).parents, f"by somebody else: {error!r}"
    assert "raise " in statement, f"by accident: {error!r}"
    named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(error)) for name in names)
    assert named, f"does not name what is wrong: {error}"
    return type(error).__name__


def make_steps(model) -> list:
    """Steps for a constructor's model, as `pm.sample` makes them."""
    fixed = "Subset" in type(model["r"].owner.op).__name__
    kinds = (bid.SwapStep if fixed else bid.FlipStep, bid.NoiseStep, bid.WeightStep)
    rngs = np.random.default_rng(0).spawn(len(kinds))
    with model:
        return [
            kind([model[name]], rng=rng)
            for kind, name, rng in zip(kinds, ("r", "sigma2", "Y"), rngs, strict=True)
        ]


def walk(steps, point, lower=-np.inf, upper=np.inf) -> None:
    """Iterate over steps, tuning first; every point has to be within the support."""
    for iteration in range(2 * ITERATIONS):
        for step in steps:
            if iteration == ITERATIONS:
                step.stop_tuning()
            point, _ = step.step(point)
            assert_usable(point, lower, upper)


def assert_usable(point, lower=-np.inf, upper=np.inf) -> None:
    """Every value is finite, within its bounds, 0 or 1, or positive, as the variable is."""
    for name, value in point.items():
        assert np.isfinite(value).all(), (name, value)
        if name == "r":
            assert np.isin(value, (0, 1)).all(), value
        elif name == "Y":
            assert ((value >= lower) & (value <= upper)).all(), value
        elif name in ("sigma2", "omega2"):
            assert (value > 0).all(), (name, value)
