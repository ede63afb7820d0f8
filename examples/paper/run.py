"""Sampling one cell and writing what the tables and figures need of it."""

import logging
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pymc as pm

import pymc_bid as bid
from examples.paper.cells import Cell, Settings
from examples.paper.errors import bounded_error
from examples.paper.recorder import Recorder, mean_autocorrelation

LAGS = 40


def run_cell(cell: Cell, data: np.ndarray, settings: Settings, path: Path, seed: int) -> None:
    """Sample a cell and write `path`, which appears when the cell is finished and not before."""
    # Compiling and starting processes is in the time, as it is for a user.
    started, processor = time.perf_counter(), sum(os.times()[:4])
    model = getattr(bid, cell.model)(data, k=cell.k)
    recorder = Recorder(data, settings.chains, settings.tune + settings.draws, settings.tune, seed)
    scheme = "collapsed" if cell.sampler == "default" else "paper"
    starts = None
    if cell.sampler == "paper_prior":
        starts = [prior_start(model, seed + chain) for chain in range(settings.chains)]
    step = "bid_flip" if cell.k is None else "bid_swap"
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("pymc").setLevel(logging.ERROR)
        idata = pm.sample(
            draws=settings.draws,
            tune=settings.tune,
            chains=settings.chains,
            cores=2,
            initvals=starts,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            var_names=["r", "sigma2"],
            callback=recorder,
            bid_weights={"nu": settings.nu},
            **{step: {"scheme": scheme}},
        )
    seconds = time.perf_counter() - started
    state = np.asarray(idata["posterior"]["r"], dtype=bool)
    mean_error, identity_mean_error = recorder.mean_errors()
    kept = slice(settings.tune, None)
    sets = [most_visited(chain) for chain in state]
    results = {
        "error": recorder.error,
        "number": recorder.number,
        "sigma2": np.asarray(idata["posterior"]["sigma2"]),
        "r": state,
        "mean_error": mean_error,
        "identity_error": np.nanmean(recorder.identity_error[:, kept], axis=1),
        "identity_mean_error": identity_mean_error,
        "set_error": np.array([bounded_error(data, chosen) for chosen in sets]),
        "largest_weight": recorder.largest,
        "autocorrelation": np.array(
            [mean_autocorrelation(chain[kept], LAGS) for chain in recorder.entries]
        ),
        "autocorrelation_on": np.array(
            [
                mean_autocorrelation(chain[kept][:, on[kept].all(axis=0)], LAGS)
                for chain, on in zip(recorder.entries, recorder.entries_on, strict=True)
            ]
        ),
        "seconds": seconds,
        "processor_seconds": sum(os.times()[:4]) - processor,
        "tune": settings.tune,
        "nu": settings.nu,
    }
    unfinished = path.with_suffix(".part.npz")
    np.savez_compressed(unfinished, **results)
    unfinished.replace(path)


def prior_start(model: pm.Model, seed: int) -> dict[str, np.ndarray]:
    """A draw of everything from the prior."""
    names = [variable.name for variable in model.free_RVs]
    drawn = pm.draw([model[name] for name in names], random_seed=seed)
    return dict(zip(names, drawn, strict=True))


def most_visited(state: np.ndarray) -> np.ndarray:
    """The columns of the state that a chain (draws × columns) was in most often."""
    states, counts = np.unique(state, axis=0, return_counts=True)
    return np.flatnonzero(states[counts.argmax()])
