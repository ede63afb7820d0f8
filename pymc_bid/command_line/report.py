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

from pymc_bid.command_line.main import WHY_IDENTITY
from pymc_bid.command_line.summary import UNITS, columns_to_show, headline
from pymc_bid.plots.chains import plot_error, plot_size
from pymc_bid.plots.inclusion import plot_inclusion
from pymc_bid.plots.matrices import plot_decomposition, plot_weights

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
    sizes = outcome.idata["posterior"].sizes
    state, words = {
        True: ("good", "The chains agree"),
        False: ("bad", "Not converged: do not rely on this yet"),
        None: ("open", "Convergence can't be told"),
    }[verdict.converged]
    reasons = list(verdict.reasons)
    if outcome.interrupted:
        reasons.append("Sampling was interrupted; what was drawn until then is shown.")
    python = _LOAD.format(path="result.nc" if options.out is None else options.out.name)
    if options.out is None:
        again = "# Run again with --out result.nc to keep the decomposition in a file, then:"
        python = f"{again}\n{python}"
    number = "K left to the data" if options.k is None else f"K = {options.k}"
    facts = {
        "matrix": f"{result.data.sizes['row']} × {result.data.sizes['column']}",
        "scaling": UNITS[options.scale],
        "model": f"{options.model}, identity={not options.paper}, {number}",
        "draws": f"{sizes['chain']} chains × {sizes['draw']}",
        "seed": "none" if options.seed is None else str(options.seed),
        "error of C·W": f"{result.mse:.4g} (mean square)",
        "weights from": f"{result.data.attrs['draws_used']} draws",
    }
    return {
        "source": escape(outcome.source),
        "headline": escape(headline(outcome)),
        "state": state,
        "verdict": words,
        "reasons": "".join(f"<li>{escape(reason)}</li>" for reason in reasons),
        "columns": _column_table(outcome),
        "groups": _groups(result),
        "pictures": "".join(_pictures(outcome)),
        "facts": "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items()
        ),
        "why": "" if options.paper else f"<p>{escape(WHY_IDENTITY)}</p>",
        "python": escape(python),
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
    """HTML of each picture."""
    result, A = outcome.result, outcome.prepared.A
    pictures = [
        _figure(
            "Probability of each column being chosen",
            "Orange bars are the columns reported. Columns that share a probability stand for each "
            "other.",
            lambda axes: plot_inclusion(result, ax=axes),
            height=3.2,
        )
    ]
    if outcome.options.k is None:
        pictures.append(
            _figure(
                "Number of columns",
                "Over the draws of each chain, and its distribution. Chains should overlap.",
                lambda axes: plot_size(result, axes=axes),
                number=2,
                width_ratios=[3, 1],
            )
        )
    pictures += [
        _figure(
            "Error of each draw",
            "Should look like noise around one level, the same for all chains.",
            lambda axes: plot_error(result, ax=axes),
        ),
        _figure(
            "The matrix, its decomposition, and what is left",
            "Triangles mark the chosen columns. What is left should have no pattern.",
            lambda axes: plot_decomposition(result, A, axes=axes),
            number=3,
            height=3.8,
            stacked=True,
        ),
    ]
    if result.columns:
        pictures.append(
            _figure(
                "Weights",
                "How each column is made of the chosen ones, and how well that is known.",
                lambda axes: plot_weights(result, axes=axes),
                number=2,
                height=3.8,
                stacked=True,
            )
        )
    return pictures


def _figure(
    title: str,
    text: str,
    draw: Callable[[Any], Any],
    number: int = 1,
    height: float = 2.6,
    stacked: bool = False,
    **options,
) -> str:
    """HTML of a picture in a wide and a narrow version; on a narrow page axes may be stacked."""
    # Not pyplot, whose windows and state belong to the user.
    from matplotlib.figure import Figure

    encoded = []
    for width in (WIDE, NARROW):
        rows, columns = (number, 1) if stacked and width == NARROW else (1, number)
        # Each of the stacked ones is a little less high.
        size = (width, height if rows == 1 else 3.2 * rows)
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots(rows, columns, sharey=True, **options))
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=144)
        content = base64.b64encode(stream.getvalue()).decode("ascii")
        encoded.append(f"data:image/png;base64,{content}")
    wide, narrow = encoded
    return (
        f"<figure><h3>{escape(title)}</h3><picture>"
        f'<source media="(max-width: 640px)" srcset="{narrow}">'
        f'<img alt="{escape(title)}" src="{wide}"></picture>'
        f"<figcaption>{escape(text)}</figcaption></figure>"
    )
