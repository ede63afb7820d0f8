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


def notes_of(outcome: "Outcome") -> list[str]:
    """Return what else is to be said of a run, each a sentence."""
    notes = list(outcome.notes)
    if outcome.interrupted:
        sizes = outcome.idata["posterior"].sizes
        notes.append(
            f"Sampling was interrupted; {sizes['chain']} chains of {sizes['draw']} draws were kept."
        )
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
    table.add_column("R² given the chosen", justify="right")
    table.add_column("chosen")
    if outcome.planted is not None:
        table.add_column("planted")
    for name, row in shown.head(LONGEST_TABLE).iterrows():
        explained = ""
        if np.isfinite(row["r2"]):
            explained = f"{row['r2']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})"
        cells = [plain(name), with_error(row), explained, "yes" if row["chosen"] else ""]
        if outcome.planted is not None:
            cells.append("yes" if name in outcome.planted else "")
        # Names may hold what rich would take for instructions.
        table.add_row(*map(Text, cells), style="bold" if row["chosen"] else "")
    console.print(table)
    lines = []
    if len(shown) > LONGEST_TABLE:
        lines.append(f"… and {len(shown) - LONGEST_TABLE} more columns.")
    lines.append(number_sentence(outcome))
    for members in result.groups["columns"].iloc[:4]:
        lines.append(f"interchangeable: {' / '.join(map(plain, members))}")
    lines.append(f"mean squared error of C·W: {result.mse:.4g} ({UNITS[outcome.options.scale]})")
    lines.append(str(outcome.verdict))
    lines += map(plain, notes_of(outcome))
    lines += [f"written: {path}" for path in written]
    console.print(Text("\n".join(filter(None, lines))))


def with_error(row: pd.Series) -> str:
    """Return a probability with its Monte Carlo error, if that is known."""
    error = "" if np.isnan(row["mcse"]) else f" ± {row['mcse']:.3f}"
    return f"{row['inclusion']:.3f}{error}"


def print_json(outcome: "Outcome", written: Iterable[Path]) -> None:
    """Print everything that the table shows, and more, as JSON."""
    result, options, verdict = outcome.result, outcome.options, outcome.verdict
    sizes = outcome.idata["posterior"].sizes
    found: dict[str, Any] = {
        "source": outcome.source,
        "headline": result.headline(),
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
        "inclusion": _numbers(result.inclusion["inclusion"]),
        "inclusion_mcse": _numbers(result.inclusion["mcse"]),
        "r2": {str(name): _numbers(row) for name, row in result.r2.iterrows()},
        "mean_r2": _numbers(result.mean_r2),
        "sets": [_numbers(row) for _, row in result.sets.iterrows()],
        "interchangeable": [_numbers(row) for _, row in result.groups.iterrows()],
        "constant": _numbers(result.constants),
        "mean_squared_error": result.mse,
        "weights_from_draws": int(result.data.attrs["draws_used"]),
        "weights": {str(name): _numbers(row) for name, row in result.W.to_pandas().iterrows()},
        "weights_sd": {
            str(name): _numbers(row) for name, row in result.W_sd.to_pandas().iterrows()
        },
        "converged": verdict.converged,
        "verdict": list(verdict.reasons),
        "diagnostics": {str(name): _numbers(row) for name, row in verdict.table.iterrows()},
        "notes": list(outcome.notes),
        "written": [str(path) for path in written],
    }
    escaped = not knows_all_letters(sys.stdout)
    print(json.dumps(found, indent=2, allow_nan=False, ensure_ascii=escaped))


def _numbers(row: pd.Series) -> dict[str, Any]:
    """Return a row of a table as JSON takes it, with null for what is not known."""
    return {str(name): _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return [str(name) for name in value]
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() and not isinstance(value, float) else number
