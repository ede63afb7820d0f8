"""Moves of the state vector that a user brings along."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pymc_bid.graph.own_columns import OwnColumns
from pymc_bid.graph.values import WeightPrior, active_columns
from pymc_bid.kernels.residual import residual_cross_products
from pymc_bid.regression import Products


class Move(Protocol):
    """A move of one's own: a plain function, compiled by numba or not.

    It must leave the distribution of (r, Y) given everything else as it is: the posterior with the
    noise variance and the parameters of the priors held at their present values.
    """

    def __call__(
        self,
        rng: np.random.Generator,
        state: NDArray[np.int64],
        weights: NDArray[np.float64],
        residual_cross: NDArray[np.float64],
        products: Products,
        noise_variance: NDArray[np.float64],
        prior: WeightPrior,
        own: OwnColumns,
        log_prior_odds: NDArray[np.float64],
    ) -> tuple[int, int]:
        """Change `state` and `weights` in place.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of random numbers, so that a seed means something.
        state : (N,) int array
            Which columns are in.
        weights : (N, L) array
            Y, rows of columns that are out included.
        residual_cross : (N, L) array
            Pool times residual, b_k·D_l (a_l - Σ_j r_j b_j y_jl); it is computed anew afterwards.
        products : Products
            `grams[pattern[l]]` is BᵀD_lB of target l; see `pymc_bid.regression.Products`.
        noise_variance : (L,) array
            σ² of each target.
        prior : WeightPrior
            `mean`, `precision`, `lower`, `upper` of each weight, (N, L), read-only.
        own : OwnColumns
            In the model with the identity the density of the chosen columns, ω² integrated out.
            Without it, `own.has_identity` is False, and all targets are interpolated.
        log_prior_odds : (N,) array
            Log odds of each column before the data; infinite for one that is forced in or out.

        Returns
        -------
        tried, accepted : int
            For `sample_stats`, where they are `bid_moves_tried` and `bid_moves_accepted`.
        """


def make_moves(
    moves: Sequence[Move],
    rng: np.random.Generator,
    state: NDArray[np.int64],
    weights: NDArray[np.float64],
    residual_cross: NDArray[np.float64],
    products: Products,
    *model,
    fixed_size: bool,
) -> NDArray[np.int64]:
    """Make each move once; return how many were tried and how many accepted.

    Raises
    ------
    ValueError
        If a move leaves no state vector, or one with another number of ones where it is fixed.
    """
    counts, number = np.zeros(2, dtype=np.int64), state.sum()
    for move in moves:
        counts += move(rng, state, weights, residual_cross, products, *model)
        if not np.isin(state, (0, 1)).all() or (fixed_size and state.sum() != number):
            raise ValueError(
                f"The move {getattr(move, '__name__', move)} left the state {state}; it must be of "
                f"zeros and ones{f', {number} of them ones' if fixed_size else ''}."
            )
        residual_cross[...] = residual_cross_products(active_columns(state), weights, products)
    return counts
