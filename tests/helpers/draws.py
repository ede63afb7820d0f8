"""Draws made up for tests, in the form that the installed ArviZ has for them."""

import arviz as az
import numpy as np
import xarray as xr

NEW_ARVIZ = int(az.__version__.split(".")[0]) >= 1


def as_idata(**groups: xr.Dataset):
    """Datasets as an InferenceData or a DataTree."""
    if NEW_ARVIZ:
        return xr.DataTree.from_dict(groups)
    return az.InferenceData(**groups)


def make_draws(A, sets, *, chains=2, draws=60, seed=0, labels=None, own_variance=False):
    """Draws that visit `sets` in turn, with weights around those of least squares."""
    rng = np.random.default_rng(seed)
    values = np.asarray(A)
    columns = values.shape[1]
    labels = np.arange(columns) if labels is None else np.asarray(labels)
    state = np.zeros((chains, draws, columns), dtype=int)
    weights = rng.uniform(-1, 1, (chains, draws, columns, columns))
    for chain in range(chains):
        for draw in range(draws):
            chosen = list(sets[(chain + draw) % len(sets)])
            state[chain, draw, chosen] = 1
            best = np.linalg.lstsq(values[:, chosen], values, rcond=None)[0]
            noisy = best + 0.1 * rng.normal(size=best.shape)
            weights[chain, draw, chosen] = noisy.clip(-1, 1)
    posterior = {
        "r": (("chain", "draw", "basis"), state),
        "Y": (("chain", "draw", "basis", "column"), weights),
        "sigma2": (("chain", "draw"), rng.gamma(9.0, 0.01, (chains, draws))),
    }
    if own_variance:
        posterior["omega2"] = (("chain", "draw", "basis"), rng.gamma(9.0, 0.1, state.shape))
    dataset = xr.Dataset(posterior, coords={"basis": labels, "column": labels})
    dataset.attrs["sampling_time"] = 2.0
    fit = np.einsum("mk,cdk,cdkl->cdml", values, state, weights)
    statistics = {
        "bid_mse": (("chain", "draw"), ((values - fit) ** 2).mean(axis=(2, 3))),
        "bid_K": (("chain", "draw"), state.sum(axis=2)),
    }
    return as_idata(posterior=dataset, sample_stats=xr.Dataset(statistics))
