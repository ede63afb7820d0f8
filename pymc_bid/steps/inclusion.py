"""The step for the probability that a column is chosen."""

from typing import ClassVar

from pymc_bid.graph.roles import require_only_child
from pymc_bid.steps.base import DecompositionStep


class InclusionStep(DecompositionStep):
    """Draw inclusion probabilities from their beta conditional.

        π_g | r ~ Beta(α + number of ones, β + number of zeros)    among the columns of group g

    Serves a `pm.Beta` variable that is the probability of a `pm.Bernoulli` or `bid.StateVector`
    state vector: one for all columns, one for each, or one for each group (`p=beta[group]`).

    Examples
    --------
    >>> with pm.Model() as model:
    ...     share = pm.Beta("share", 1, 1)
    ...     model = bid.gbt(A, inclusion=share)
    ...     step = bid.InclusionStep([share])
    >>> step.vars
    [share_logodds__]
    """

    name = "bid_inclusion"
    statistics: ClassVar = {}

    @classmethod
    def claimed(cls, decomposition, model):
        """Beta variable."""
        roles = decomposition.roles
        if roles.inclusion is None:
            raise TypeError(
                f"The probability of {roles.state.name} is not made of the entries of a pm.Beta "
                "variable; give its variables one of PyMC's samplers by `step=`, for example "
                "pm.NUTS."
            )
        require_only_child(roles.inclusion, roles.state, model)
        return [roles.inclusion]

    def update(self, point):
        """Draw every probability once."""
        decomposition = self.decomposition
        state = decomposition.state.read(point)
        drawn = decomposition.inclusion.draw(self.rng, state, point)
        return decomposition.inclusion.probability.write(drawn, point), self.report()
