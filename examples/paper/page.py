"""Fill the tables of docs/paper.md from the study's results::

    python -m examples.paper.page --folder results

A table stands between `<!-- table: name -->` and `<!-- end -->`; what is between is replaced.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from examples.paper.cells import MODELS, NUMBERS, TITLES, Cell

DRAW, MEAN = "error of a draw", "error of the posterior mean"
PROCESSED, SET = "error of the posterior mean, post-processed", "error of the most visited set"
PEERS = ("SVD bound", "best subset", "scipy ID", "greedy", "greedy, then exchanges")


class Results:
    """The two tables that the study and the comparison wrote."""

    def __init__(self, folder: Path):
        table = pd.read_csv(folder / "results.csv", dtype={"k": str})
        self.values = table.set_index(["data", "model", "k", "sampler", "quantity"]).sort_index()
        comparison = pd.read_csv(folder / "comparison.csv")
        self.errors = comparison.set_index(["data", "k", "method"])

    def __call__(self, cell: Cell, quantity: str) -> np.ndarray:
        """Values of a quantity in each chain, none if the cell was not run."""
        key = (cell.data, cell.model, cell.columns, cell.sampler, quantity)
        if key not in self.values.index:
            return np.array([])
        return self.values.loc[[key], "value"].to_numpy()

    def peer(self, data: str, k: int, method: str, quantity: str = "error") -> str:
        """A method's error, or – if it has none."""
        key = (data, k, method)
        return number(self.errors.loc[key, quantity]) if key in self.errors.index else "–"


def number(value: float | None, digits: int = 4) -> str:
    """A number without its leading zero; – for none."""
    if value is None or np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞"
    # Adding zero turns the -0.0 of a small negative number into 0.0.
    return re.sub(r"\b0(?=\.)", "", f"{round(value, digits) + 0.0:.{digits}f}")


def error_number(value: float, digits: int = 4) -> str:
    """As `number`; an error that would look like zero and is not is told by its size."""
    if 1e-12 < value < 0.5 * 10.0**-digits:
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return number(value, digits)


def spread(values: np.ndarray, digits: int = 4, text: Callable = number) -> str:
    """The smallest and the largest value, or one number if they look the same."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    if values.size == 0:
        return "–"
    least, most = text(values.min(), digits), text(values.max(), digits)
    return least if least == most else f"{least} to {most}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def error_table(results: Results, model: str) -> str:
    """Errors with a fixed number of columns."""
    rows = []
    for data, numbers in NUMBERS.items():
        for k in numbers:
            ours, theirs = Cell(data, model, k, "default"), Cell(data, model, k, "paper")
            rows.append(
                [
                    f"{TITLES[data]}, {k}",
                    number(Cell(data, "gbt", k, "paper").printed, 3),
                    spread(results(theirs, DRAW), 3),
                    *(
                        spread(results(ours, quantity), text=error_number)
                        for quantity in (DRAW, MEAN, PROCESSED, SET)
                    ),
                ]
            )
    header = ["data, K", "printed", '`scheme="paper"`: draw']
    header += ["ours: draw", "posterior mean", "mean, W[:, J] = I", "most visited set"]
    return table(header, rows)


def peer_table(results: Results) -> str:
    """Errors of what users would pick instead, and within the bounds where that is more."""
    rows = []
    for data, numbers in NUMBERS.items():
        for k in numbers:
            row = [f"{TITLES[data]}, {k}"]
            for method in (*PEERS, "skmatter CUR", "random columns, mean"):
                error = results.peer(data, k, method)
                bounded = results.peer(data, k, method, "error within bounds")
                row.append(error if bounded in (error, "–") else f"{error} ({bounded})")
            rows.append(row)
    return table(["data, K", *PEERS, "skmatter CUR", "random, mean"], rows)


def free_table(results: Results) -> str:
    """Automatic relevance determination."""
    rows = []
    for data in NUMBERS:
        for model in MODELS:
            cells = {
                sampler: Cell(data, model, None, sampler)
                for sampler in ("paper", "paper_prior", "default")
            }
            chosen = {
                sampler: ", ".join(f"{value:.4g}" for value in results(cell, "number of columns"))
                or "–"
                for sampler, cell in cells.items()
            }
            rows.append(
                [
                    f"{TITLES[data]}, {model.upper()}",
                    number(cells["paper"].printed, 3),
                    chosen["paper"],
                    spread(results(cells["paper"], DRAW), 3),
                    chosen["paper_prior"],
                    chosen["default"],
                    spread(results(cells["default"], DRAW), text=error_number),
                    spread(results(cells["default"], MEAN), text=error_number),
                ]
            )
    header = ["data, model", "printed", '`scheme="paper"`: K of the chains', "draw"]
    header += ["all from the prior: K", "ours: K", "draw", "posterior mean"]
    return table(header, rows)


def convergence_table(results: Results) -> str:
    """R-hat, effective sample sizes and times of our samplers, R-hat of the paper's."""
    rows = []
    for data, numbers in NUMBERS.items():
        for model in MODELS:
            for k in (*numbers, None):
                ours, theirs = Cell(data, model, k, "default"), Cell(data, model, k, "paper")
                if not results(ours, "seconds").size:
                    continue
                row = [f"{TITLES[data]}, {model.upper()}, {'free' if k is None else k}"]
                for what in ("the number of columns", "the noise variance", "r, worst column"):
                    row.append(spread(results(ours, f"R-hat of {what}"), 3))
                    row.append(spread(results(ours, f"ESS of {what}"), 0))
                row.append(spread(results(theirs, "R-hat of the noise variance"), 2))
                row.append(spread(results(theirs, "R-hat of r, worst column"), 2))
                row.append(spread(results(theirs, "seconds"), 0))
                row.append(spread(results(ours, "seconds"), 0))
                row.append(spread(results(ours, "processor seconds"), 0))
                rows.append(row)
    header = ["data, model, K", "R-hat K", "ESS K", "R-hat σ²", "ESS σ²", "R-hat r", "ESS r"]
    header += ["paper's: R-hat σ²", "R-hat r", "s, paper's", "s, ours", "processor s"]
    return table(header, rows)


def mixing_table(results: Results) -> str:
    """Autocorrelation of y at lag 10, over all entries and over rows that are always chosen."""
    rows = []
    for data, numbers in NUMBERS.items():
        for k in (*numbers, None):
            row = [f"{TITLES[data]}, {'free' if k is None else k}"]
            for sampler in ("paper", "default"):
                for model in MODELS:
                    cell = Cell(data, model, k, sampler)
                    row.append(spread(results(cell, "autocorrelation at lag 10"), 2))
                    if sampler == "paper":
                        quantity = "autocorrelation at lag 10, chosen columns"
                        row.append(spread(results(cell, quantity), 2))
            rows.append(row)
    header = ["data, K", "paper's, GBT: all y", "chosen", "GBTN: all y", "chosen"]
    return table([*header, "ours, GBT: all y", "GBTN: all y"], rows)


TABLES: dict[str, Callable[[Results], str]] = {
    "errors, GBT": lambda results: error_table(results, "gbt"),
    "errors, GBTN": lambda results: error_table(results, "gbtn"),
    "peers": peer_table,
    "free number": free_table,
    "convergence": convergence_table,
    "mixing": mixing_table,
}


def fill(text: str, results: Results) -> str:
    """Replace the tables of a page."""

    def replacement(match: re.Match) -> str:
        name = match["name"]
        return f"<!-- table: {name} -->\n\n{TABLES[name](results)}\n\n<!-- end -->"

    return re.sub(r"<!-- table: (?P<name>.+?) -->.*?<!-- end -->", replacement, text, flags=re.S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("::")[0])
    parser.add_argument("--folder", type=Path, default=Path("results"))
    parser.add_argument("--page", type=Path, default=Path("docs/paper.md"))
    options = parser.parse_args()
    page = options.page.read_text()
    options.page.write_text(fill(page, Results(options.folder)))


if __name__ == "__main__":
    main()
