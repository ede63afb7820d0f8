"""Lists of columns that somebody has, and what other sets than the one found are worth."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm

from pymc_bid.command_line.main import Problem
from pymc_bid.command_line.reading import pick_names
from pymc_bid.command_line.terminal import plain
from pymc_bid.results.alternatives import replacements, size_curve
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.results.scores import score_sets

MORE = 3
"""How many more columns than were found the curve has at least; else half as many more."""
MOST_SIZES = 15
FOUND = "found"


class Alternatives(NamedTuple):
    """What other sets are worth; None where that is not known."""

    scores: pd.DataFrame | None = None
    curve: pd.DataFrame | None = None
    replacements: pd.DataFrame | None = None
    failure: str | None = None
    """Why it is not, if there was an error."""


def read_lists(path: Path | None, columns: pd.Index) -> dict[str, list[str]]:
    """Read named lists: a name of a column on each line, or a list with commas on each line.

    Such a list may have a name before a colon. What follows a # is not read.
    """
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file in UTF-8"
        raise Problem(f"--score: {path}: {reason}.") from None
    lines = [plain(line.split("#")[0]).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        raise Problem(f"--score: {path} has no names.")
    if not any("," in line or ":" in line for line in lines) or set(lines) <= set(columns):
        lists = {plain(path.stem): lines}
    else:
        lists = {}
        for number, line in enumerate(lines, start=1):
            name, colon, members = line.rpartition(":")
            if line in columns or not colon:
                name, members = f"list {number}", line
            name = name.strip()
            if name in lists or name == FOUND:
                kind = "what was found" if name == FOUND else "a list before it"
                raise Problem(f"--score: {path} calls a list {name}, which is {kind}.")
            lists[name] = [members.strip()]
    return {name: pick_names(asked, columns, "--score", path) for name, asked in lists.items()}


def check_scores(
    model: pm.Model, lists: dict[str, list[str]], held_out: pd.DataFrame | None
) -> None:
    """Find out before sampling that lists can be scored after it, and on held-out rows."""
    asked = [("--score", lists, None)] if lists else []
    asked += [("--held-out", {FOUND: []}, held_out)] if held_out is not None else []
    for option, sets, rows in asked:
        try:
            score_sets(model, sets, rows, best=False, draws=2, random_seed=0)
        except (TypeError, ValueError) as error:
            raise Problem(f"{option}: {error}") from None


def score_alternatives(
    model: pm.Model,
    idata: Any,
    result: InterpolativeDecomposition,
    lists: dict[str, list[str]],
    held_out: pd.DataFrame | None,
    seed: int | None,
) -> Alternatives:
    """Score the lists next to what was found, several numbers of columns, every replacement."""
    chosen, number = result.columns, len(result.columns)
    most = min(number + max(MORE, number // 2), result.data.sizes["basis"] - 1)
    sizes = {*np.linspace(0, most, MOST_SIZES).round().astype(int).tolist(), *result.size.index}
    try:
        sets = {FOUND: chosen, **lists}
        scores = score_sets(model, sets, held_out, best=False, random_seed=seed)
        curve = size_curve(model, sorted(sizes), held_out, idata=idata, random_seed=seed)
        cost = replacements(model, chosen) if chosen else None
    except (TypeError, ValueError) as error:
        # The draws are worth more than what is said beside them.
        return Alternatives(failure=str(error))
    return Alternatives(scores, curve, cost if cost is not None and cost.size else None)
