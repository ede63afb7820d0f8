"""Stopping `pm.sample` when the error and the number of columns are stationary."""

import multiprocessing
import warnings

import numpy as np

from pymc_bid.inputs import read_whole_number
from pymc_bid.results.diagnostics import effective_size, r_hat

WATCHED = ("bid_mse", "bid_K")


class StopWhenStationary:
    """Callback for `pm.sample`: end sampling when error and K agree across chains.

    Every `every` draws, tuning aside, R-hat and ESS of the mean squared error and of K are computed
    over all chains. When R-hat is at most `r_hat` and ESS at least `ess`, sampling ends, and
    `pm.sample` returns the draws so far as if they had been asked for: `draws` is then an upper
    limit. A K that is the same in all chains and draws counts as stationary.

    What PyMC lets a callback do depends on how the chains run:

    * all at once (`cores` at least `chains`): as said.
    * several at a time, the others waiting (`1 < cores < chains`): PyMC can only end all of them,
      and keeps the same number of draws of each. Sampling ends once that loses no chain, which is
      late, and a warning says so.
    * one after the other (`cores=1`): the first chain ends when its two halves agree, the others
      after as many draws. Whether the chains agree is for `bid.check_convergence` to say.

    Processes that are there when the rule is made are not taken for chains; make it right before
    `pm.sample`. PyMC reserves memory for all `draws`: with a large Y leave it out by `var_names`.

    Parameters
    ----------
    every, minimum : int
        Draws between checks, and of each chain before the first one.
    r_hat, ess : float
        Limits; the ESS is that of all chains together.

    Attributes
    ----------
    stopped_at : int or None
        Draws of each chain when sampling was ended; None if it ran to its end.

    Examples
    --------
    >>> rule = bid.StopWhenStationary(every=20, minimum=40, r_hat=1.1, ess=20)
    >>> with bid.gbt(A, identity=True):
    ...     stopped = pm.sample(
    ...         500, tune=50, chains=1, callback=rule, progressbar=False, random_seed=1
    ...     )
    >>> stopped["posterior"].sizes["draw"] == rule.stopped_at < 500
    True
    """

    def __init__(
        self, *, every: int = 100, minimum: int = 200, r_hat: float = 1.01, ess: float = 400
    ):
        if not r_hat > 1:
            raise ValueError(f"r_hat must be above 1, got {r_hat!r}.")
        self.every = read_whole_number(every, "every")
        self.minimum = max(read_whole_number(minimum, "minimum"), 8)
        self.r_hat = float(r_hat)
        self.ess = float(ess)
        self._others = _children()
        self._start()

    def _start(self):
        self.stopped_at: int | None = None
        self._seen: dict[int, list[tuple[float, ...]]] = {}
        self._checked = 0
        self._warned = False
        # PyMC starts a process for each chain, also for those that wait, before the first draw.
        self._workers = len(_children() - self._others)

    def __call__(self, trace, draw):
        """Take note of a draw; end sampling if it is the last one needed."""
        if not self._seen or (draw.draw_idx == 0 and draw.chain in self._seen):
            self._start()
        series = self._seen.setdefault(draw.chain, [])
        if draw.tuning:
            return
        series.append(_watched(draw.stats))
        if self._workers == 0 and len(self._seen) > 1:
            # One after the other: these end when the first one did.
            if len(series) == self.stopped_at:
                raise KeyboardInterrupt
        elif len(self._seen) < self._workers:
            if draw.is_last and not self._warned:
                self._warned = True
                warnings.warn(
                    "Some chains wait until others have ended, so sampling can't be stopped early "
                    "for all of them; use cores=chains.",
                    UserWarning,
                    stacklevel=2,
                )
        else:
            self._end_if_stationary()

    def _end_if_stationary(self):
        chains = list(self._seen.values())
        lengths = np.array([len(series) for series in chains])
        shortest = int(lengths.min())
        if shortest < max(self.minimum, self._checked + self.every):
            return
        self._checked = shortest
        values = np.array([series[:shortest] for series in chains])
        if len(chains) == 1:
            half = shortest // 2
            values = np.concatenate([values[:, :half], values[:, -half:]])
        # PyMC keeps the chains for which chains × draws is largest; none must be lost.
        kept = np.sort(lengths) * np.arange(lengths.size, 0, -1)
        if kept.argmax() == 0 and self._stationary(values):
            self.stopped_at = shortest
            # PyMC's own way to end sampling from a callback; it returns the draws so far.
            raise KeyboardInterrupt

    def _stationary(self, values) -> bool:
        """Whether each of the watched numbers, (chain, draw, number), is stationary."""
        # Not "above the limit": R-hat may be nan or infinite.
        return all(
            np.ptp(series) == 0
            or (r_hat(series) <= self.r_hat and effective_size(series) >= self.ess)
            for series in np.moveaxis(values, 2, 0)
        )


def _children() -> set[int | None]:
    """Numbers of the processes that this one has started and that are running."""
    return {process.pid for process in multiprocessing.active_children()}


def _watched(statistics) -> tuple[float, ...]:
    merged = {name: value for step in statistics for name, value in step.items()}
    missing = [name for name in WATCHED if name not in merged]
    if missing:
        raise ValueError(
            f"StopWhenStationary needs {', '.join(missing)} in the sampler's statistics: the state "
            "vector and the weights must be drawn by the steps of pymc_bid."
        )
    return tuple(float(np.asarray(merged[name]).item()) for name in WATCHED)
