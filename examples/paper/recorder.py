"""Keeping what the study needs of each draw, and not the weights themselves."""

import numpy as np

THINNING = 5
FOLLOWED = 500
"""How many entries of Y are followed, for their autocorrelation."""


class Recorder:
    """A callback of `pm.sample` that adds up what would not fit into memory.

    Parameters
    ----------
    data : array of shape (M, N)
    chains, iterations : int
        With the iterations that are not kept.
    tune : int
    seed : int
        For the entries of Y that are followed.

    Attributes
    ----------
    error : array (chains, iterations)
        ‖A - A diag(r) Y‖²/(MN) of each draw, from the first iteration.
    number : array (chains, iterations)
        Chosen columns of each draw.
    entries : array (chains, iterations, followed)
        Some y_kl, and which of them belong to a chosen column (`entries_on`).
    identity_error : array (chains, iterations)
        The error after the paper's post-processing W[:, J] = I, of every fifth kept draw; else nan.
    weights, identity_weights : array (chains, N, N)
        Means of diag(r) Y over those draws, without and with post-processing.
    largest : array (chains,)
        The largest |y_kl| of all kept draws.
    """

    def __init__(self, data, chains, iterations, tune, seed):
        size = data.shape[1]
        self.data, self.tune = data, tune
        followed = np.random.default_rng(seed).choice(size**2, min(FOLLOWED, size**2), False)
        self.followed = np.unravel_index(followed, (size, size))
        shape = (chains, iterations)
        self.error = np.full(shape, np.nan)
        self.identity_error = np.full(shape, np.nan)
        self.number = np.zeros(shape, int)
        self.entries = np.empty((*shape, followed.size), np.float32)
        self.entries_on = np.empty((*shape, followed.size), bool)
        self.weights = np.zeros((chains, size, size))
        self.identity_weights = np.zeros((chains, size, size))
        self.largest = np.zeros(chains)
        self.count = np.zeros(chains, int)

    def __call__(self, trace, draw) -> None:
        where = draw.chain, draw.draw_idx
        state, weights = draw.point["r"], draw.point["Y"]
        self.error[where] = next(s["bid_mse"] for s in draw.stats if "bid_mse" in s)
        self.number[where] = state.sum()
        self.entries[where] = weights[self.followed]
        self.entries_on[where] = state[self.followed[0]] == 1
        if draw.draw_idx < self.tune:
            return
        self.largest[draw.chain] = max(self.largest[draw.chain], np.abs(weights).max())
        if (draw.draw_idx - self.tune) % THINNING:
            return
        chosen = state == 1
        active = weights * state[:, None]
        self.weights[draw.chain] += active
        active[:, chosen] = np.eye(state.size)[:, chosen]
        self.identity_weights[draw.chain] += active
        self.identity_error[where] = mean_squared_error(self.data, active)
        self.count[draw.chain] += 1

    def mean_errors(self) -> tuple[np.ndarray, np.ndarray]:
        """For each chain the error of the mean weights, without and with post-processing."""
        return tuple(
            np.array(
                [
                    mean_squared_error(self.data, total / count)
                    for total, count in zip(weights, self.count, strict=True)
                ]
            )
            for weights in (self.weights, self.identity_weights)
        )


def mean_squared_error(data: np.ndarray, weights: np.ndarray) -> float:
    """‖A - A W‖²/(MN) for N × N weights whose rows are zero for columns that are not chosen."""
    chosen = np.flatnonzero(weights.any(axis=1))
    return float(np.mean((data - data[:, chosen] @ weights[chosen]) ** 2))


def mean_autocorrelation(entries: np.ndarray, lags: int) -> np.ndarray:
    """Autocorrelation at lags 0 … `lags`, averaged over the series (draws × series) that vary."""
    centred = entries - entries.mean(axis=0)
    centred = centred[:, np.ptp(centred, axis=0) > 0].astype(float)
    if centred.shape[1] == 0:
        return np.full(lags + 1, np.nan)
    length = centred.shape[0]
    spectrum = np.fft.rfft(centred, 2 * length, axis=0)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: lags + 1]
    return (covariance / covariance[0]).mean(axis=1)
