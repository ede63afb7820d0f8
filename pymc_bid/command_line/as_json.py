"""Everything that the report shows, for programs."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pymc_bid.command_line.summary import CREDIBLE
from pymc_bid.command_line.terminal import knows_all_letters
from pymc_bid.results.size_prior import size_prior

if TYPE_CHECKING:
    from pymc_bid.command_line.fit import Outcome


def print_json(outcome: "Outcome", written: Iterable[Path]) -> None:
    """Print everything that the table shows, and more, as JSON."""
    result, options, verdict = outcome.result, outcome.options, outcome.verdict
    sizes = outcome.idata["posterior"].sizes
    prior = size_prior(outcome.model, "r")
    found: dict[str, Any] = {
        "source": outcome.source,
        "headline": result.headline(),
        "rows": result.data.sizes["row"],
        "columns": result.data.sizes["column"],
        "model": options.model if options.paper else "column_selection",
        "hierarchical": options.model == "gbtn",
        "identity": not options.paper,
        "scale": options.scale,
        **{name: getattr(options, name) for name in ("k", "expected", "include", "exclude")},
        "noise": options.noise or ("common" if options.paper else "column"),
        "seed": options.seed,
        "chains": sizes["chain"],
        "draws": sizes["draw"],
        "interrupted": outcome.interrupted,
        "chosen": [str(name) for name in result.columns],
        "planted": outcome.planted,
        "number_of_columns": {str(k): float(p) for k, p in result.size.items()},
        "number_of_columns_before": None if prior is None else _numbers(pd.Series(prior)),
        "inclusion": _numbers(result.inclusion["inclusion"]),
        "inclusion_mcse": _numbers(result.inclusion["mcse"]),
        "r2": _rows(result.r2),
        "mean_r2": _numbers(result.mean_r2),
        "sets": [_numbers(row) for _, row in result.sets.iterrows()],
        "credible_sets": [_numbers(row) for _, row in result.credible_sets(CREDIBLE).iterrows()],
        "interchangeable": [_numbers(row) for _, row in result.groups.iterrows()],
        "constant": _numbers(result.constants),
        "scores": _rows(outcome.alternatives.scores),
        "size_curve": _rows(outcome.alternatives.curve),
        "replacements": _rows(outcome.alternatives.replacements),
        "mean_squared_error": result.mse,
        "weights_from_draws": int(result.data.attrs["draws_used"]),
        "weights": _rows(result.W.to_pandas()),
        "weights_sd": _rows(result.W_sd.to_pandas()),
        "slopes": _rows(result.slopes.to_pandas()),
        "intercept": _numbers(result.intercept.to_pandas()),
        "converged": verdict.converged,
        "verdict": list(verdict.reasons),
        "diagnostics": _rows(verdict.table),
        "notes": list(outcome.notes),
        "written": [str(path) for path in written],
    }
    escaped = not knows_all_letters(sys.stdout)
    print(json.dumps(found, indent=2, allow_nan=False, ensure_ascii=escaped))


def _rows(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return a table by its rows, null if there is none."""
    if table is None:
        return None
    return {str(name): _numbers(row) for name, row in table.iterrows()}


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
