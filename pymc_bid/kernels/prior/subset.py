"""Draws of a 0/1 vector with a given number of ones."""

import numpy as np

from pymc_bid.kernels.compilation import kernel


@kernel()
def draw_subset(rng, k, n):
    """Draw a 0/1 vector of length n with exactly k ones, uniformly over the subsets of size k.

    One pass (Knuth's algorithm S): entry i is a one with the probability (ones still missing) /
    (entries still to come).

    Parameters
    ----------
    rng : numpy.random.Generator
    k, n : int
        Number of ones and of entries.

    Returns
    -------
    int64 array (n,)
    """
    if k < 0 or k > n:
        raise ValueError("k must be between 0 and n")
    state = np.zeros(n, dtype=np.int64)
    missing = k
    for i in range(n):
        if (n - i) * rng.random() < missing:
            state[i] = 1
            missing -= 1
    return state
