"""The prior of the state vector: its own distribution, and whatever else it enters."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pymc.model import Model
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV

from pymc_bid.graph.structure import children, is_polynomial, parameters_of
from pymc_bid.graph.values import Entry, Point, Quantities


class StatePrior:
    """What speaks for and against a column before the data.

    Beside the Bernoulli or subset distribution of r these are *further terms*: potentials, and the
    densities of other variables whose parameters depend on r.

    Attributes
    ----------
    further : list of variables
        Further terms.
    linear : bool
        Whether they all are potentials and linear in r, so that the odds of a column do not depend
        on the other ones.
    """

    def __init__(self, state: Variable, likelihoods: list[Variable], model: Model):
        self.further = [v for v in children(state, model) if v not in likelihoods]
        self.linear = all(
            v in model.potentials and is_polynomial(v, [state], affine=True) for v in self.further
        )
        self._model = model
        self._entry = Entry(state, model)
        # A subset distribution has even odds.
        is_bernoulli = isinstance(state.owner.op, BernoulliRV)
        self._probability = Quantities(parameters_of(state) if is_bernoulli else [], model)
        self._fixed_slopes = np.empty(0)

    @property
    def odds_are_fixed(self) -> bool:
        """Whether the log odds of the columns depend on no other variable."""
        return self._probability.fixed and (
            not self.further or not self.linear or self._further_is_fixed
        )

    @property
    def _further_is_fixed(self) -> bool:
        return self._further.names <= {self._entry.name} and not self._further.reads_data

    @cached_property
    def _further(self) -> Quantities:
        # Not before it is asked for: a term may be one that the state vector can't be moved with.
        return Quantities([self._model.logp(vars=self.further)], self._model)

    def log_odds(self, size: int, point: Point) -> NDArray[np.float64]:
        """Return the log odds of each of `size` columns, less further terms that are not linear."""
        odds = np.zeros(size)
        for probability in self._probability.as_floats(point):
            with np.errstate(divide="ignore"):
                odds += np.log(probability) - np.log1p(-probability)
        return odds + self._slopes(size, point) if self.further and self.linear else odds

    def _slopes(self, size: int, point: Point) -> NDArray[np.float64]:
        if self._fixed_slopes.size == size:
            return self._fixed_slopes
        nothing = self.log_further(np.zeros(size), point)
        slopes = np.array([self.log_further(one, point) - nothing for one in np.eye(size)])
        if self._further_is_fixed:
            self._fixed_slopes = slopes
        return slopes

    def log_further(self, state: NDArray, point: Point) -> float:
        """Return the sum of the further terms at another state."""
        return float(self._further(self._entry.write(state, point))[0])
