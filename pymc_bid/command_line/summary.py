"""What the terminal shows when a run has ended."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pymc_bid.command_line.terminal import plain
from pymc_bid.plots.chains import WORTH_A_NAME
from pymc_bid.results.words import percent, percent_interval

if TYPE_CHECKING:
    from pymc_bid.command_line.fit import Outcome

LONGEST_TABLE = 30
CREDIBLE = 0.95
"""Probability of the sets that are listed."""
UNITS = {
    "columns": "each column standardised",
    "none": "in the units of the data",
}


def columns_to_show(outcome: "Outcome") -> pd.DataFrame:
    """Return a row for each column: the chosen and probable first, then what is explained best.

    `r2`, `lower` and `upper` are nan for the chosen ones.
    """
    result = outcome.result
    table = result.inclusion[["inclusion", "mcse"]]
    table["chosen"] = np.isin(np.arange(len(table)), result.positions)
    table = table.join(result.r2)
    table["probable"] = table["inclusion"].where(table["inclusion"] >= WORTH_A_NAME, 0.0)
    order = ["probable", "chosen", "r2"]
    return table.sort_values(order, ascending=False, kind="stable").drop(columns="probable")


def number_sentence(outcome: "Outcome") -> str:
    """Return a sentence about the number of columns, empty if it was given."""
    if outcome.options.k is not None:
        return ""
    size = outcome.result.size.sort_values(ascending=False, kind="stable")
    most = [f"{number} with probability {share:.2f}" for number, share in size.head(3).items()]
    return f"The number of columns K is {', '.join(most)}."


def sets_sentence(outcome: "Outcome") -> str:
    """Return a sentence about the sets that hold most of the posterior."""
    probable = outcome.result.credible_sets(CREDIBLE)
    share = f"{probable['frequency'].iloc[0]:.2f}"
    if len(probable) == 1:
        return f"One set, up to interchangeable columns, has a probability of {share}."
    hold = (
        f"{len(probable)} sets, up to interchangeable columns, hold {percent(CREDIBLE)} of the "
        "probability"
    )
    return f"{hold}; the one reported has {share}."


def notes_of(outcome: "Outcome") -> list[str]:
    """Return what else is to be said of a run, each a sentence."""
    notes = list(outcome.notes)
    if outcome.interrupted:
        sizes = outcome.idata["posterior"].sizes
        notes.append(
            f"Sampling was interrupted; {sizes['chain']} chains of {sizes['draw']} draws were "
            "kept, and no other sets were scored."
        )
    if outcome.alternatives.failure is not None:
        notes.append(f"Other sets could not be scored: {outcome.alternatives.failure}")
    return notes


def print_summary(outcome: "Outcome", written: Iterable[Path]) -> None:
    """Print a table of the columns, the error and the verdict."""
    console = Console()
    # Rich itself ends the process if nobody reads what it prints.
    with console.capture() as page:
        _print_page(console, outcome, written)
    print(page.get(), end="")


def _print_page(console: Console, outcome: "Outcome", written: Iterable[Path]) -> None:
    result = outcome.result
    shown = columns_to_show(outcome)
    console.print(Text(plain(result.headline()), style="bold"))
    table = Table(title=None, show_edge=False, pad_edge=False)
    table.add_column("column", overflow="fold")
    table.add_column("probability")
    table.add_column("R² given the chosen")
    table.add_column("chosen")
    if outcome.planted is not None:
        table.add_column("planted")
    for name, row in shown.head(LONGEST_TABLE).iterrows():
        cells = [plain(name), with_error(row), share_words(row), "yes" if row["chosen"] else ""]
        if outcome.planted is not None:
            cells.append("yes" if name in outcome.planted else "")
        # Names may hold what rich would take for instructions.
        table.add_row(*map(Text, cells), style="bold" if row["chosen"] else "")
    console.print(table)
    lines = []
    if len(shown) > LONGEST_TABLE:
        lines.append(f"… and {len(shown) - LONGEST_TABLE} more, with --report and --json.")
    lines += [number_sentence(outcome), sets_sentence(outcome)]
    for members in result.groups["columns"].iloc[:4]:
        lines.append(f"interchangeable: {' / '.join(map(plain, members))}")
    scores = outcome.alternatives.scores
    if scores is not None and worth_showing(scores):
        console.print(Text("\n".join(filter(None, lines))))
        lines = []
        console.print(_score_table(scores))
    lines.append(f"mean squared error of C·W: {result.mse:.4g} ({UNITS[outcome.options.scale]})")
    lines.append(str(outcome.verdict))
    lines += map(plain, notes_of(outcome))
    lines += [f"written: {path}" for path in written]
    console.print(Text("\n".join(filter(None, lines))))


def _score_table(scores: pd.DataFrame) -> Table:
    table = Table(title=None, show_edge=False, pad_edge=False)
    rows = ", held-out rows" * ("coverage" in scores)
    for heading in ("list", "columns", f"R² of the others{rows}", "log evidence", "probability"):
        table.add_column(heading, overflow="fold")
    for name, row in scores.iterrows():
        cells = [plain(name), str(row["size"]), *score_words(row)]
        table.add_row(*map(Text, cells))
    return table


def worth_showing(scores: pd.DataFrame) -> bool:
    """Whether scores say more than is known of what was found: of lists, or on other rows."""
    return len(scores) > 1 or "coverage" in scores


def score_words(row: pd.Series) -> list[str]:
    """Return R² with its interval, evidence with its error, and probability of a list."""
    evidence = f"{row['log_evidence']:.1f} ± {row['standard_error']:.1f}"
    return [share_words(row), evidence, f"{row['probability']:.3f}"]


def share_words(row: pd.Series) -> str:
    """Return R² with its interval in percent, empty if there is none."""
    if not np.isfinite(row["r2"]):
        return ""
    return percent_interval(row["r2"], row["lower"], row["upper"])


def with_error(row: pd.Series) -> str:
    """Return a probability with its Monte Carlo error, if that is known."""
    error = "" if np.isnan(row["mcse"]) else f" ± {row['mcse']:.3f}"
    return f"{row['inclusion']:.3f}{error}"
