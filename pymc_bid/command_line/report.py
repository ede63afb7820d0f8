"""One page with everything that was found: pictures inside, nothing loaded from elsewhere."""

import base64
import io
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_bid.command_line.arguments import WHY_IDENTITY
from pymc_bid.command_line.summary import columns_to_show, headline
from pymc_bid.plots import (
    plot_decomposition,
    plot_error,
    plot_inclusion,
    plot_size,
    plot_weights,
)

if TYPE_CHECKING:
    from pymc_bid.command_line.fit import Outcome

LONGEST_TABLE = 60
WIDE, NARROW = 9.0, 4.2
"""Widths in inches for desks and for phones, where letters would otherwise shrink."""


def write_report(outcome: "Outcome", path: Path) -> None:
    """Write the report of a run to an HTML file."""
    page = Template(files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    path.write_text(page.substitute(_contents(outcome)), encoding="utf-8")


def _contents(outcome: "Outcome") -> dict[str, str]:
    result, options, verdict = outcome.result, outcome.options, outcome.verdict
    sizes, attributes = outcome.idata["posterior"].sizes, result.data.attrs
    state = {True: "good", False: "bad", None: "open"}[verdict.converged]
    words = {
        True: "The chains agree",
        False: "Not converged: do not rely on this yet",
        None: "Convergence can't be told",
    }
    reasons = list(verdict.reasons)
    if outcome.interrupted:
        reasons.append("Sampling was interrupted; what was drawn until then is shown.")
    return {
        "source": escape(outcome.source),
        "headline": escape(headline(outcome)),
        "state": state,
        "verdict": words[verdict.converged],
        "reasons": "".join(f"<li>{escape(reason)}</li>" for reason in reasons),
        "columns": _column_table(outcome),
        "groups": _groups(result),
        "pictures": "".join(_pictures(outcome)),
        "facts": _facts(
            {
                "matrix": f"{result.data.sizes['row']} × {result.data.sizes['column']}",
                "scaling": {"columns": "each column", "matrix": "whole matrix", "none": "none"}[
                    options.scale
                ],
                "model": f"{options.model}, identity={not options.paper}, "
                + ("K left to the data" if options.k is None else f"K = {options.k}"),
                "draws": f"{sizes['chain']} chains × {sizes['draw']}",
                "seed": "none" if options.seed is None else str(options.seed),
                "error of C·W": f"{result.mse:.4g} (mean square)",
                "weights from": f"{attributes['draws_used']} draws",
            }
        ),
        "why": "" if options.paper else f"<p>{escape(WHY_IDENTITY)}</p>",
        "python": escape(_python(outcome)),
    }


def _column_table(outcome: "Outcome") -> str:
    shown = columns_to_show(outcome)
    rows = []
    for name, row in shown.head(LONGEST_TABLE).iterrows():
        error = "" if np.isnan(row["mcse"]) else f" ± {row['mcse']:.3f}"
        planted = outcome.planted is not None and name in outcome.planted
        mark = "chosen" if row["chosen"] else ""
        note = ", planted" if planted else ""
        rows.append(
            f'<tr class="{mark}"><td>{escape(str(name))}</td>'
            f'<td class="bar"><span style="width:{100 * row["inclusion"]:.1f}%"></span></td>'
            f'<td class="number">{row["inclusion"]:.3f}{error}</td>'
            f"<td>{mark}{note}</td></tr>"
        )
    more = len(shown) - LONGEST_TABLE
    if more > 0:
        rows.append(f'<tr><td colspan="4">… and {more} more with 0.05 or more</td></tr>')
    return "".join(rows)


def _groups(result) -> str:
    groups = result.groups
    if not len(groups):
        return ""
    items = "".join(
        f"<li>{escape(' / '.join(map(str, row.columns)))}: at least one is chosen with probability "
        f"{row.probability:.2f}</li>"
        for row in groups.head(12).itertuples(index=False)
    )
    return f"<h3>Columns that stand for each other</h3><ul>{items}</ul>"


def _facts(facts: dict[str, str]) -> str:
    return "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())


def _python(outcome: "Outcome") -> str:
    path = outcome.options.out
    if path is None:
        return "# Run again with --out result.nc to keep the decomposition in a file, then:\n" + (
            _LOAD.format(path="result.nc")
        )
    return _LOAD.format(path=path.name)


_LOAD = """\
import pymc_bid as bid

result = bid.InterpolativeDecomposition.from_netcdf("{path}")
print(result)
result.columns      # the chosen columns
result.inclusion    # probability of each column
result.W            # weights, with result.W_sd and result.W_interval
result.data["centre"], result.data["scale"]  # what each column was standardised with
"""


def _pictures(outcome: "Outcome") -> list[str]:
    """HTML of each picture, in a wide and a narrow version."""
    result, A = outcome.result, outcome.prepared.A
    captions: list[tuple[str, str, Callable[[Any], None]]] = [
        (
            "Probability of each column being chosen",
            "Orange bars are the columns reported. Columns that share a probability stand for each "
            "other.",
            lambda wide: _one(plot_inclusion, result, wide, 3.2),
        )
    ]
    if outcome.options.k is None:
        captions.append(
            (
                "Number of columns",
                "Over the draws of each chain, and its distribution. Chains should overlap.",
                lambda wide: _row(plot_size, 2, result, wide, 2.6, width_ratios=[3, 1]),
            )
        )
    captions.append(
        (
            "Error of each draw",
            "Should look like noise around one level, the same for all chains.",
            lambda wide: _one(plot_error, result, wide, 2.6),
        )
    )
    captions.append(
        (
            "The matrix, its decomposition, and what is left",
            "Triangles mark the chosen columns. What is left should have no pattern.",
            lambda wide: _maps(plot_decomposition, 3, wide, result, A),
        )
    )
    if result.columns:
        captions.append(
            (
                "Weights",
                "How each column is made of the chosen ones, and how well that is known.",
                lambda wide: _maps(plot_weights, 2, wide, result),
            )
        )
    return [_figure(title, text, draw) for title, text, draw in captions]


def _figure(title: str, text: str, draw: Callable[[Any], Any]) -> str:
    wide, narrow = (_encoded(draw(is_wide)) for is_wide in (True, False))
    return (
        f"<figure><h3>{escape(title)}</h3><picture>"
        f'<source media="(max-width: 640px)" srcset="{narrow}">'
        f'<img alt="{escape(title)}" src="{wide}"></picture>'
        f"<figcaption>{escape(text)}</figcaption></figure>"
    )


def _new(rows: int, columns: int, width: float, height: float, **options):
    # Not pyplot, whose windows and state belong to the user.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(rows, columns, **options)).ravel()


def _one(plot, result, wide: bool, height: float):
    figure, (ax,) = _new(1, 1, WIDE if wide else NARROW, height)
    plot(result, ax=ax)
    return figure


def _row(plot, number: int, result, wide: bool, height: float, **options):
    figure, axes = _new(1, number, WIDE if wide else NARROW, height, sharey=True, **options)
    plot(result, axes=axes)
    return figure


def _maps(plot, number: int, wide: bool, *arguments):
    shape = (1, number, WIDE, 3.8) if wide else (number, 1, NARROW, 3.2 * number)
    figure, axes = _new(*shape, sharey=True)
    plot(*arguments, axes=axes)
    return figure


def _encoded(figure) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=144)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
