"""`pymc-bid fit`: read, sample, decompose, write."""

import contextlib
import io
import logging
import os
import re
import sys
import warnings
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pymc as pm

from pymc_bid import datasets
from pymc_bid.command_line.as_json import print_json
from pymc_bid.command_line.interrupts import Interrupts
from pymc_bid.command_line.main import Problem, Unwritten
from pymc_bid.command_line.reading import (
    Prepared,
    check_numbers,
    name_rows,
    pick_names,
    read_file,
    standardise,
)
from pymc_bid.command_line.report import make_report
from pymc_bid.command_line.sets import (
    Alternatives,
    check_scores,
    read_lists,
    score_alternatives,
)
from pymc_bid.command_line.summary import print_summary
from pymc_bid.command_line.terminal import plain, until_reader_leaves
from pymc_bid.command_line.writing import check_outputs, write_whole
from pymc_bid.memory import free_memory, trace_size
from pymc_bid.models import column_selection, gbt, gbtn
from pymc_bid.registration import register_steps
from pymc_bid.results.convergence import Convergence, check_convergence
from pymc_bid.results.decompose import decompose
from pymc_bid.results.decomposition import InterpolativeDecomposition
from pymc_bid.sampling.folder import AnotherRunError
from pymc_bid.sampling.sample import sample

EXAMPLE: dict[str, Any] = {"rows": 90, "columns": 15, "rank": 6, "noise": 0.3, "seed": 1}
"""The planted matrix that is decomposed where no file is given."""
EXAMPLE_NAME = Path("the example")


@dataclass(frozen=True)
class Outcome:
    """What came out of a run, for the terminal and for the report."""

    source: str
    """Where the matrix came from."""
    planted: list[str] | None
    """The right answer, if it is known."""
    options: Namespace
    prepared: Prepared
    model: pm.Model
    idata: Any
    result: InterpolativeDecomposition
    verdict: Convergence
    interrupted: bool
    """Whether there are fewer draws than asked for."""
    alternatives: Alternatives
    notes: tuple[str, ...]
    """What was guessed while reading, and what is to be said of the data."""


def fit(options: Namespace, interrupts: Interrupts) -> Outcome:
    """Run the command with parsed options; a Problem says why it or the file can't be used."""
    check_outputs(options)
    source, planted, table, notes = _read(options)
    lists = read_lists(options.score, table.columns)
    prepared = standardise(table, options.scale if options.paper else "none")
    register_steps()
    model, warned = _model(prepared.A, options)
    notes += warned
    held_out = _read_held_out(options, prepared)
    check_scores(model, lists, held_out)
    if not options.quiet:
        for note in notes:
            print(f"pymc-bid: {note}", file=sys.stderr)
    idata = _sample(model, options, interrupts)
    with warnings.catch_warnings():
        # Whatever they say is in the verdict.
        warnings.simplefilter("ignore")
        result = decompose(idata, prepared.A, model=model, random_seed=options.seed)
        verdict = check_convergence(idata)
        alternatives = Alternatives()
        # Whoever interrupts wants an end.
        if interrupts.received is None:
            alternatives = score_alternatives(model, idata, result, lists, held_out, options.seed)
    if options.paper:
        result = _in_units(result, prepared)
    drawn = idata["posterior"].sizes
    interrupted = drawn["chain"] * drawn["draw"] < options.chains * options.draws
    outcome = Outcome(
        source=source,
        planted=planted,
        options=options,
        prepared=prepared,
        model=model,
        idata=idata,
        result=result,
        verdict=verdict,
        interrupted=interrupted,
        alternatives=alternatives,
        notes=notes,
    )
    _write(outcome, interrupts)
    return outcome


def _read(options: Namespace) -> tuple[str, list[str] | None, pd.DataFrame, tuple[str, ...]]:
    if options.file is None:
        planted = datasets.make_planted(**EXAMPLE)
        name = "a planted example ({rows} × {columns}, {rank} columns explain the rest)"
        table = check_numbers(planted.A, EXAMPLE_NAME, options.drop)
        return name.format(**EXAMPLE), planted.columns, table, ()
    read = read_file(options.file, options.header)
    table = check_numbers(name_rows(read.values), options.file, options.drop)
    return plain(options.file.name), None, table, read.notes


def _read_held_out(options: Namespace, prepared: Prepared) -> pd.DataFrame | None:
    """Return other rows as the model takes them, with the columns that it has."""
    if options.held_out is None:
        return None
    path = options.held_out
    table = check_numbers(name_rows(read_file(path, options.header).values), path, [])
    columns = prepared.A.columns
    pick_names(list(columns), table.columns, "--held-out", path)
    return (table[columns] - prepared.centre) / prepared.scale


def _model(A: pd.DataFrame, options: Namespace) -> tuple[pm.Model, tuple[str, ...]]:
    """Return the model, and what its constructor says of the data."""
    given: dict[str, Any] = {}
    for name in ("include", "exclude"):
        asked, where = getattr(options, name), options.file or EXAMPLE_NAME
        # As names of columns, for whoever says what was asked for.
        setattr(options, name, pick_names(asked, A.columns, f"--{name}", where))
        given[name] = getattr(options, name)
    given |= {} if options.noise is None else {"noise": options.noise}
    if options.paper and options.expected is not None:
        raise Problem("--expected has no effect on the paper's model (--paper); leave out one.")
    given |= {} if options.expected is None else {"expected": options.expected}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            if options.paper:
                make = gbtn if options.model == "gbtn" else gbt
                missing = "mask" if A.isna().to_numpy().any() else None
                model = make(A, options.k, missing=missing, **given)
            else:
                given |= {"standardize": options.scale != "none"}
                given |= {"hierarchical": options.model == "gbtn"}
                model = column_selection(A, options.k, **given)
    except (TypeError, ValueError) as error:
        raise Problem(_of_the_table(error, options)) from None
    return model, tuple(_of_the_table(warning.message, options) for warning in caught)


def _of_the_table(said: Warning | Exception | str, options: Namespace) -> str:
    """Return what a constructor says of the matrix, which it calls by its argument, of the file."""
    table = EXAMPLE_NAME if options.file is None else plain(options.file.name)
    return re.sub(r"^A\b", lambda _: str(table), str(said))


def _sample(model: pm.Model, options: Namespace, interrupts: Interrupts) -> Any:
    logger = logging.getLogger("pymc")
    level = logger.level
    if options.quiet:
        # `pm.sample(quiet=True)` is not, while it makes the steps.
        logger.setLevel(logging.CRITICAL)
    cores = options.cores or min(options.chains, os.cpu_count() or 1)
    # The standard output is for the result; progress bars go to the terminal next to it.
    with model, warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        try:
            given: dict[str, Any] = {
                **{name: getattr(options, name) for name in ("draws", "tune", "chains")},
                **{"cores": cores, "random_seed": options.seed, "progressbar": not options.quiet},
                "callback": interrupts.watch(options.chains, cores),
            }
            if options.checkpoint is not None:
                return sample(model, options.checkpoint, **given)
            # `check_convergence` knows what a state vector is.
            given |= {"compute_convergence_checks": False, "var_names": _stored(model, options)}
            return pm.sample(**given)
        except AnotherRunError as error:
            raise Problem(f"--checkpoint: {error}") from None
        except OSError as error:
            if options.checkpoint is None:
                raise
            raise Unwritten(f"--checkpoint: {error.strerror or error}.") from None
        except ValueError as error:
            # What PyMC says if it was interrupted while tuning.
            if "Not enough samples" in str(error):
                raise KeyboardInterrupt from None
            raise
        finally:
            logger.setLevel(level)


def _in_units(result: InterpolativeDecomposition, prepared: Prepared) -> InterpolativeDecomposition:
    """Return a decomposition of standardised columns as one of the columns in the file."""
    units = {"center": ("column", prepared.centre), "scale": ("column", prepared.scale)}
    chosen = result.positions
    C = result.data["C"] * prepared.scale[chosen] + prepared.centre[chosen]
    return InterpolativeDecomposition(result.data.assign(units | {"C": C}))


def _write(outcome: Outcome, interrupts: Interrupts) -> None:
    """Write and print; what can't be written is said last."""
    options, failed = outcome.options, None
    for option, path, make in (
        ("--out", options.out, _netcdf),
        ("--report", options.report, make_report),
    ):
        if path is None:
            continue
        try:
            write_whole(path, make(outcome), option)
            interrupts.written.append(path)
        except Problem as problem:
            failed = failed or problem
    with until_reader_leaves():
        (print_json if options.json else print_summary)(outcome, interrupts.written)
    if failed is not None:
        raise failed


def _netcdf(outcome: Outcome) -> bytes:
    # Into memory first: on a full disk netCDF's library ends the process.
    content = io.BytesIO()
    outcome.result.to_netcdf(content)
    return content.getvalue()


def _stored(model: pm.Model, options: Namespace) -> list[str] | None:
    """Names of the variables to keep; without the weights if their draws would fill the memory.

    `decompose` then draws weights for the columns that it reports.
    """
    size = trace_size(options.draws, options.tune, options.chains, model=model)
    if size < free_memory() / 2:
        return None
    return [name for name in ("r", "K", "sigma2", "omega2") if name in model.named_vars]
