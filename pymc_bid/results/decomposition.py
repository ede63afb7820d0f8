"""The result of post-processing: a decomposition with its uncertainty."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from pymc_bid.inputs import labels_or_numbers, read_matrix
from pymc_bid.results.diagnostics import state_table
from pymc_bid.results.predict import predict_rows

OF_CHOSEN_COLUMNS = {
    "C": ("row", "chosen"),
    "W": ("chosen", "column"),
    "W_sd": ("chosen", "column"),
    "W_interval": ("bound", "chosen", "column"),
    "W_draws": ("sample", "chosen", "column"),
    "position": ("chosen",),
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
    def C(self) -> xr.DataArray:
        """The chosen columns themselves, (row, chosen)."""
        return self.data["C"]

    @property
    def W(self) -> xr.DataArray:
        """Posterior mean of the weights given the chosen columns, (chosen, column)."""
        return self.data["W"]

    @property
    def W_sd(self) -> xr.DataArray:
        """Posterior standard deviation of the weights, (chosen, column)."""
        return self.data["W_sd"]

    @property
    def W_interval(self) -> xr.DataArray:
        """Equal-tailed credible interval of the weights, (bound, chosen, column)."""
        return self.data["W_interval"]

    @property
    def mse(self) -> float:
        """Mean squared error of C·W with W the posterior mean; smaller than that of a draw."""
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
        labels, states = self.data["basis"].values, self.data["set_state"].values.astype(bool)
        return pd.DataFrame(
            {
                "frequency": self.data["set_visits"].values / self.data["K"].size,
                "visits": self.data["set_visits"].values,
                "size": states.sum(axis=1),
                "error": self.data["set_error"].values,
                "columns": [labels[state].tolist() for state in states],
            },
            index=pd.RangeIndex(len(states), name="set"),
        )

    @property
    def groups(self) -> pd.DataFrame:
        """Groups of interchangeable columns: their probability, expected number, and columns."""
        labels, members = self.data["basis"].values, self.data["group_member"].values.astype(bool)
        members = members[members.any(axis=1)]
        return pd.DataFrame(
            {
                "probability": self.data["group_probability"].values[: len(members)],
                "expected": self.data["group_expected"].values[: len(members)],
                "columns": [labels[member].tolist() for member in members],
            },
            index=pd.RangeIndex(len(members), name="group"),
        )

    def reconstruct(self) -> xr.DataArray:
        """C·W with the posterior mean of W, (row, column)."""
        return self.C @ self.W

    def transform(self, new_rows: Any) -> xr.Dataset:
        """Apply the decomposition to new rows: keep the chosen columns, predict the others.

        Parameters
        ----------
        new_rows : array_like, pandas.DataFrame or xarray.DataArray
            Rows with the columns of A (of the pool, if there is one), prepared in the same way.
            With labels the chosen columns are enough, in any order; entries of others are not
            looked at.

        Returns
        -------
        xarray.Dataset
            `mean`, `sd`, `lower` and `upper` of the predictive distribution, each (row, column).
            Chosen columns are kept as they are. The noise around the others is what the
            interpolated columns of A had: the paper's σ² is smaller, for it averages over the
            chosen columns, which fit themselves.
        """
        chosen, rows = self._chosen_entries(new_rows)
        noise = self.data["noise_draws"].values
        if np.isnan(noise).any():
            raise ValueError(
                "transform needs the noise variance, which was not stored; give its name to "
                "decompose by `noise=`."
            )
        # Where nothing is interpolated there is no noise; the smallest number keeps it a mixture.
        noise = np.maximum(noise, np.finfo(np.float64).tiny)
        prediction = predict_rows(
            chosen, self.data["W_draws"].values, noise, float(self.data.attrs["ci_prob"])
        )
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

    def to_netcdf(self, path: str | PathLike) -> None:
        """Write everything to a netCDF file."""
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

    def _chosen_entries(self, new_rows) -> tuple[NDArray[np.float64], NDArray]:
        """Return the entries of the chosen columns, and the labels of the rows."""
        if isinstance(new_rows, xr.DataArray) and new_rows.ndim == 2:
            new_rows = new_rows.to_pandas()
        if isinstance(new_rows, pd.DataFrame):
            wanted = [str(name) for name in self.columns]
            places = new_rows.columns.astype(str).get_indexer_for(wanted)
            missing = [name for name, place in zip(wanted, places, strict=True) if place < 0]
            if missing:
                raise ValueError(f"new_rows lacks the chosen columns {', '.join(missing)}.")
            new_rows = new_rows.iloc[:, places]
        else:
            shape, number = np.shape(new_rows), self.data.sizes["basis"]
            if len(shape) != 2 or shape[1] != number:
                raise ValueError(
                    f"new_rows must be a matrix with the {number} columns of the data, its shape "
                    f"is {shape}. A DataFrame may have the chosen columns alone."
                )
            new_rows = np.asarray(new_rows)[:, self.positions]
        if not self.columns:
            return np.empty((len(new_rows), 0)), np.arange(len(new_rows))
        matrix = read_matrix(new_rows, "new_rows")
        return matrix.values, labels_or_numbers(matrix.rows, len(matrix.values))

    def __repr__(self):
        attributes, data, size = self.data.attrs, self.data, self.size
        names = ", ".join(map(str, self.columns[:12])) + (", …" if len(self.columns) > 12 else "")
        made = "with exactly" if attributes["weights_from"] == "draws" else "made for"
        error = _number(float(self.error_after.mean()))
        if not attributes["identity"]:
            before = _number(float(self.error_before.mean()))
            error = f"{before} before and {error} after post-processing"
        lines = [
            f"Interpolative decomposition of a {data.sizes['row']} × {data.sizes['column']} matrix",
            f"  columns ({attributes['choice']}): {len(self.columns)} of {data.sizes['basis']}: "
            f"{names}",
            f"  K: mean {float(data['K'].mean()):.2f}, most probable {size.idxmax()} "
            f"(probability {size.max():.2f})",
            f"  sets, up to interchangeable columns: {attributes['number_of_sets']} visited, "
            f"the most frequent in {self.sets['frequency'].iloc[0]:.3f} of the draws",
            f"  W: posterior mean, sd and {attributes['ci_prob']:.0%} interval from "
            f"{attributes['draws_used']} draws {made} these columns",
            f"  mean squared error: {self.mse:.4g} of C·W; of a draw {error}",
        ]
        groups = ["/".join(map(str, members)) for members in self.groups["columns"]]
        if groups:
            more = f"; {len(groups) - 4} more" if len(groups) > 4 else ""
            lines.append(f"  interchangeable: {'; '.join(groups[:4])}{more}")
        lines.append("  " + attributes["verdict"].replace("\n", "\n  "))
        return "\n".join(lines)


def _number(value: float) -> str:
    return "unknown (not stored)" if np.isnan(value) else f"{value:.4g}"
