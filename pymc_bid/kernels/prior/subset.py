"""Draws of a 0/1 vector, its number of ones given or random."""

import numpy as np

from pymc_bid.kernels.compilation import kernel, spread


@spread()
def _start(n, include, exclude):
    """Return a vector with ones where entries are included, and which others may be."""
    state, is_free = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    for i in include:
        state[i], is_free[i] = 1, False
    for i in exclude:
        is_free[i] = False
    return state, is_free


@kernel()
def draw_subset(rng, k, n, include, exclude):
    """Draw a 0/1 vector of length n with exactly k ones, uniformly over the subsets of size k.

    One pass (Knuth's algorithm S): entry i is a one with the probability (ones still missing) /
    (entries still to come).

    Parameters
    ----------
    rng : numpy.random.Generator
    k, n : int
        Number of ones and of entries.
    include, exclude : int array
        Entries that are ones, and entries that are not.

    Returns
    -------
    int64 array (n,)
    """
    missing, left = k - include.size, n - include.size - exclude.size
    if missing < 0 or missing > left:
        raise ValueError("k must be between 0 and n, and have room for what is forced")
    state, is_free = _start(n, include, exclude)
    for i in range(n):
        if is_free[i]:
            if left * rng.random() < missing:
                state[i] = 1
                missing -= 1
            left -= 1
    return state


@kernel()
def draw_random_size(rng, alpha, beta, n, include, exclude):
    """Draw a 0/1 vector whose free entries are ones with one probability, π ~ Beta(α, β).

    Parameters are those of `draw_subset`, and of the beta distribution.
    """
    probability = rng.beta(alpha, beta)
    state, is_free = _start(n, include, exclude)
    for i in range(n):
        if is_free[i] and rng.random() < probability:
            state[i] = 1
    return state
