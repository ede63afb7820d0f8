"""What is worth keeping of weights that are too many to be kept at every draw."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pymc.model import Model, modelcontext

from pymc_bid.graph.decomposition import only_decomposition
from pymc_bid.inputs import read_matrix, read_whole_number
from pymc_bid.results.posterior import read_group, read_posterior, with_groups


class RunningMeans:
    """Callback for `pm.sample`: means over all draws, and every k-th Y, in place of all Y.

    PyMC keeps every draw of every variable: with 1000 columns each draw of Y takes 8 MB. With
    `var_names` Y is left out of the trace, and this keeps what is asked of it most, in the memory
    of two matrices of its size.

    Parameters
    ----------
    model : pymc.Model, optional
        With one decomposition; taken from the context if not given.
    every : int, optional
        Keep Y of every `every`-th draw of each chain, see `thinned`; None keeps none.

    Attributes
    ----------
    number : int
        Draws seen, tuning aside, of all chains together.

    Examples
    --------
    >>> with bid.gbt(A, identity=True):
    ...     keep = bid.RunningMeans(every=10)
    ...     short = pm.sample(
    ...         50, tune=50, chains=1, progressbar=False, var_names=keep.var_names, callback=keep
    ...     )
    >>> keep.number, keep.W.shape
    (50, (6, 6))
    """

    def __init__(self, model: Model | None = None, *, every: int | None = None):
        self.every = None if every is None else read_whole_number(every, "every")
        model = modelcontext(model)
        self._decomposition = only_decomposition(model, "running means are kept of")
        roles = self._decomposition.roles
        left_out = (roles.weights, roles.hyperparameters)
        self.var_names = [v.name for v in model.unobserved_RVs if v not in left_out]
        self._dims = tuple(model.named_vars_to_dims.get(roles.weights.name, ("basis", "column")))
        self._coords = {dim: list(model.coords[dim]) for dim in self._dims if dim in model.coords}
        self._start()

    def _start(self) -> None:
        shape = self._decomposition.regression().shape
        self.number = 0
        self._inclusion = np.zeros(shape[0])
        self._mean, self._squares = np.zeros((2, *shape))
        self._seen: dict[int, int] = {}
        self._kept: dict[int, list[NDArray[np.float64]]] = {}

    def __call__(self, trace, draw):
        """Take in a draw."""
        if draw.draw_idx == 0 and draw.chain in self._seen:
            # The first draw of another run.
            self._start()
        position = self._seen.setdefault(draw.chain, 0)
        if draw.tuning:
            return
        state = self._decomposition.state.read(draw.point)
        weights = self._decomposition.weights.read(draw.point)
        if self.every is not None and position % self.every == 0:
            self._kept.setdefault(draw.chain, []).append(weights.copy())
        self._seen[draw.chain] = position + 1
        active = np.flatnonzero(state)
        deviation = weights * state[:, None]
        if self._decomposition.regression().shared:
            deviation[np.ix_(active, active)] = np.eye(active.size)
        # Welford's updates, whose sums of squares do not cancel.
        self.number += 1
        self._inclusion += (state - self._inclusion) / self.number
        deviation -= self._mean
        self._mean += deviation / self.number
        self._squares += (1 - 1 / self.number) * deviation**2

    @property
    def inclusion(self) -> xr.DataArray:
        """Share of the draws in which each column is chosen."""
        return self._labelled(self._inclusion, self._dims[:1])

    @property
    def W(self) -> xr.DataArray:
        """Mean of the weights over all draws, zeros where a column is not chosen, (basis, column).

        In each draw the weights of a chosen column of A are those of the identity.
        """
        return self._labelled(self._mean, self._dims)

    @property
    def W_sd(self) -> xr.DataArray:
        """Standard deviation of the same."""
        return self._labelled(np.sqrt(self._squares / max(self.number, 1)), self._dims)

    def reconstruction(self, A: Any) -> NDArray[np.float64]:
        """Mean of C·W over all draws: the product is linear in W, so this is B times its mean.

        Parameters
        ----------
        A : array_like, pandas.DataFrame, xarray.DataArray or CompressedMatrix
            The columns that were chosen from: the matrix, or the pool if there was one.
        """
        candidates, W = read_matrix(A, "A").values, self.W.values
        if candidates.shape[1] != len(W):
            raise ValueError(
                f"A has {candidates.shape[1]} columns, there are {len(W)} to choose from."
            )
        return candidates @ W

    def thinned(self, idata: Any) -> Any:
        """Return every k-th draw with its Y, in the form of `idata`.

        Everything that takes draws takes these: `bid.decompose`, `bid.log_likelihood`, ….

        Parameters
        ----------
        idata : arviz.InferenceData or xarray.DataTree
            What `pm.sample` returned for this run.
        """
        if self.every is None:
            raise ValueError("No Y was kept; use RunningMeans(every=…).")
        self._require_draws()
        posterior = read_posterior(idata)
        chains = [int(chain) for chain in posterior["chain"].values]
        unknown = [chain for chain in chains if chain not in self._kept]
        if unknown or posterior.sizes["draw"] > min(self._seen[chain] for chain in chains):
            raise ValueError("idata is that of another run: it has draws that were not seen.")
        every = {"draw": slice(None, None, self.every)}
        few = posterior.isel(every)
        length = few.sizes["draw"]
        weights = np.stack([np.stack(self._kept[chain][:length]) for chain in chains])
        kept = {self._decomposition.roles.weights.name: (("chain", "draw", *self._dims), weights)}
        groups = {"posterior": few.assign(kept).assign_coords(self._coords)}
        for name in ("sample_stats", "observed_data", "constant_data"):
            values = read_group(idata, name)
            if values:
                groups[name] = values.isel(every) if name == "sample_stats" else values
        return with_groups(idata, groups)

    def _labelled(self, values, dims) -> xr.DataArray:
        self._require_draws()
        coords = {dim: self._coords[dim] for dim in dims if dim in self._coords}
        return xr.DataArray(values, dims=dims, coords=coords)

    def _require_draws(self) -> None:
        if self.number == 0:
            raise ValueError("No draws were seen yet: pass this to pm.sample by `callback=`.")
