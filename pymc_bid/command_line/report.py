"""One page with everything that was found: pictures inside, nothing loaded from elsewhere."""

import base64
import io
import math
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import pandas as pd

from pymc_bid.command_line.main import WHY_IDENTITY
from pymc_bid.command_line.summary import (
    CREDIBLE,
    UNITS,
    columns_to_show,
    notes_of,
    number_sentence,
    score_words,
    sets_sentence,
    share_words,
    with_error,
    worth_showing,
)
from pymc_bid.plots.chains import plot_error, plot_inclusion, plot_size
from pymc_bid.plots.layout import shorten
from pymc_bid.plots.matrices import plot_decomposition, plot_weights
from pymc_bid.plots.sets import plot_replacements, plot_size_curve
from pymc_bid.results.words import percent

if TYPE_CHECKING:
    from pymc_bid.command_line.fit import Outcome

LONGEST_TABLE, MOST_SETS = 60, 6
FORCED = ("include", "exclude")
WIDE, NARROW = 9.0, 4.2
"""Widths in inches for desks and for phones, where letters would otherwise shrink."""


def make_report(outcome: "Outcome") -> bytes:
    """Return the report of a run as an HTML page."""
    page = Template(files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    words = {name: escape(text) for name, text in _words(outcome).items()}
    reasons = [*outcome.verdict.reasons, *notes_of(outcome)]
    content = page.substitute(
        **words,
        **_pictures(outcome),
        reasons="".join(f"<li>{escape(reason)}</li>" for reason in reasons),
        columns=_column_table(outcome),
        sets=_sets(outcome),
        groups=_groups(outcome.result),
        scores=_scores(outcome.alternatives.scores),
    )
    return content.encode("utf-8", errors="replace")


def _words(outcome: "Outcome") -> dict[str, str]:
    result, options = outcome.result, outcome.options
    sizes = outcome.idata["posterior"].sizes
    state, verdict = {
        True: ("good", "The chains agree"),
        False: ("bad", "Not converged: do not rely on this yet"),
        None: ("open", "Convergence can't be told"),
    }[outcome.verdict.converged]
    model = [options.model if options.paper else "column_selection"]
    model += ["hierarchical=True"] * (not options.paper and options.model == "gbtn")
    model += [f"noise={options.noise}"] * (options.noise is not None)
    forced = {name: getattr(options, name) for name in FORCED}
    model += [f"{name}: {', '.join(names)}" for name, names in forced.items() if names]
    if options.k is not None:
        model.append(f"K = {options.k}")
    elif options.expected is None:
        model.append("K left to the data")
    else:
        model.append(f"K left to the data, about {options.expected:g} expected before")
    keep = "# Run again with --out result.nc to keep the decomposition in a file, then:"
    return {
        "source": outcome.source,
        "headline": result.headline(),
        "number": number_sentence(outcome),
        "state": state,
        "verdict": verdict,
        "matrix": f"{result.data.sizes['row']} × {result.data.sizes['column']}",
        "scaling": UNITS[options.scale],
        "model": ", ".join(model),
        "draws": f"{sizes['chain']} chains × {sizes['draw']}",
        "seed": "none" if options.seed is None else str(options.seed),
        "mse": f"{result.mse:.4g}",
        "draws_used": str(result.data.attrs["draws_used"]),
        "why": "" if options.paper else WHY_IDENTITY,
        "again": keep if options.out is None else "",
        "file": "result.nc" if options.out is None else options.out.name,
    }


def _column_table(outcome: "Outcome") -> str:
    shown = columns_to_show(outcome)
    rows = []
    for name, row in shown.head(LONGEST_TABLE).iterrows():
        planted = outcome.planted is not None and name in outcome.planted
        mark = "chosen" if row["chosen"] else ""
        said = mark or _small(share_words(row), " (")
        said += ", planted" * planted
        rows.append(
            f'<tr class="{mark}"><td>{escape(str(name))}'
            f'<span class="bar" style="width:{100 * row["inclusion"]:.1f}%"></span></td>'
            f'<td class="number">{_small(with_error(row), " ±")}</td>'
            f'<td class="number">{said}</td></tr>'
        )
    more = len(shown) - LONGEST_TABLE
    if more > 0:
        rows.append(f'<tr><td colspan="3">… and {more} more</td></tr>')
    return "".join(rows)


def _small(words: str, mark: str) -> str:
    """Return a number with what is said of its precision in smaller letters."""
    number, found, precision = words.partition(mark)
    return f"{number} <small>{(found + precision).strip()}</small>" if found else number


def _sets(outcome: "Outcome") -> str:
    probable = outcome.result.credible_sets(CREDIBLE)
    items = [
        f"<li>{row.frequency:.2f}: {escape(', '.join(map(str, row.columns))) or 'no column'}</li>"
        for row in probable.head(MOST_SETS).itertuples(index=False)
    ]
    if len(probable) > MOST_SETS:
        items.append(f"<li>… and {len(probable) - MOST_SETS} more</li>")
    return (
        f"<h3>Sets that hold {percent(CREDIBLE)} of the probability</h3>"
        f"<p>{sets_sentence(outcome)}</p>"
        f"<ul>{''.join(items)}</ul>"
    )


def _groups(result) -> str:
    groups = result.groups
    if not len(groups):
        return ""
    items = "".join(
        f"<li>{escape(' / '.join(map(str, row.columns)))}: at least one is chosen with probability "
        f"{row.probability:.2f}; any two have a |correlation| of "
        f"{math.floor(100 * row.least_correlation + 1e-6) / 100:.2f} or more</li>"
        for row in groups.head(12).itertuples(index=False)
    )
    return f"<h3>Columns that stand for each other</h3><ul>{items}</ul>"


def _scores(scores: pd.DataFrame | None) -> str:
    if scores is None or not worth_showing(scores):
        return ""
    where = " on held-out rows" * ("coverage" in scores)
    items = []
    for name, row in scores.iterrows():
        explained, evidence, probability = score_words(row)
        columns = escape(", ".join(map(str, row["columns"])))
        items.append(
            f"<li><strong>{escape(str(name))}</strong>: {columns}."
            f"<br>R² of the others{where} {explained}, log evidence {evidence}, probability "
            f"among these lists {probability}.</li>"
        )
    return f"<h3>Lists of columns, scored</h3><ul>{''.join(items)}</ul>"


def _pictures(outcome: "Outcome") -> dict[str, str]:
    """HTML of each picture, empty where there is nothing to show."""
    result, A, others = outcome.result, outcome.prepared.A, outcome.alternatives
    names = [len(shorten(name)) for name in result.data["basis"].values]
    # Inches that names below a picture take.
    below = 0.075 * max(names)
    pictures = dict.fromkeys(
        ("inclusion", "curve", "replacements", "size", "error", "matrices", "weights"), ""
    )
    if len(names) > LONGEST_TABLE:
        pictures["inclusion"] = _picture(_inclusion, result, height=2 + below)
    if others.curve is not None and len(others.curve) > 1:
        pictures["curve"] = _picture(plot_size_curve, others.curve, height=3.4)
    if others.replacements is not None:
        height = 1.2 + 0.32 * len(others.replacements)
        pictures["replacements"] = _picture(plot_replacements, others.replacements, height=height)
    if len(result.size) > 1:
        wide = {"number": 2, "width_ratios": [3, 1]}
        pictures["size"] = _picture(_size, result, outcome.model, **wide)
    tall = {"height": 2.6 + below, "stacked": True}
    pictures["error"] = _picture(plot_error, result)
    pictures["matrices"] = _picture(plot_decomposition, result, A, number=3, **tall)
    if result.columns:
        pictures["weights"] = _picture(plot_weights, result, number=2, **tall)
    return pictures


def _inclusion(result, ax) -> None:
    plot_inclusion(result, ax=ax).set_ylabel("probability")


def _size(result, model, axes) -> None:
    plot_size(result, model=model, axes=axes)


def _picture(plot, *shown, number=1, height=2.6, stacked=False, **options) -> str:
    """HTML of a picture in a wide and a narrow version; on a narrow page axes may be stacked."""
    # Not pyplot, whose windows and state belong to the user.
    from matplotlib.figure import Figure

    encoded = []
    for width in (WIDE, NARROW):
        rows, columns = (number, 1) if stacked and width == NARROW else (1, number)
        # Each of the stacked ones is a little less high.
        size = (width, height if rows == 1 else 0.9 * height * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, sharey=True, **options)
        plot(*shown, **{"ax" if number == 1 else "axes": axes})
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=144)
        content = base64.b64encode(stream.getvalue()).decode("ascii")
        encoded.append(f"data:image/png;base64,{content}")
    wide, narrow = encoded
    return (
        f'<picture><source media="(max-width: 640px)" srcset="{narrow}">'
        f'<img alt="{plot.__name__.removeprefix("plot_").strip("_")}" src="{wide}"></picture>'
    )
