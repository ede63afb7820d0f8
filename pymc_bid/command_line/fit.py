"""`pymc-bid fit`: read, sample, decompose, write."""

import contextlib
import logging
import os
import sys
import warnings
from argparse import Namespace
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pymc as pm

from pymc_bid import datasets
from pymc_bid.command_line.main import Problem
from pymc_bid.command_line.reading import (
    Prepared,
    check_numbers,
    name_rows,
    read_file,
    standardise,
)
from pymc_bid.command_line.report import write_report
from pymc_bid.command_line.summary import print_json, print_summary
from pymc_bid.memory import free_memory, trace_size
from pymc_bid.models import gbt, gbtn
from pymc_bid.registration import register_steps
from pymc_bid.results.convergence import Convergence, check_convergence
from pymc_bid.results.decompose import decompose
from pymc_bid.results.decomposition import InterpolativeDecomposition

EXAMPLE: dict[str, Any] = {"rows": 90, "columns": 15, "rank": 6, "noise": 0.3, "seed": 1}
"""The planted matrix that is decomposed where no file is given."""


@dataclass(frozen=True)
class Outcome:
    """What came out of a run, for the terminal and for the report."""

    source: str
    """Where the matrix came from."""
    planted: list[str] | None
    """The right answer, if it is known."""
    options: Namespace
    prepared: Prepared
    idata: Any
    result: InterpolativeDecomposition
    verdict: Convergence
    interrupted: bool


def fit(options: Namespace) -> Outcome:
    """Run the command with parsed options; a Problem says why it or the file can't be used."""
    _check_outputs(options)
    source, planted, table = _read(options)
    prepared = standardise(table, options.scale)
    register_steps()
    model = _model(prepared.A, options)
    idata = _sample(model, options)
    with warnings.catch_warnings():
        # Whatever they say is in the verdict.
        warnings.simplefilter("ignore")
        result = decompose(idata, prepared.A, model=model, random_seed=options.seed)
        verdict = check_convergence(idata)
    # For whoever loads the file and has rows in the units of the data.
    units = {"centre": ("column", prepared.centre), "scale": ("column", prepared.scale)}
    result = InterpolativeDecomposition(result.data.assign(units))
    drawn = idata["posterior"].sizes
    interrupted = drawn["chain"] * drawn["draw"] < options.chains * options.draws
    outcome = Outcome(source, planted, options, prepared, idata, result, verdict, interrupted)
    if options.out is not None:
        result.to_netcdf(options.out)
    if options.report is not None:
        write_report(outcome, options.report)
    (print_json if options.json else print_summary)(outcome)
    return outcome


def _read(options: Namespace) -> tuple[str, list[str] | None, pd.DataFrame]:
    if options.file is None:
        planted = datasets.make_planted(**EXAMPLE)
        name = "a planted example ({rows} × {columns}, {rank} columns explain the rest)"
        table = check_numbers(planted.A, Path("the example"), options.drop)
        return name.format(**EXAMPLE), planted.columns, table
    table = name_rows(read_file(options.file))
    return options.file.name, None, check_numbers(table, options.file, options.drop)


def _check_outputs(options: Namespace) -> None:
    """Find out before sampling that a result can be written after it."""
    for option, path in (("--out", options.out), ("--report", options.report)):
        if path is None:
            continue
        folder = path.parent
        if not folder.is_dir():
            raise Problem(f"{option}: there is no folder {folder}.")
        if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
            raise Problem(f"{option}: {path} can't be written.")
    if options.report is not None and find_spec("matplotlib") is None:
        raise Problem('--report needs matplotlib: python -m pip install "pymc-bid[plots]"')


def _model(A: pd.DataFrame, options: Namespace) -> pm.Model:
    make = gbtn if options.model == "gbtn" else gbt
    missing = "mask" if A.isna().to_numpy().any() else None
    try:
        return make(A, options.k, identity=not options.paper, missing=missing)
    except (TypeError, ValueError) as error:
        raise Problem(error) from None


def _sample(model: pm.Model, options: Namespace) -> Any:
    logger = logging.getLogger("pymc")
    level = logger.level
    if options.quiet:
        # `pm.sample(quiet=True)` is not, while it makes the steps.
        logger.setLevel(logging.CRITICAL)
    # The standard output is for the result; progress bars go to the terminal next to it.
    with model, warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        try:
            return pm.sample(
                draws=options.draws,
                tune=options.tune,
                chains=options.chains,
                cores=options.cores or min(options.chains, os.cpu_count() or 1),
                random_seed=options.seed,
                progressbar=not options.quiet,
                var_names=_stored(model, options),
                # `check_convergence` knows what a state vector is.
                compute_convergence_checks=False,
            )
        except ValueError as error:
            # What PyMC says if it was interrupted while tuning.
            if "Not enough samples" in str(error):
                raise KeyboardInterrupt from None
            raise
        finally:
            logger.setLevel(level)


def _stored(model: pm.Model, options: Namespace) -> list[str] | None:
    """Names of the variables to keep; without the weights if their draws would fill the memory.

    `decompose` then draws weights for the columns that it reports.
    """
    size = trace_size(options.draws, options.tune, options.chains, model=model)
    if size < free_memory() / 2:
        return None
    return [name for name in ("r", "K", "sigma2", "omega2") if name in model.named_vars]
