"""Forward draws of a matrix from the model with the identity."""

import numpy as np

from pymc_bid.kernels.compilation import kernel


@kernel()
def draw_interpolation(rng, state, weights, sigma, mean, omega):
    """Draw the chosen columns from their own densities, then the others given them.

        a_j ~ Normal(m_j, ω_j²)                     for chosen columns j
        a_l ~ Normal(Σ_{j chosen} a_j y_jl, σ²)     for the others

    Parameters
    ----------
    rng : numpy.random.Generator
    state : int array (N,)
    weights : float64 array (N, N)
    sigma : float
    mean : float64 array (M, N)
    omega : float64 array (N,)

    Returns
    -------
    float64 array (M, N)
    """
    rows, columns = mean.shape
    drawn = np.empty((rows, columns))
    for row in range(rows):
        for column in range(columns):
            if state[column] == 1:
                noise = omega[column] * rng.standard_normal()
                drawn[row, column] = mean[row, column] + noise
        for column in range(columns):
            if state[column] == 0:
                value = sigma * rng.standard_normal()
                for chosen in range(columns):
                    if state[chosen] == 1:
                        value += drawn[row, chosen] * weights[chosen, column]
                drawn[row, column] = value
    return drawn
