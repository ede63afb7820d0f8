"""The step for a state vector with a fixed number of ones."""

from typing import ClassVar

from pymc_bid.kernels.exact.paper import swap_once
from pymc_bid.steps.state import StateStep, counts_of, statistics_of


class SwapStep(StateStep):
    """Exchange chosen and unchosen columns of a state vector with a fixed number of ones.

    Parameters as for `StateStep`: `scheme`, `warm_up`, `moves`.

    Examples
    --------
    >>> with bid.gbt(A, k=2) as model:
    ...     step = bid.SwapStep([model["r"]])
    >>> point, _ = step.step(model.initial_point())
    >>> int(point["r"].sum())
    2
    """

    name = "bid_swap"
    fixed_size = True
    statistics: ClassVar = statistics_of("swaps")

    def paper(self, *arrays):
        """Try one exchange with the weights standing still."""
        *arrays, _, own, _ = arrays
        return counts_of(swaps=swap_once(self.rng, *arrays, own))
