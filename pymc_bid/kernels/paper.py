"""The state updates exactly as the paper prints them: Y stands still while r moves.

They are exact and they hardly ever move: a column that is off carries weights drawn from the
prior, and switching it on adds noise. `pymc_bid.kernels.collapsed_flip` and
`pymc_bid.kernels.collapsed_swap` are the updates that do.
"""

import math

from pymc_bid.kernels.compilation import kernel, part


@part()
def add_column(column, sign, weights, residual_cross, gram):
    """Update P = Bᵀ(A - XY) in place after `column` went in (sign=1) or out (sign=-1)."""
    rows, columns = residual_cross.shape
    for row in range(rows):
        entry = sign * gram[row, column]
        for other in range(columns):
            residual_cross[row, other] -= entry * weights[column, other]


@kernel()
def flip_sweep(rng, state, weights, residual_cross, gram, noise_variance, log_prior_odds):
    """Visit every entry of the state vector once and draw it given everything else.

        log odds(r_j = 1 : r_j = 0) = log prior odds + (SSE(r_j = 0) - SSE(r_j = 1)) / (2σ²)
        SSE(r_j = 0) - SSE(r_j = 1) = 2 y_j·P_j ± G_jj |y_j|²     (+ if r_j is 1 now, - if 0)

    `state` and `residual_cross` are updated in place. Returns how many entries were tried and how
    many changed.
    """
    size, columns = weights.shape
    accepted = 0
    for j in range(size):
        product = 0.0
        square = 0.0
        for column in range(columns):
            product += weights[j, column] * residual_cross[j, column]
            square += weights[j, column] * weights[j, column]
        curvature = gram[j, j] * square
        gain = 2.0 * product + (curvature if state[j] == 1 else -curvature)
        log_odds = log_prior_odds[j] + gain / (2.0 * noise_variance)
        drawn = 1 if rng.random() < 1.0 / (1.0 + math.exp(-log_odds)) else 0
        if drawn != state[j]:
            add_column(j, drawn - state[j], weights, residual_cross, gram)
            state[j] = drawn
            accepted += 1
    return size, accepted


@part()
def nth_column(state, value, position):
    """Return the index of an entry of the state vector: of those equal to `value`, by position."""
    for column in range(state.size):
        if state[column] == value:
            if position == 0:
                return column
            position -= 1
    return -1


@kernel()
def swap_once(rng, state, weights, residual_cross, gram, noise_variance):
    """Pick a chosen and an unchosen column uniformly and exchange them with probability o/(1+o).

    o = p(A | j out, i in, Y) / p(A | j in, i out, Y), and with res' = res + b_j y_j - b_i y_i

        SSE' - SSE = 2 y_j·P_j + G_jj |y_j|² - 2 y_i·P_i + G_ii |y_i|² - 2 G_ij y_i·y_j

    `state` is updated in place. Returns how many exchanges were tried (none when no column or
    every column is chosen) and how many were carried out.
    """
    number_chosen = 0
    for entry in state:
        number_chosen += entry
    if number_chosen == 0 or number_chosen == state.size:
        return 0, 0
    j = nth_column(state, 1, int(rng.random() * number_chosen))
    i = nth_column(state, 0, int(rng.random() * (state.size - number_chosen)))
    change = 0.0
    for column in range(weights.shape[1]):
        y_j = weights[j, column]
        y_i = weights[i, column]
        change += 2.0 * (y_j * residual_cross[j, column] - y_i * residual_cross[i, column])
        change += gram[j, j] * y_j * y_j + gram[i, i] * y_i * y_i - 2.0 * gram[i, j] * y_i * y_j
    log_odds = -change / (2.0 * noise_variance)
    if rng.random() < 1.0 / (1.0 + math.exp(-log_odds)):
        state[j] = 0
        state[i] = 1
        return 1, 1
    return 1, 0
