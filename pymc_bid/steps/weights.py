"""The step for the weights Y and, in GBTN, their hyperparameters."""

from typing import ClassVar

import numpy as np
from pymc.model import modelcontext

from pymc_bid.graph.roles import require_only_child
from pymc_bid.graph.values import active_columns
from pymc_bid.kernels.exact.hierarchy import sweep_hyperparameters
from pymc_bid.kernels.exact.weights import sweep_weights
from pymc_bid.memory import warn_if_too_large
from pymc_bid.steps.base import DecompositionStep
from pymc_bid.steps.interrupts import give_way
from pymc_bid.steps.noise import can_draw_noise, draw_noise

# With more chosen columns than this share of the rows, single weights move in short steps, and the
# noise variance with them; a step then takes more sweeps and draws the noise variance in between.
CROWDED, SWEEPS_IF_CROWDED = 0.5, 10


class WeightStep(DecompositionStep):
    """Gibbs sweeps over the weights and, in GBTN, over (μ, τ) of each weight.

    Serves weights with a `pm.TruncatedNormal` or `pm.Normal` prior, whose parameters may depend on
    other variables of the model. If they are a `GTNSNG` variable it is updated here as well.

    Parameters
    ----------
    vars : random variable or list of random variables
        The weights; a GTNSNG variable above them is included whether named or not.
    nu : int, optional
        Number of sweeps per step, the paper's critical steps ν: 5 there if the number of columns is
        found from the data. If not given, 1, for exchanges with the ladder draw all weights anew;
        10, with draws of σ² in between, while there are more chosen columns than half the rows.

    Examples
    --------
    >>> with bid.gbt(A, k=2) as model:
    ...     step = bid.WeightStep([model["Y"]], nu=3)
    >>> point, (statistics,) = step.step(model.initial_point())
    >>> bool(abs(point["Y"]).max() <= 1), statistics["bid_nu"]
    (True, 3)
    """

    name = "bid_weights"
    statistics: ClassVar = {"nu": np.int64, "sse": np.float64, "mse": np.float64}
    shown: ClassVar = {"mse": ("Error", ".3g", 92)}

    def __init__(self, vars, *, nu=None, model=None, initial_point=None, **arguments):
        super().__init__(vars, model=model, **arguments)
        self.adapts = nu is None
        if nu is None:
            nu = 1
        if isinstance(nu, bool) or int(nu) != nu or nu < 1:
            raise ValueError(f"nu must be a positive integer, got {nu!r}.")
        self.nu = int(nu)
        self.draws_noise = can_draw_noise(self.decomposition, modelcontext(model))
        if initial_point is not None:
            warn_if_too_large(modelcontext(model), initial_point)

    @classmethod
    def claimed(cls, decomposition, model):
        """Y, and the GTNSNG variable that holds its means and precisions."""
        roles = decomposition.roles
        require_only_child(roles.weights, roles.likelihood, model)
        if roles.hyperparameters is None:
            return [roles.weights]
        require_only_child(roles.hyperparameters, roles.weights, model)
        return [roles.weights, roles.hyperparameters]

    def update(self, point):
        """Sweep ν times."""
        decomposition = self.decomposition
        data = decomposition.regression()
        state = decomposition.state.read(point)
        active, interpolated = active_columns(state), decomposition.interpolated(state)
        weights = np.array(decomposition.weights.read(point), order="C")
        noise_precision = interpolated / decomposition.noise_variance(point)
        hierarchical = decomposition.hyperparameters is not None
        prior = decomposition.weight_prior(point)
        if hierarchical:
            hyperprior = decomposition.hyperprior(point)
            mean_precision = np.array(decomposition.hyperparameters.read(point), order="C")
            # Views, so that each sweep sees the hyperparameters drawn after the one before.
            mean, precision = (
                np.broadcast_to(mean_precision[..., part], weights.shape) for part in (0, 1)
            )
            prior = prior._replace(mean=mean, precision=precision)
        entries = data.products.rows.sum()
        crowded = self.adapts and active.size * weights.shape[1] > CROWDED * entries
        sweeps = SWEEPS_IF_CROWDED if crowded else self.nu
        for remaining in reversed(range(sweeps)):
            give_way()
            # Only the last draws of rows that are off will be seen, unless they have parents.
            rows_off = hierarchical or remaining == 0
            sweep_weights(
                self.rng, active, weights, data.products, noise_precision, prior, rows_off
            )
            if hierarchical:
                sweep_hyperparameters(self.rng, mean_precision, weights, *hyperprior)
            if crowded and self.draws_noise and remaining > 0:
                point = draw_noise(self.rng, decomposition, state, weights, point)
                noise_precision = interpolated / decomposition.noise_variance(point)
        squares = float(interpolated @ decomposition.squared_errors(state, weights))
        if hierarchical:
            point = decomposition.hyperparameters.write(mean_precision, point)
        # Written last: a transform of the weights may depend on the hyperparameters.
        point = decomposition.weights.write(weights, point)
        return point, self.report(nu=sweeps, sse=squares, mse=squares / entries)
