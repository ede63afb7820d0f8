"""Assertions whose tolerance is the Monte Carlo error itself."""

from __future__ import annotations

import numpy as np
from scipy import stats


def standard_errors(series: np.ndarray, batches: int = 50) -> np.ndarray:
    """Standard error of each column's mean, autocorrelation included, by batch means.

    The series is cut into equally long batches; when these are long against the autocorrelation
    time their means are nearly independent, and the standard error is s / √batches with s the
    standard deviation of the batch means. Draws at the start which fill no batch are left out.

    Parameters
    ----------
    series : array of shape (draws, columns)
        One row per draw, in the order drawn.
    batches : int
        Number of batches.
    """
    length = len(series) // batches
    if length < 1:
        raise ValueError(f"series must have at least {batches} draws, got {len(series)}")
    kept = series[len(series) - length * batches :]
    means = kept.reshape(batches, length, -1).mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(batches)


def assert_means_agree(
    a: np.ndarray, b: np.ndarray, alpha: float = 1e-5, label: str = "", batches: int = 50
) -> float:
    """Fail unless two series, autocorrelated or not, have the same column means.

    For each column the statistic is (mean(a) - mean(b)) / √(se_a² + se_b²), with batch-means
    standard errors, compared with Student's t of batches - 1 degrees of freedom (the least that
    Welch's formula can give).

    Parameters
    ----------
    a, b : array of shape (draws,) or (draws, columns)
        The two series; their numbers of draws may differ.
    alpha : float
        Probability that the assertion fails although all means agree (Bonferroni over columns).
    label : str
        Named in the failure message.
    batches : int
        Number of batches each series is cut into.

    Returns
    -------
    float
        The largest absolute statistic.
    """
    a, b = _as_columns(a), _as_columns(b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a has {a.shape[1]} columns and b has {b.shape[1]}")
    for name, series in (("a", a), ("b", b)):
        assert np.all(np.isfinite(series)), f"{label}: {name} holds values that are not finite"
    difference = a.mean(axis=0) - b.mean(axis=0)
    error = np.hypot(standard_errors(a, batches), standard_errors(b, batches))
    # A constant column has no Monte Carlo error, only that of rounding.
    rounding = 1e-12 * np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
    statistic = np.abs(difference) / np.maximum(np.maximum(error, rounding), 1e-300)
    limit = stats.t.isf(alpha / (2 * a.shape[1]), batches - 1)
    failed = np.flatnonzero(statistic > limit)
    assert failed.size == 0, f"{label}: means differ by more than {limit:.2f} errors: " + "; ".join(
        f"column {i}: {a[:, i].mean():.6g} and {b[:, i].mean():.6g} ({statistic[i]:.1f} errors)"
        for i in failed
    )
    return float(statistic.max())


def randomised_rank(rng: np.random.Generator, truth: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Rank of the true value among posterior draws, ties broken at random.

    Uniform on 0, …, len(draws) when truth and draws come from the same distribution, discrete
    ones (the state vector, the number of columns) included.

    Parameters
    ----------
    rng : numpy.random.Generator
        Breaks the ties.
    truth : array of shape (columns,)
        The parameters the data were simulated with.
    draws : array of shape (draws, columns)
        Posterior draws, thinned until nearly independent.
    """
    draws = _as_columns(draws)
    below = np.sum(draws < truth, axis=0)
    ties = np.sum(draws == truth, axis=0)
    return below + rng.integers(0, ties, endpoint=True)


def assert_uniform_ranks(
    ranks: np.ndarray,
    bins: int,
    alpha: float = 1e-5,
    label: str = "",
    rank_count: int | None = None,
) -> float:
    """Fail unless the ranks of simulation-based calibration are uniform, by a chi-square test.

    Parameters
    ----------
    ranks : integer array of shape (simulations,) or (simulations, columns)
        Rank of the true value among the posterior draws, one row for each simulated data set.
    bins : int
        Number of equally wide bins; at least five simulations a bin are needed.
    alpha : float
        Probability that the assertion fails although all ranks are uniform (Bonferroni over
        columns).
    label : str
        Named in the failure message.
    rank_count : int, optional
        Number of values a rank can take (posterior draws plus one), a multiple of `bins`.
        Default: `bins`, that is one bin for each rank.

    Returns
    -------
    float
        The smallest p-value of all columns.
    """
    ranks = _as_columns(ranks)
    rank_count = bins if rank_count is None else rank_count
    if rank_count % bins:
        raise ValueError(f"rank_count must be a multiple of bins = {bins}, got {rank_count}")
    if len(ranks) < 5 * bins:
        raise ValueError(f"{bins} bins need at least {5 * bins} simulations, got {len(ranks)}")
    if ranks.min() < 0 or ranks.max() >= rank_count:
        raise ValueError(f"ranks must lie in 0, …, {rank_count - 1}")
    index = (ranks // (rank_count // bins)).astype(int)
    counts = np.stack([np.bincount(column, minlength=bins) for column in index.T], axis=1)
    p_values = stats.chisquare(counts, axis=0).pvalue
    failed = np.flatnonzero(p_values < alpha / ranks.shape[1])
    assert failed.size == 0, f"{label}: ranks are not uniform: " + "; ".join(
        f"column {i}: p = {p_values[i]:.2g}, counts {counts[:, i].tolist()}" for i in failed
    )
    return float(p_values.min())


def _as_columns(series: np.ndarray) -> np.ndarray:
    series = np.asarray(series)
    return series.reshape(len(series), -1)
