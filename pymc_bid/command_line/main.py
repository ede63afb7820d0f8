"""Running the command: problems become one line and an exit code."""

import sys
from collections.abc import Sequence

from pymc_bid.command_line.arguments import make_parser
from pymc_bid.command_line.problems import Problem

DONE, UNUSABLE, NOT_CONVERGED, INTERRUPTED = 0, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `pymc-bid` with these arguments, by default those of the process.

    Returns
    -------
    int
        The exit code; `pymc_bid.command_line.arguments.EXIT_CODES` says what it means.
    """
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
