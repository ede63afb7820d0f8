"""The result of post-processing: a decomposition with its uncertainty."""

from dataclasses import dataclass
from io import IOBase
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pymc_bid.results.diagnostics import state_table
from pymc_bid.results.predict import predict_rows
from pymc_bid.results.tables import group_table, mean_r2, r2_table, set_table
from pymc_bid.results.units import Units, read_chosen_entries
from pymc_bid.results.words import describe, write_html, write_page

OF_CHOSEN_COLUMNS = {
    "C": ("row", "chosen"),
    "W": ("chosen", "column"),
    "W_sd": ("chosen", "column"),
    "W_interval": ("bound", "chosen", "column"),
    "W_draws": ("sample", "chosen", "column"),
    "position": ("chosen",),
    "place": ("chosen",),
}
STATE_NUMBERS = ("inclusion", "mcse", "flips", "ess", "r_hat")


@dataclass(frozen=True, repr=False)
class InterpolativeDecomposition:
    """A ≈ C·W with a few columns of A, and how sure one can be of it. Made by `bid.decompose`.

    Everything is in one `xarray.Dataset`, `to_xarray()`; what is asked for most has a name below.

    Examples
    --------
    >>> result.C.shape, result.W.shape
    ((30, 2), (2, 6))
    >>> result.reconstruct().shape
    (30, 6)
    """

    data: xr.Dataset

    @property
    def columns(self) -> list:
        """Labels of the chosen columns J."""
        return self.data["chosen"].values.tolist()

    @property
    def positions(self) -> NDArray[np.int64]:
        """Positions of the chosen columns among the candidates."""
        return self.data["position"].values.astype(np.int64)

    @property
    def constants(self) -> pd.Series:
        """Constant columns, which the model left out: they are in nothing else that is here."""
        if "constant_value" not in self.data:
            return pd.Series(dtype=np.float64, name="constant_value")
        return self.data["constant_value"].to_series()

    @property
    def C(self) -> xr.DataArray:
        """The chosen columns themselves, in the units of the data, (row, chosen)."""
        return self.data["C"]

    @property
    def W(self) -> xr.DataArray:
        """Posterior mean of the weights given the chosen columns, (chosen, column).

        Those of the model, which the bounds are for: between standardised columns, if it
        standardises them. `slopes` are in the units of the data.
        """
        return self.data["W"]

    @property
    def slopes(self) -> xr.DataArray:
        """Posterior mean of the weights in the units of the data, (chosen, column).

        What one unit more of a chosen column adds to another one: `W` times the scale of the one
        over that of the other. The data are about `intercept` + C·`slopes`.
        """
        return self.W * self._units.scale / self._chosen_units.scale[:, None]

    @property
    def intercept(self) -> xr.DataArray:
        """What is added to C·`slopes`, (column,); 0 in models that do not standardise."""
        center, shift = self._units.center, self._chosen_units.center @ self.slopes.values
        return (center - shift) * xr.ones_like(self.data["column"], dtype=np.float64)

    @property
    def W_sd(self) -> xr.DataArray:
        """Posterior standard deviation of `W`, (chosen, column)."""
        return self.data["W_sd"]

    @property
    def W_interval(self) -> xr.DataArray:
        """Equal-tailed credible interval of `W`, (bound, chosen, column)."""
        return self.data["W_interval"]

    @property
    def mse(self) -> float:
        """Mean squared error of C·W with W the posterior mean; smaller than that of a draw.

        As all errors, in the units of the model: of standardised columns, if it standardises them.
        """
        return float(self.data.attrs["mse"])

    @property
    def error_before(self) -> xr.DataArray:
        """Mean squared error of each draw before post-processing, (chain, draw).

        That of B·diag(r)·Y; in models with the identity inside it is `error_after`.
        """
        return self.data["error_before"]

    @property
    def error_after(self) -> xr.DataArray:
        """Mean squared error of each draw with W[:, J] = I, (chain, draw); nan without Y."""
        return self.data["error_after"]

    @property
    def errors(self) -> pd.Series:
        """The errors in one place: mean over draws, before and after, and that of C·W."""
        return pd.Series(
            {
                "draws, before post-processing": float(self.error_before.mean()),
                "draws, after post-processing": float(self.error_after.mean()),
                "C·W": self.mse,
            },
            name="mean squared error",
        )

    @property
    def r2(self) -> pd.DataFrame:
        """R² of each column that is not chosen, given the chosen ones: mean, and interval.

        The posterior of ``1 - |a - C·w|² / |a - mean of a|²`` over the draws of W given the chosen
        columns, for the observed entries of a column a: the share of *these* entries' variance
        about their mean that the weights explain. It is the same in any units. `r2` is the mean of
        the draws, below what C·W with the mean of W has; a column of noise may be below 0, and one
        without any variance is nan.
        """
        return r2_table(self.data)

    @property
    def mean_r2(self) -> pd.Series:
        """The mean of `r2` over the columns, with the interval of that mean."""
        return mean_r2(self.data)

    @property
    def size(self) -> pd.Series:
        """Posterior distribution of the number of chosen columns K."""
        values, counts = np.unique(self.data["K"].values, return_counts=True)
        index = pd.Index(values, name="K")
        return pd.Series(counts / counts.sum(), index=index, name="probability")

    @property
    def inclusion(self) -> pd.DataFrame:
        """Probability of each column being chosen, MCSE, flips per draw, ESS and R-hat."""
        numbers = {name: self.data[f"state_{name}"].values for name in STATE_NUMBERS}
        return state_table(numbers, self.data["basis"].values)

    @property
    def sets(self) -> pd.DataFrame:
        """The sets visited most: frequency, visits, size, mean error of their draws, columns.

        Sets that differ only by an exchange of interchangeable columns (`groups`) count as one, and
        the columns are those visited most.
        """
        shown = self.data.attrs.get("sets_shown", self.data.sizes["set"])
        return set_table(self.data).iloc[: int(shown)]

    def credible_sets(self, probability: float = 0.95) -> pd.DataFrame:
        """Return the fewest sets that hold so much of the posterior, the most probable first.

        As `sets`, with the sum of the frequencies down to each one. Where hardly any set is visited
        twice there is no such thing: then they are nearly all of them, and `inclusion` and `groups`
        say more.
        """
        if not 0 < probability < 1:
            raise ValueError(f"probability must be between 0 and 1, got {probability}.")
        visited = set_table(self.data)
        visited.insert(1, "sum", visited["frequency"].cumsum())
        # Sums of frequencies are rounded.
        return visited.iloc[: int((visited["sum"] < probability - 1e-9).sum()) + 1]

    @property
    def groups(self) -> pd.DataFrame:
        """Groups of interchangeable columns.

        The probability that at least one of the group is chosen, the mean number that are, the
        least absolute correlation of any two of its columns (1 for copies; what susieR calls
        purity), and the columns.
        """
        return group_table(self.data)

    def reconstruct(self) -> xr.DataArray:
        """C·W with the posterior mean of W, in the units of the data, (row, column)."""
        fit = self._chosen_units.standardise_values(self.C.values) @ self.W.values
        coords = {"row": self.data["row"], "column": self.data["column"]}
        return xr.DataArray(self._units.restore(fit), coords=coords, dims=("row", "column"))

    def transform(self, new_rows: Any) -> xr.Dataset:
        """Apply the decomposition to new rows: keep the chosen columns, predict the others.

        Parameters
        ----------
        new_rows : array_like, pandas.DataFrame or xarray.DataArray
            Rows with the columns of A (of the pool, if there is one), in the units of A. With
            labels the chosen columns are enough, in any order; entries of others are not looked at.

        Returns
        -------
        xarray.Dataset
            `mean`, `sd`, `lower` and `upper` of the predictive distribution, each (row, column).
            Chosen columns are kept as they are. The noise around the others is what the
            interpolated columns of A had: the paper's σ² is smaller, for it averages over the
            chosen columns, which fit themselves.
        """
        # All columns of the data, those that the model left out too.
        width = self.data.attrs.get("columns_given", self.data.sizes["basis"])
        places = np.asarray(self.data.get("place", self.positions)).astype(np.int64)
        # What the model took missing entries for.
        filling = self._chosen_units.center if self.data.attrs.get("missing_are_zero") else None
        chosen, rows = read_chosen_entries(new_rows, self.columns, places, width, filling)
        noise = self.data["noise_draws"].values
        if np.isnan(noise).any():
            raise ValueError(
                "transform needs the noise variance, which was not stored; give its name to "
                "decompose by `noise=`."
            )
        # Where nothing is interpolated there is no noise; the smallest number keeps it a mixture.
        noise = np.maximum(noise, np.finfo(np.float64).tiny)
        standardised = self._chosen_units.standardise_values(chosen)
        prediction = predict_rows(
            standardised, self.data["W_draws"].values, noise, float(self.data.attrs["ci_prob"])
        ).in_units(self._units)
        if not self.data.attrs["pool"]:
            for values in prediction:
                values[:, self.positions] = chosen
            prediction.sd[:, self.positions] = 0.0
        return xr.Dataset(
            {name: (("row", "column"), values) for name, values in prediction._asdict().items()},
            coords={"row": rows, "column": self.data["column"]},
        )

    def to_xarray(self) -> xr.Dataset:
        """Return everything as one dataset; calling the class with it is the way back."""
        return self.data

    def to_netcdf(self, path: str | PathLike | IOBase) -> None:
        """Write everything to a netCDF file, or to a stream of bytes."""
        # An older netCDF has no dimensions without entries.
        (self.data if self.columns else self.data.drop_dims("chosen")).to_netcdf(path)

    @classmethod
    def from_netcdf(cls, path: str | PathLike) -> "InterpolativeDecomposition":
        """Read what `to_netcdf` wrote."""
        with xr.open_dataset(path) as stored:
            data = stored.load()
        if "chosen" not in data.dims:
            sizes = {**data.sizes, "chosen": 0, "bound": 2}
            data = data.assign(
                {
                    name: (dims, np.empty([sizes[dim] for dim in dims]))
                    for name, dims in OF_CHOSEN_COLUMNS.items()
                }
            ).assign_coords(chosen=data["basis"].values[:0])
        return cls(data)

    @property
    def _units(self) -> Units:
        return Units.read(self.data, "", self.data.sizes["column"])

    @property
    def _chosen_units(self) -> Units:
        """The units of C; those of a pool are what they are."""
        if self.data.attrs["pool"]:
            return Units.read({}, "", len(self.columns))
        return Units(*(values[self.positions] for values in self._units))

    def headline(self) -> str:
        """Return one sentence: how many columns explain how much of the variance of the others.

        The share is the mean of `r2` over the columns that are not chosen, each of which counts
        alike; with it the one that is explained least and the one that is explained most.
        """
        return describe(self)

    def __repr__(self):
        return write_page(self)

    def _repr_html_(self) -> str:
        return write_html(self)
