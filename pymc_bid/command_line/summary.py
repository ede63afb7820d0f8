"""What the terminal shows when a run has ended."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pymc_bid.command_line.terminal import knows_all_letters, plain
from pymc_bid.plots.chains import WORTH_A_NAME

if TYPE_CHECKING:
    from pymc_bid.command_line.fit import Outcome

LONGEST_TABLE = 30
UNITS = {
    "columns": "each column standardised",
    "none": "in the units of the data",
}


def columns_to_show(outcome: "Outcome") -> pd.DataFrame:
    """Return the inclusion table with what is worth showing, the most probable first."""
    table = outcome.result.inclusion
    table["chosen"] = np.isin(np.arange(len(table)), outcome.result.positions)
    table = table[(table["inclusion"] >= WORTH_A_NAME) | table["chosen"]]
    return table.sort_values(["inclusion", "chosen"], ascending=False, kind="stable")


def headline(outcome: "Outcome") -> str:
    """Return one sentence that says what was found."""
    result, size = outcome.result, outcome.result.size
    number = f"{len(result.columns)} of {result.data.sizes['basis']} columns"
    if outcome.options.k is not None:
        return f"The {number} that explain the others best."
    probable = f"K = {size.idxmax()} with probability {size.max():.2f}"
    return f"{number} explain the others ({probable})."


def print_summary(outcome: "Outcome", written: Iterable[Path]) -> None:
    """Print a table of the columns, the error and the verdict."""
    console = Console()
    result, options = outcome.result, outcome.options
    shown = columns_to_show(outcome)
    console.print(Text(headline(outcome), style="bold"))
    table = Table(title=None, show_edge=False, pad_edge=False)
    table.add_column("column")
    for heading in ("probability", "± MCSE", "chosen"):
        table.add_column(heading, justify="right")
    if outcome.planted is not None:
        table.add_column("planted", justify="right")
    for name, row in shown.head(LONGEST_TABLE).iterrows():
        error = "" if np.isnan(row["mcse"]) else f"{row['mcse']:.3f}"
        cells = [plain(name), f"{row['inclusion']:.3f}", error, "yes" if row["chosen"] else ""]
        if outcome.planted is not None:
            cells.append("yes" if name in outcome.planted else "")
        # Names may hold what rich would take for instructions.
        table.add_row(*map(Text, cells), style="bold" if row["chosen"] else "")
    console.print(table)
    lines = []
    if len(shown) > LONGEST_TABLE:
        lines.append(f"{len(shown) - LONGEST_TABLE} more columns have 0.05 or more.")
    groups = result.groups
    if len(groups):
        some = "; ".join("/".join(map(str, members)) for members in groups["columns"].iloc[:4])
        lines.append(f"interchangeable: {some}")
    lines.append(f"mean squared error of C·W: {result.mse:.4g} ({UNITS[options.scale]})")
    lines.append(str(outcome.verdict))
    if outcome.interrupted:
        sizes = outcome.idata["posterior"].sizes
        lines.append(f"interrupted; {sizes['chain']} chains of {sizes['draw']} draws were kept.")
    lines += [f"written: {path}" for path in written]
    console.print(Text("\n".join(lines)))


def print_json(outcome: "Outcome", written: Iterable[Path]) -> None:
    """Print everything that the table shows, and more, as JSON."""
    result, options, verdict = outcome.result, outcome.options, outcome.verdict
    sizes = outcome.idata["posterior"].sizes
    found: dict[str, Any] = {
        "source": outcome.source,
        "rows": result.data.sizes["row"],
        "columns": result.data.sizes["column"],
        "model": options.model,
        "identity": not options.paper,
        "scale": options.scale,
        "seed": options.seed,
        "chains": sizes["chain"],
        "draws": sizes["draw"],
        "interrupted": outcome.interrupted,
        "chosen": [str(name) for name in result.columns],
        "planted": outcome.planted,
        "number_of_columns": {str(k): float(p) for k, p in result.size.items()},
        "inclusion": {str(name): float(p) for name, p in result.inclusion["inclusion"].items()},
        "interchangeable": [list(map(str, members)) for members in result.groups["columns"]],
        "mean_squared_error": result.mse,
        "converged": verdict.converged,
        "verdict": list(verdict.reasons),
        "notes": list(outcome.notes),
        "written": [str(path) for path in written],
    }
    text = json.dumps(
        found, indent=2, allow_nan=False, ensure_ascii=not knows_all_letters(sys.stdout)
    )
    print(text)
