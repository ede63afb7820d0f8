"""Sampling that can be broken off at any time and gone on with."""

import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pymc.sampling.mcmc import assign_step_methods, instantiate_steppers
from pymc.sampling.mcmc import sample as sample_in_memory

import pymc_bid
from pymc_bid.inputs import read_whole_number
from pymc_bid.results.posterior import read_group, with_groups
from pymc_bid.sampling.fingerprint import fingerprint
from pymc_bid.sampling.folder import RunFolder, settle
from pymc_bid.sampling.recorder import RecordedStep

OURS = (
    *("trace", "var_names", "return_inferencedata", "discard_tuned_samples", "idata_kwargs"),
    *("compute_convergence_checks", "nuts_sampler"),
)
"""Arguments of `pm.sample` that there is no choice in."""
BESIDE = ("sample_stats", "observed_data", "constant_data")
TIME = "sampling_time"


def sample(
    model: Model,
    path: str | os.PathLike,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    random_seed: int | None = None,
    checkpoint_every: float = 60.0,
    step: Any = None,
    **arguments,
) -> Any:
    """Sample as `pm.sample` does, with draws on disk, and go on where an earlier call ended.

    The draws are those of `pm.sample` with the same seed. Each is written to a folder, and every
    `checkpoint_every` seconds so is all that a chain needs to go on. After whatever has ended a
    run (Ctrl-C, `kill -9`, a power cut, a full disk) the same call goes on from there, with the
    draws of a run that was never broken off. With more `draws` than before it goes on from the end.

    Parameters
    ----------
    model : pymc.Model
    path : path
        Folder of the run, made if there is none. One with a run of another model, other data or
        other settings is refused.
    draws, tune, chains : int
        As for `pm.sample`.
    random_seed : int, optional
        If not given, a new one, or that of the run in the folder.
    checkpoint_every : float
        Seconds between flushes of a chain. What was drawn since the last one is drawn again.
    step : step method or list of these, optional
        As for `pm.sample`.
    **arguments
        Further arguments of `pm.sample`, such as `cores`, `progressbar`, `initvals`, `callback` or
        `bid_weights={"nu": 5}`.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        What `pm.sample` returns. Draws are on disk, and are read where they are used.

    Raises
    ------
    OSError
        If the folder can't be written to; what was flushed before is kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> quick = {"tune": 50, "chains": 1, "progressbar": False}
    >>> begun = bid.sample(model, folder.name, draws=50, **quick)
    >>> longer = bid.sample(model, folder.name, draws=100, **quick)
    >>> bool((begun["posterior"]["Y"] == longer["posterior"]["Y"][:, :50]).all())
    True
    """
    refused = sorted(set(arguments) & set(OURS))
    if refused:
        raise TypeError(f"bid.sample has no argument {refused[0]}; pm.sample has.")
    draws, chains = read_whole_number(draws, "draws"), read_whole_number(chains, "chains")
    tune = read_whole_number(tune, "tune", 0)
    known = inspect.signature(sample_in_memory).parameters
    options = {name: arguments.pop(name) for name in [*arguments] if name not in known}
    point = model.initial_point()
    with model:
        given, selected = assign_step_methods(model, step)
        steps = instantiate_steppers(
            model, given, selected, step_kwargs=options, initial_point=point
        )
        recorder = RecordedStep(steps if isinstance(steps, list) else [steps], model, point)
    settings = {
        "version": pymc_bid.__version__,
        "model": fingerprint(model),
        "tune": tune,
        "chains": chains,
        "random_seed": random_seed,
        "steps": recorder.name,
        "options": repr(sorted(options.items())),
    }
    record = recorder.recorded.dtype
    sizes = {v.name: record["variables"][v.name].itemsize for v in model.unobserved_RVs}
    folder = RunFolder(Path(path), record, chains, draws)
    resumes = any(folder.path.glob("chain-*.npz"))
    try:
        seed = settle(folder.path, settings)["random_seed"]
        folder.reserve()
        recorder.keep_in(folder, tune, checkpoint_every)
        with model:
            idata = sample_in_memory(
                draws,
                tune=tune,
                chains=chains,
                random_seed=seed,
                step=recorder,
                # PyMC itself keeps one variable, the smallest, and what samplers report.
                var_names=[min(sizes, key=lambda name: sizes[name])],
                compute_convergence_checks=False,
                **arguments,
            )
    except Exception as error:
        # From another process it comes as the cause of an error of PyMC's.
        reason = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(reason, OSError):
            raise
        raise OSError(
            reason.errno,
            f"{reason.strerror or reason}. What the run in {path} had flushed is kept, and the "
            "same call goes on from there",
        ) from None
    return _with_draws(idata, folder, model, resumes)


def _with_draws(idata: Any, folder: RunFolder, model: Model, resumes: bool) -> Any:
    """Put the draws on disk in the place of those that PyMC has kept."""
    short = read_group(idata, "posterior")
    chains = short["chain"].values
    draws = folder.read_draws()["variables"][: short.sizes["draw"]].swapaxes(0, 1)
    # A slice is no copy. After an interrupt there may be draws of some chains only.
    is_first = np.array_equal(chains, np.arange(chains.size))
    draws = draws[: chains.size] if is_first else draws[chains]
    variables, coords = {}, {dim: short[dim].values for dim in ("chain", "draw")}
    for name in (variable.name for variable in model.unobserved_RVs):
        values = np.asarray(draws[name])
        shape = values.shape[2:]
        dims = model.named_vars_to_dims.get(name, [f"{name}_dim_{i}" for i in range(len(shape))])
        variables[name] = (("chain", "draw", *dims), values)
        for dim, length in zip(dims, shape, strict=True):
            labels = model.coords.get(dim)
            coords[dim] = np.arange(length) if labels is None else np.array(labels)
    # A run that was broken off has taken longer than PyMC knows.
    attributes = {key: x for key, x in short.attrs.items() if not (resumes and key == TIME)}
    groups = {name: read_group(idata, name) for name in BESIDE}
    posterior = xr.Dataset(variables, coords, attributes)
    return with_groups(
        idata, {"posterior": posterior} | {name: group for name, group in groups.items() if group}
    )
