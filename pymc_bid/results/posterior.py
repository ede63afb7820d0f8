"""Reading variables and statistics out of what `pm.sample` returned."""

from typing import Any, NamedTuple

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray


def read_group(idata: Any, name: str) -> xr.Dataset:
    """Return a group of an InferenceData, DataTree or mapping, empty if there is none."""
    try:
        group = idata[name]
    except (KeyError, TypeError, IndexError):
        return xr.Dataset()
    return group.to_dataset() if hasattr(group, "to_dataset") else group


def with_groups(idata: Any, groups: dict[str, xr.Dataset]) -> Any:
    """Return groups in the form of `idata`: an InferenceData, or a DataTree."""
    if isinstance(idata, xr.DataTree):
        return xr.DataTree.from_dict(groups)
    return az.InferenceData(**groups)


def read_posterior(idata: Any) -> xr.Dataset:
    """Return the posterior group, which must have draws."""
    posterior = read_group(idata, "posterior")
    if not posterior.sizes:
        raise ValueError(
            f"idata ({type(idata).__name__}) has no posterior group; pass what pm.sample returned."
        )
    for dim in ("chain", "draw"):
        if dim not in posterior.sizes:
            raise ValueError(
                f"The posterior has no dimension {dim!r}. To select one {dim}, keep the dimension: "
                f"idata.sel({dim}=[0])."
            )
    sizes = [posterior.sizes[dim] for dim in ("chain", "draw")]
    if min(sizes) == 0:
        raise ValueError(f"The posterior has no draws: {sizes[0]} chains of {sizes[1]} draws.")
    return posterior


def read_error(idata: Any) -> NDArray[np.float64] | None:
    """Return the draws' mean squared errors (chain, draw) as the sampler reported them.

    None if it did not, or if it did for several decompositions, whose names it does not tell.
    """
    statistics = read_group(idata, "sample_stats")
    if "bid_mse" not in statistics or statistics["bid_mse"].ndim != 2:
        return None
    return np.asarray(statistics["bid_mse"].transpose("chain", "draw"), dtype=np.float64)


class Ladder(NamedTuple):
    """What the ladder of replicas did in each chain, after tuning."""

    tried: NDArray[np.int64]
    """Exchanges with the chain that were tried, (chain,); 0 with the paper's scheme."""
    accepted: NDArray[np.int64]
    """Those that were accepted, (chain,)."""
    round_trips: NDArray[np.int64]
    """Sets that came from the reference all the way down to the chain's temperature, (chain,)."""


def read_ladder(idata: Any) -> Ladder | None:
    """Return what the sampler reported of its ladder, None if it did not.

    Of several decompositions, whose names it does not tell, the least in each chain.
    """
    statistics = read_group(idata, "sample_stats")
    names = ("bid_exchanges_tried", "bid_exchanges_accepted", "bid_round_trips")
    if not all(name in statistics for name in names):
        return None
    counts = [statistics[name].transpose("chain", "draw", ...) for name in names]
    totals = [np.asarray(count).sum(axis=1) for count in counts]
    return Ladder(*(total.reshape(len(total), -1).min(axis=1) for total in totals))


def read_variable(
    posterior: xr.Dataset, name: str, argument: str, dimensions: int | None = None
) -> xr.DataArray:
    """Return a variable, of so many dimensions if these are given, with chain and draw first."""
    if name not in posterior:
        raise ValueError(
            f"There is no variable {name!r} in the posterior; it has "
            f"{', '.join(map(str, posterior.data_vars))}. Is idata that of another model? A "
            f"variable of another name is given by `{argument}=`."
        )
    variable = posterior[name].transpose("chain", "draw", ...)
    if dimensions is not None and variable.ndim != dimensions + 2:
        raise ValueError(
            f"{name} has {variable.ndim - 2} dimensions in the posterior, {argument} needs "
            f"{dimensions}."
        )
    return variable


def read_state(idata: Any, name: str) -> tuple[NDArray[np.bool_], NDArray]:
    """Return the state vectors (chain, draw, basis) and the labels of the columns."""
    variable = read_variable(read_posterior(idata), name, "state", 1)
    values = np.asarray(variable)
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"{name} is not a state vector: it has values other than 0 and 1.")
    dim = variable.dims[-1]
    labels = variable[dim].values if dim in variable.coords else np.arange(values.shape[2])
    return values.astype(bool), labels
