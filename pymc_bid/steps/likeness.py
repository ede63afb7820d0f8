"""The model that the closed form without bounds can handle and that is most like the one at hand.

With the bounds left out the weights integrate out in closed form for all targets at once if these
share one noise variance and one Gram matrix (`pymc_bid.kernels.tableau`). Others are made alike:
target :math:`l`, with the noise variance :math:`σ_l²` and a Gram matrix that is about
:math:`f_l` times the mean one, is measured in units of its noise and of its information.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior
from pymc_bid.regression import Products


class Likeness(NamedTuple):
    """A model with one noise variance and one Gram matrix for all targets."""

    products: Products
    noise_variance: float
    prior: WeightPrior
    own: OwnColumns
    root: NDArray[np.float64]
    """What the weights of each target are multiplied by, (L,)."""

    @property
    def model(self) -> tuple:
        """The tuple that `pymc_bid.kernels.tableau` calls `model`."""
        return self.products, self.noise_variance, self.prior, self.own

    @property
    def problem(self) -> tuple:
        """The tuple that `pymc_bid.kernels.annealing` calls `problem`."""
        return self.products, self.prior, self.own


def likeness(
    products: Products, noise_variance: NDArray[np.float64], prior: WeightPrior, own: OwnColumns
) -> Likeness:
    """Return the model itself where it can be handled, else the one most like it.

    With κ_l = f_l σ² / σ_l² the weights of target l times √κ_l, its noise variance σ² and the mean
    Gram matrix have the information of the original: Gᵖ / σ_l² = κ_l G / σ² if Gᵖ = f_l G.
    """
    if len(products.grams) == 1 and np.all(noise_variance == noise_variance[0]):
        root = np.ones(noise_variance.size)
        return Likeness(products, float(noise_variance[0]), prior, own, root)
    variance = float(np.exp(np.log(noise_variance).mean()))
    size = np.trace(products.gram)
    information = np.trace(products.grams, axis1=1, axis2=2)[products.pattern]
    # A target without entries has no information, and is best left as it is.
    share = np.where(information > 0, information / size if size > 0 else 1.0, 1.0)
    noise_ratio = variance / noise_variance
    root = np.sqrt(share * noise_ratio)
    mean, precision, lower, upper = prior
    scaled = Products(
        gram=products.gram,
        grams=products.gram[None],
        pattern=np.zeros_like(products.pattern),
        cross=products.cross * (root / share),
        squares=products.squares * noise_ratio,
        rows=products.rows,
    )
    # The density of a target that is measured in other units.
    units = 0.5 * products.rows * np.log(noise_ratio)
    densities = own.log_densities - units[own.targets].sum(axis=1)
    return Likeness(
        scaled,
        variance,
        WeightPrior.of(mean.shape, mean * root, precision / root**2, lower * root, upper * root),
        own._replace(log_densities=densities),
        root,
    )
