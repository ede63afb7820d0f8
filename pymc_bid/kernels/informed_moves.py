"""Flips and swaps that look where the closed form without bounds says that there is something.

Both kinds share what that says (`pymc_bid.kernels.tableau`), which costs as much as they do. In
their arguments `chain` is the tuple of everything from `state` to `companion_sizes` below, and
`likeness` the `model` of `pymc_bid.kernels.tableau` that is like this one.
"""

from pymc_bid.kernels.focused_flip import focused_flips
from pymc_bid.kernels.informed_swap import informed_swaps
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.tableau import build_surrogate


@random_kernel
def informed_moves(
    stream,
    state,
    weights,
    residual_cross,
    products,
    noise_variance,
    prior,
    own,
    log_prior_odds,
    companion_sizes,
    likeness,
    limits,
    number_of_visits,
    powers,
    number_of_swaps,
):
    """Visit the columns in doubt, then try swaps.

    Parameters
    ----------
    stream, state, weights, residual_cross, products, noise_variance, prior, own, \
    log_prior_odds, companion_sizes
        As in `pymc_bid.kernels.collapsed_flip.collapsed_flips`.
    likeness : tuple
        See above.
    limits : tuple of two floats
    number_of_visits : int
        Which columns are flipped and how often, see `pymc_bid.kernels.focused_flip.focused_flips`;
        0 where their number is fixed.
    powers : array
    number_of_swaps : int
        See `pymc_bid.kernels.informed_swap.informed_swaps`.

    Returns
    -------
    flips, swaps : tuples of two ints
        How many were tried and how many accepted.
    """
    surrogate = build_surrogate(state, likeness, log_prior_odds)
    chain = (
        state,
        weights,
        residual_cross,
        products,
        noise_variance,
        prior,
        own,
        log_prior_odds,
        companion_sizes,
    )
    flips = focused_flips(stream, chain, likeness, surrogate, limits, number_of_visits)
    swaps = informed_swaps(
        generator_at(stream), chain, likeness, surrogate, powers, number_of_swaps
    )
    return flips, swaps
