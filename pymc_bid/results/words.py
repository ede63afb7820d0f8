"""A decomposition in words: one sentence, a page for terminals, and one for notebooks."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pymc_bid.results.decomposition import InterpolativeDecomposition

NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
MOST_NAMES = 12
MOST_ROWS = 20


def describe(result: "InterpolativeDecomposition") -> str:
    """Return one sentence: how many columns explain how much of the others."""
    size, explained = result.data.sizes["basis"], result.r2
    chosen = f"{len(result.columns)} of {size} columns"
    if not result.columns:
        return f"None of {size} columns is chosen; nothing is explained."
    if explained.empty:
        return f"{chosen} are chosen; none is left to be explained."
    explained = explained.dropna()
    if explained.empty:
        return f"{chosen} are chosen; the others are constant."
    verb = "explains" if len(result.columns) == 1 else "explain"
    others = "of the variance of " + _others(len(explained), bool(result.data.attrs["pool"]))
    said = f"{chosen} {verb} {percent(float(result.mean_r2['r2']))} {others}"
    least, most = explained["r2"].idxmin(), explained["r2"].idxmax()
    if len(explained) == 1:
        return f"{said} ({least})."
    ends = (f"{percent(explained.loc[label, 'r2'])} {label}" for label in (least, most))
    return f"{said} ({' … '.join(ends)})."


def _others(number: int, has_pool: bool) -> str:
    word = NUMBERS[number] if number < len(NUMBERS) else str(number)
    return f"{word} columns" if has_pool else f"the other {word}"


def percent(share: float) -> str:
    """Return a share in percent, not rounded to all or nothing."""
    if 0.995 <= share < 1.0:
        return f"{min(100 * share, 99.9):.1f} %"
    return f"{round(100 * share)} %"


def percent_interval(share: float, lower: float, upper: float) -> str:
    """Return a share with its interval in percent, with a digit more where its ends are alike."""
    ends = [percent(end).removesuffix(" %") for end in (lower, upper)]
    said = percent(share)
    if ends[0] == ends[1]:
        said, *ends = (f"{round(100 * number, 1) + 0.0:.1f}" for number in (share, lower, upper))
        said += " %"
    return f"{said} ({' to '.join(ends)})"


def write_page(result: "InterpolativeDecomposition") -> str:
    """Return what a terminal shows of a decomposition."""
    data, size, attributes = result.data, result.size, result.data.attrs
    names = ", ".join(map(str, result.columns[:MOST_NAMES]))
    names += ", …" if len(result.columns) > MOST_NAMES else ""
    made = "with exactly" if attributes["weights_from"] == "draws" else "made for"
    error = _number(float(result.error_after.mean()))
    if not attributes["identity"]:
        before = _number(float(result.error_before.mean()))
        error = f"{before} before and {error} after post-processing"
    level = f"{attributes['ci_prob']:.0%} interval"
    units = "" if bool((data["scale"] == 1).all()) else " of standardised columns"
    lines = [
        f"Interpolative decomposition of a {data.sizes['row']} × {data.sizes['column']} matrix",
        f"  {describe(result)}",
        f"  columns ({attributes['choice']}): {len(result.columns)} of {data.sizes['basis']}: "
        f"{names}",
        f"  K: mean {float(data['K'].mean()):.2f}, most probable {size.idxmax()} "
        f"(probability {size.max():.2f})",
        f"  sets, up to interchangeable columns: {attributes['number_of_sets']} visited, "
        f"the most frequent in {result.sets['frequency'].iloc[0]:.3f} of the draws",
    ]
    if not result.r2.dropna().empty:
        mean = result.mean_r2
        lines.append(
            f"  R² of the others: mean {mean['r2']:.3f} ({level} {mean['lower']:.3f} to "
            f"{mean['upper']:.3f})"
        )
    lines += [
        f"  W: posterior mean, sd and {level} from {attributes['draws_used']} draws {made} these "
        "columns",
        f"  mean squared error{units}: {result.mse:.4g} of C·W; of a draw {error}",
    ]
    groups = ["/".join(map(str, members)) for members in result.groups["columns"]]
    if groups:
        more = f"; {len(groups) - 4} more" if len(groups) > 4 else ""
        lines.append(f"  interchangeable: {'; '.join(groups[:4])}{more}")
    if len(result.constants):
        lines.append(f"  constant, left out: {', '.join(map(str, result.constants.index))}")
    lines.append("  " + attributes["verdict"].replace("\n", "\n  "))
    return "\n".join(lines)


def write_html(result: "InterpolativeDecomposition") -> str:
    """Return what a notebook shows of a decomposition, with nothing loaded from elsewhere."""
    inclusion = result.inclusion["inclusion"].to_numpy()[result.positions]
    chosen = [
        _row(label, probability, f"{probability:.2f}")
        for label, probability in zip(result.columns, inclusion, strict=True)
    ]
    others = [
        _row(label, r2, percent_interval(r2, lower, upper))
        for label, r2, lower, upper in result.r2.dropna().sort_values("r2")[::-1].itertuples()
    ]
    tables = _table("chosen", "probability", chosen) + _table("explained", "R²", others)
    page = escape(write_page(result))
    return (
        f"<div><p><strong>{escape(describe(result))}</strong></p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:2em">{tables}</div>'
        '<details><summary>more</summary><pre style="white-space:pre-wrap">'
        f"{page}</pre></details></div>"
    )


def _table(name: str, number: str, rows: list[str]) -> str:
    if not rows:
        return ""
    more = len(rows) - MOST_ROWS
    last = f'<tr><td colspan="3">… and {more} more</td></tr>' if more > 0 else ""
    head = f'<tr><th>{name}</th><th colspan="2">{number}</th></tr>'
    return f"<table>{head}{''.join(rows[:MOST_ROWS])}{last}</table>"


def _row(label, share: float, words: str) -> str:
    width = 8 * float(np.clip(share, 0, 1))
    bar = f'<span style="display:inline-block;height:.7em;width:{width:.2f}em;background:#4c78a8">'
    return (
        f'<tr><td>{escape(str(label))}</td><td style="min-width:8em;text-align:left">{bar}</span>'
        f"</td><td>{words}</td></tr>"
    )


def _number(value: float) -> str:
    return "unknown (not stored)" if np.isnan(value) else f"{value:.4g}"
