"""The step for a state vector with a free number of ones."""

from typing import ClassVar

from pymc_bid.graph.values import Point
from pymc_bid.kernels.exact.paper import flip_sweep
from pymc_bid.kernels.interrupts import give_way
from pymc_bid.steps.exchange import ChainState
from pymc_bid.steps.state import StateStep, counts_of, statistics_of


class FlipStep(StateStep):
    """Move a state vector with independent Bernoulli entries (ARD), its number of ones free.

    With the collapsed scheme one step advances the ladder and, every other time, offers the chain
    an exchange with it; with the paper's it visits every column once. Parameters as for
    `StateStep`: `scheme`, `warm_up`, `moves`.

    Examples
    --------
    >>> with bid.gbt(A) as model:
    ...     step = bid.FlipStep([model["r"]], scheme="paper")
    >>> point, (statistics,) = step.step(model.initial_point())
    >>> int(statistics["bid_K"]) == int(point["r"].sum())
    True
    """

    name = "bid_flip"
    fixed_size = False
    statistics: ClassVar = statistics_of("flips")

    def paper(self, *arrays):
        """One sweep of flips with the weights standing still."""
        *arrays, _, own, log_prior_odds = arrays
        return counts_of(flips=flip_sweep(self.rng, *arrays, own, log_prior_odds))

    def _local(self, point: Point) -> tuple[dict[str, int], Point]:
        """Offer every column to go in or out, with weights drawn anew for all.

        Where the prior of r is not one of independent columns the ladder does not know it, and
        exchanges may be rare.
        """
        conditional = self._conditional(point)
        before = chain = conditional.chain()
        present = conditional.log_density(self.rng, False, chain)
        accepted = 0
        for column in range(chain.state.size):
            give_way()
            proposed = ChainState(chain.state.copy(), chain.weights.copy(), chain.log_variances)
            proposed.state[column] = 1 - proposed.state[column]
            found = conditional.log_density(self.rng, True, proposed)
            if self.rng.standard_exponential() > present - found:
                chain, present = proposed, found
                accepted += 1
        if accepted:
            point = conditional.write(self.rng, before, chain)
        return counts_of(flips=(chain.state.size, accepted)), point
