"""Forward draws of a matrix from the model with the identity."""

import numpy as np

from pymc_bid.kernels.compilation import kernel


@kernel()
def draw_interpolation(rng, state, weights, sigma, mean, omega, precision):
    """Draw the chosen columns from their own densities, then the others given them.

        a_j ~ Normal(m_j, ω_j²)                     for chosen columns j
        a_l ~ Normal(Σ_{j chosen} a_j y_jl, σ²)     for the others

    Parameters
    ----------
    rng : numpy.random.Generator
    state : int array (N,)
    weights : float64 array (N, N)
    sigma : float64 array (1,) or (N,)
    mean : float64 array (M, N)
    omega : float64 array (N,)
    precision : float64 array (1, 1) or (M, N)
        Of each entry in units of 1/σ²; entries without any are drawn as if it were 1.

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
                scale = sigma[column if sigma.shape[0] > 1 else 0]
                known = precision[
                    row if precision.shape[0] > 1 else 0, column if precision.shape[1] > 1 else 0
                ]
                if known > 0.0:
                    scale /= np.sqrt(known)
                value = scale * rng.standard_normal()
                for chosen in range(columns):
                    if state[chosen] == 1:
                        value += drawn[row, chosen] * weights[chosen, column]
                drawn[row, column] = value
    return drawn
