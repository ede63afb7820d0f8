"""Making the closed form that a ladder moves on."""

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.joint import Joint
from pymc_bid.graph.values import Point
from pymc_bid.steps.exchange import Frozen
from pymc_bid.steps.marginal import MarginalBuilder


def freeze(
    joint: Joint, builder: MarginalBuilder, point: Point, log_odds: NDArray[np.float64], bias: float
) -> Frozen:
    """Return the closed form at a point, the same again whenever it is asked for.

    Parameters
    ----------
    joint : Joint
    builder : MarginalBuilder
    point : dict
    log_odds : array (N,)
        Of each column before the data, `bias` included.
    bias : float
    """
    prior = joint.proposal_prior(point)
    marginal, box = builder.build(point, log_odds, prior)
    # Copied: PyMC writes the next point into the same arrays where chains have their processes.
    kept = {name: np.array(value) for name, value in point.items()}
    return Frozen(marginal, box, builder.is_exact(prior), {}, bias, kept)
