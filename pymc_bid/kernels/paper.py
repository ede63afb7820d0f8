"""The state updates exactly as the paper prints them: Y stands still while r moves.

They are exact and they hardly ever move: a column that is off carries weights drawn from the
prior, and switching it on adds noise. `pymc_bid.kernels.collapsed_flip` and
`pymc_bid.kernels.collapsed_swap` are the updates that do.
"""

import math

from pymc_bid.kernels.compilation import kernel, part
from pymc_bid.kernels.own_column import interpolated_targets


@part()
def add_column(column, sign, weights, residual_cross, gram):
    """Update P = Bᵀ(A - XY) in place after `column` went in (sign=1) or out (sign=-1)."""
    rows, columns = residual_cross.shape
    for row in range(rows):
        entry = sign * gram[row, column]
        for other in range(columns):
            residual_cross[row, other] -= entry * weights[column, other]


@part()
def own_squared_error(column, leaving, entering, state, weights, gram, own):
    """Return |a_j - Σ_k b_k y_kj|² of a column as a target, at its weights as they stand.

    `leaving` and `entering` count as out and in whatever their state, -1 for none.
    """
    target = own[0][column]
    error = gram[column, column]
    for first in range(state.shape[0]):
        if first != entering and (state[first] == 0 or first == leaving):
            continue
        product = -2.0 * gram[first, column]
        for second in range(state.shape[0]):
            if second == entering or (state[second] == 1 and second != leaving):
                product += gram[first, second] * weights[second, target]
        error += product * weights[first, target]
    return max(error, 0.0)


@kernel()
def flip_sweep(rng, state, weights, residual_cross, gram, noise_variance, own, log_prior_odds):
    """Visit every entry of the state vector once and draw it given everything else.

        log odds(r_j = 1 : r_j = 0) = log prior odds + (SSE(r_j = 0) - SSE(r_j = 1)) / (2σ²)
        SSE(r_j = 0) - SSE(r_j = 1) = 2 y_j·P_j ± G_jj |y_j|²     (+ if r_j is 1 now, - if 0)

    In the model with the identity only the targets that are not chosen count, and column j as a
    target adds log p0(a_j) - log N(a_j | B_J y_j, σ²), see `pymc_bid.kernels.own_column`.

    `state` and `residual_cross` are updated in place. Returns how many entries were tried and how
    many changed.
    """
    size, columns = weights.shape
    own_targets, own_densities = own
    interpolated = interpolated_targets(state, own, columns)
    accepted = 0
    for j in range(size):
        own_log_odds = 0.0
        if own_targets[j] >= 0:
            interpolated[own_targets[j]] = 0.0
            error = own_squared_error(j, j, -1, state, weights, gram, own)
            own_log_odds = own_densities[j] + error / (2.0 * noise_variance)
        product = 0.0
        square = 0.0
        for column in range(columns):
            if interpolated[column] == 0.0:
                continue
            product += weights[j, column] * residual_cross[j, column]
            square += weights[j, column] * weights[j, column]
        curvature = gram[j, j] * square
        gain = 2.0 * product + (curvature if state[j] == 1 else -curvature)
        log_odds = log_prior_odds[j] + gain / (2.0 * noise_variance) + own_log_odds
        drawn = 1 if rng.random() < 1.0 / (1.0 + math.exp(-log_odds)) else 0
        if drawn != state[j]:
            add_column(j, drawn - state[j], weights, residual_cross, gram)
            state[j] = drawn
            accepted += 1
        if own_targets[j] >= 0 and drawn == 0:
            interpolated[own_targets[j]] = 1.0
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
def swap_once(rng, state, weights, residual_cross, gram, noise_variance, own):
    """Pick a chosen and an unchosen column uniformly and exchange them with probability o/(1+o).

    o = p(A | j out, i in, Y) / p(A | j in, i out, Y), and with res' = res + b_j y_j - b_i y_i

        SSE' - SSE = 2 y_j·P_j + G_jj |y_j|² - 2 y_i·P_i + G_ii |y_i|² - 2 G_ij y_i·y_j

    and the two columns as targets as in `flip_sweep`.

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
    own_targets, own_densities = own
    interpolated = interpolated_targets(state, own, weights.shape[1])
    log_odds = 0.0
    if own_targets[i] >= 0:
        interpolated[own_targets[i]] = 0.0
        error = own_squared_error(i, -1, -1, state, weights, gram, own)
        log_odds += own_densities[i] + error / (2.0 * noise_variance)
    if own_targets[j] >= 0:
        error = own_squared_error(j, j, i, state, weights, gram, own)
        log_odds -= own_densities[j] + error / (2.0 * noise_variance)
    change = 0.0
    for column in range(weights.shape[1]):
        if interpolated[column] == 0.0:
            continue
        y_j = weights[j, column]
        y_i = weights[i, column]
        change += 2.0 * (y_j * residual_cross[j, column] - y_i * residual_cross[i, column])
        change += gram[j, j] * y_j * y_j + gram[i, i] * y_i * y_i - 2.0 * gram[i, j] * y_i * y_j
    log_odds -= change / (2.0 * noise_variance)
    if rng.random() < 1.0 / (1.0 + math.exp(-log_odds)):
        state[j] = 0
        state[i] = 1
        return 1, 1
    return 1, 0
