"""The command itself: what can be typed after `pymc-bid`, and what comes back.

Imports nothing that is slow before the arguments are read, so that --help is not.
"""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from pymc_bid import __version__

DONE, UNUSABLE, NOT_CONVERGED, INTERRUPTED = 0, 2, 3, 130
WHY_IDENTITY = (
    "By default chosen columns have a density of their own (identity=True), because only then does "
    "the number of columns mean something. In the paper's model a chosen column explains itself, "
    "so that every one more is rewarded with a perfect fit."
)
EXIT_CODES = """\
exit codes:
  0    done
  2    the command or the file can't be used; the reason is on stderr, in one line
  3    done and written, but the chains do not agree: draw more, or see the verdict
  130  interrupted by Ctrl-C; what was drawn until then was kept and written
"""


class Problem(Exception):
    """A reason not to go on that the user can mend, in one line that says what to do."""

    def __init__(self, message: object):
        super().__init__(" ".join(str(message).split()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `pymc-bid` with these arguments, by default those of the process; return `EXIT_CODES`."""
    options = make_parser().parse_args(arguments)
    try:
        from pymc_bid.command_line.fit import fit

        outcome = fit(options)
    except Problem as problem:
        print(f"pymc-bid: {problem}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("pymc-bid: interrupted before anything was drawn.", file=sys.stderr)
        return INTERRUPTED
    if outcome.interrupted:
        return INTERRUPTED
    return NOT_CONVERGED if outcome.verdict.converged is False else DONE


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog="pymc-bid",
        description="Bayesian interpolative decomposition: which few columns explain all the "
        "others, how many they are, and how sure one can be.",
    )
    parser.add_argument("--version", action="version", version=f"pymc-bid {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    fit = commands.add_parser(
        "fit",
        help="decompose the matrix in a file",
        description=textwrap.fill(
            "Decompose the matrix in a file: CSV, TSV, Parquet, NPY or zarr. Without a file, a "
            f"planted example whose answer is known. {WHY_IDENTITY}",
            width=79,
        ),
        epilog=EXIT_CODES,
        # Leaves the table of exit codes alone.
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_fit_arguments(fit)
    return parser


def _add_fit_arguments(fit: argparse.ArgumentParser) -> None:
    fit.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="one column of the matrix in each column; a first column of text names the rows",
    )
    add = fit.add_argument_group("data").add_argument
    add("--drop", nargs="+", default=[], metavar="NAME", help="columns to leave out, by name")
    add(
        "--scale",
        choices=("columns", "matrix", "none"),
        default="columns",
        help="standardise each column, the matrix as a whole, or nothing; the priors are meant for "
        "entries of about unit size (default: columns)",
    )
    add = fit.add_argument_group("model").add_argument
    add("--k", type=int, metavar="N", help="number of columns to choose (default: the data say)")
    add(
        "--model",
        choices=("gbt", "gbtn"),
        default="gbt",
        help="prior of the weights: truncated normal, or hierarchical (default: gbt)",
    )
    add("--paper", action="store_true", help="the paper's model: identity=False, see above")
    add = fit.add_argument_group("sampling").add_argument
    add("--chains", type=_count, metavar="N", default=4, help="default: 4")
    add("--cores", type=_count, metavar="N", help="default: as many as chains, up to the machine's")
    add("--draws", type=_count, metavar="N", default=1000, help="for each chain (default: 1000)")
    add("--tune", type=_count, metavar="N", default=1000, help="before them (default: 1000)")
    add("--seed", type=int, metavar="N", help="the same seed, the same draws")
    add = fit.add_argument_group("output").add_argument
    add("--out", type=Path, metavar="RESULT.nc", help="write the decomposition to a netCDF file")
    add("--report", type=Path, metavar="REPORT.html", help="write one page with pictures")
    add("--json", action="store_true", help="print JSON in place of a table")
    add("--quiet", action="store_true", help="no progress bars, no messages")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
    return number
