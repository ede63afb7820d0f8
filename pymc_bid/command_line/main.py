"""The command itself: what can be typed after `pymc-bid`, and what comes back.

Imports nothing that is slow before the arguments are read, so that --help is not.
"""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pymc_bid import __version__
from pymc_bid.command_line.interrupts import Interrupts, Quit
from pymc_bid.command_line.terminal import allow_any_letter

DONE, UNUSABLE, NOT_CONVERGED, NOT_WRITTEN = 0, 2, 3, 4
WHY_IDENTITY = (
    "A chosen column has a density of its own and only the others are explained, because only then "
    "does the number of columns mean something. In the paper's model (--paper) a chosen column "
    "explains itself, so that every one more is rewarded with a perfect fit."
)
EXIT_CODES = """\
exit codes:
  0    done
  2    the command or the file can't be used; the reason is on stderr, in one line
  3    done and written, but the chains do not agree: draw more, or see the verdict
  4    done, but a file could not be written; the reason is on stderr, in one line
  130  interrupted by Ctrl-C; what was drawn until then was kept and written
  143  the same by SIGTERM; a second signal quits at once and writes nothing more
"""
NAMES: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
SEVERAL = "several names are given as --drop a,b or as --drop a --drop b"


class Problem(Exception):
    """A reason not to go on that the user can mend, in one line that says what to do."""

    def __init__(self, message: object):
        super().__init__(" ".join(str(message).split()))


class Unwritten(Problem):
    """A result could not be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `pymc-bid` with these arguments, by default those of the process; return `EXIT_CODES`."""
    allow_any_letter()
    options = make_parser().parse_args(arguments)
    with Interrupts() as interrupts:
        try:
            from pymc_bid.command_line.fit import fit

            outcome = fit(options, interrupts)
        except Problem as problem:
            print(f"pymc-bid: {problem}", file=sys.stderr)
            return NOT_WRITTEN if isinstance(problem, Unwritten) else UNUSABLE
        except KeyboardInterrupt:
            print("pymc-bid: interrupted before anything was drawn.", file=sys.stderr)
            return interrupts.exit_code
        except Quit:
            files = ", ".join(map(str, interrupts.written)) or "nothing"
            print(f"pymc-bid: quit by a second signal; {files} was written.", file=sys.stderr)
            return interrupts.exit_code
    if interrupts.received is not None:
        return interrupts.exit_code
    return NOT_CONVERGED if outcome.verdict.converged is False else DONE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            message = f"{message} (one file at a time; {SEVERAL})"
        super().error(message)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = _Parser(
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
    add("--drop", **NAMES, help=f"columns to leave out; {SEVERAL}")
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a text file has names; for where it is numbers alone "
        "(years), and the guess, which is printed, is wrong",
    )
    add(
        "--scale",
        choices=("columns", "none"),
        default="columns",
        help="standardise each column, or nothing; the priors are meant for entries of about unit "
        "size (default: columns)",
    )
    add = fit.add_argument_group("model").add_argument
    add("--k", type=_count, metavar="N", help="number of columns to choose (default: the data say)")
    add("--expected", type=float, metavar="N", help="about how many they are, before the data")
    add("--include", **NAMES, help="columns that are chosen in any case")
    add("--exclude", **NAMES, help="columns that are never chosen, but explained all the same")
    add(
        "--noise",
        choices=("column", "common"),
        help="a noise variance for each column, or one for all (default: column)",
    )
    add(
        "--model",
        choices=("gbt", "gbtn"),
        default="gbt",
        help="prior of the weights: truncated normal, or hierarchical (default: gbt)",
    )
    add("--paper", action="store_true", help="the paper's model, see above; common noise")
    add = fit.add_argument_group("sampling").add_argument
    add("--chains", type=_count, metavar="N", default=4, help="default: 4")
    add("--cores", type=_count, metavar="N", help="default: as many as chains, up to the machine's")
    add("--draws", type=_count, metavar="N", default=1000, help="for each chain (default: 1000)")
    add("--tune", type=_count, metavar="N", default=1000, help="before them (default: 1000)")
    add("--seed", type=_seed, metavar="N", help="the same seed, the same draws")
    add(
        "--checkpoint",
        type=Path,
        metavar="FOLDER",
        help="keep draws and samplers in a folder, to go on after whatever ends the run",
    )
    add("--resume", action="store_true", help="go on with the run in the folder of --checkpoint")
    add = fit.add_argument_group("output").add_argument
    add(
        "--score",
        type=Path,
        metavar="LIST.txt",
        help="lists of columns to compare with what is found: a name on each line, or on each line "
        "a list such as 'ours: alcohol, ash'",
    )
    add(
        "--held-out",
        type=Path,
        metavar="ROWS.csv",
        help="other rows of the same columns, to measure on them too what columns explain",
    )
    add("--out", type=Path, metavar="RESULT.nc", help="write the decomposition to a netCDF file")
    add("--report", type=Path, metavar="REPORT.html", help="write one page with pictures")
    add("--json", action="store_true", help="print JSON in place of a table")
    add("--quiet", action="store_true", help="no progress bars, no messages")


def _count(text: str, least: int = 1) -> int:
    if not text.strip().isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"must be a whole number, {least} or more, got {text!r}")
    return int(text)


def _seed(text: str) -> int:
    return _count(text, least=0)
