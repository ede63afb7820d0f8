"""The state updates exactly as the paper prints them: Y stands still while r moves.

They are exact and they hardly ever move: a column that is off carries weights drawn from the
prior, and switching it on adds noise. `pymc_bid.kernels.exact.exchange` is the update that does.

In the model with the identity a chosen column j has a density of its own, p0(a_j), and only the
others are interpolated; `own` holds the targets that each column is and these log densities.
"""

import math

from pymc_bid.kernels.compilation import part
from pymc_bid.kernels.identity import interpolated_targets, set_interpolated
from pymc_bid.kernels.interrupts import let_interrupts_in
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@part()
def add_column(column, sign, weights, residual_cross, products):
    """Update P = Bᵀ(A - XY) in place after `column` went in (sign=1) or out (sign=-1)."""
    _, grams, pattern, _, _, _ = products
    rows, targets = residual_cross.shape
    for row in range(rows):
        for target in range(targets):
            entry = sign * grams[pattern[target], row, column]
            residual_cross[row, target] -= entry * weights[column, target]


@part()
def log_own_odds(column, leaving, entering, state, weights, model):
    r"""Return log p0(a_j) - log N(a_j | B_J y_j, σ²) of a column, at its weights as they stand.

    The sum over the targets that it is, see `pymc_bid.kernels.identity`. `leaving` and `entering`
    count as out and in whatever their state, -1 for none.
    """
    products, noise_variance, own = model
    _, grams, pattern, cross, squares, rows = products
    targets, own_densities = own
    if targets.shape[1] == 0:
        return 0.0
    log_odds = own_densities[column]
    for target in targets[column]:
        gram = grams[pattern[target]]
        error = squares[target]
        for first in range(state.shape[0]):
            if first != entering and (state[first] == 0 or first == leaving):
                continue
            product = -2.0 * cross[first, target]
            for second in range(state.shape[0]):
                if second == entering or (state[second] == 1 and second != leaving):
                    product += gram[first, second] * weights[second, target]
            error += product * weights[first, target]
        variance = noise_variance[target]
        log_odds += 0.5 * (rows[target] * math.log(variance) + max(error, 0.0) / variance)
    return log_odds


@random_kernel
def flip_sweep(
    stream, state, weights, residual_cross, products, noise_variance, own, log_prior_odds
):
    """Visit every entry of the state vector once and draw it given everything else.

        log odds(r_j = 1 : r_j = 0) = log prior odds + (SSE(r_j = 0) - SSE(r_j = 1)) / (2σ²)
        SSE(r_j = 0) - SSE(r_j = 1) = 2 y_j·P_j ± G_jj |y_j|²     (+ if r_j is 1 now, - if 0)

    In the model with the identity only the targets that are not chosen count, and column j as a
    target adds log p0(a_j) - log N(a_j | B_J y_j, σ²), see `pymc_bid.kernels.identity`.

    Parameters are those of `pymc_bid.steps.moves.Move`; `state` and `residual_cross` are updated in
    place. Returns how many entries were tried and how many changed.
    """
    rng = generator_at(stream)
    size, targets = weights.shape
    _, grams, pattern, _, _, _ = products
    interpolated = interpolated_targets(state, own.targets, targets)
    model = (products, noise_variance, own)
    accepted = 0
    for j in range(size):
        let_interrupts_in(size * max(size, targets))
        set_interpolated(interpolated, own.targets, j, 0.0)
        sign = 1.0 if state[j] == 1 else -1.0
        log_odds = log_prior_odds[j] + log_own_odds(j, j, -1, state, weights, model)
        for target in range(targets):
            if interpolated[target] == 0.0:
                continue
            weight = weights[j, target]
            curvature = sign * grams[pattern[target], j, j]
            gain = weight * (2.0 * residual_cross[j, target] + curvature * weight)
            log_odds += gain / (2.0 * noise_variance[target])
        drawn = 1 if rng.random() < 1.0 / (1.0 + math.exp(-log_odds)) else 0
        if drawn != state[j]:
            add_column(j, drawn - state[j], weights, residual_cross, products)
            state[j] = drawn
            accepted += 1
        if drawn == 0:
            set_interpolated(interpolated, own.targets, j, 1.0)
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


@random_kernel
def swap_once(stream, state, weights, residual_cross, products, noise_variance, own):
    """Pick a chosen and an unchosen column uniformly and exchange them with probability o/(1+o).

    o = p(A | j out, i in, Y) / p(A | j in, i out, Y), and with res' = res + b_j y_j - b_i y_i

        SSE' - SSE = 2 y_j·P_j + G_jj |y_j|² - 2 y_i·P_i + G_ii |y_i|² - 2 G_ij y_i·y_j

    and the two columns as targets as in `flip_sweep`.

    `state` and `residual_cross` are updated in place. Returns how many exchanges were tried (none
    when no column or every column is chosen) and how many were carried out.
    """
    rng = generator_at(stream)
    number_chosen = 0
    for entry in state:
        number_chosen += entry
    if number_chosen == 0 or number_chosen == state.size:
        return 0, 0
    j = nth_column(state, 1, int(rng.random() * number_chosen))
    i = nth_column(state, 0, int(rng.random() * (state.size - number_chosen)))
    _, grams, pattern, _, _, _ = products
    interpolated = interpolated_targets(state, own.targets, weights.shape[1])
    set_interpolated(interpolated, own.targets, i, 0.0)
    model = (products, noise_variance, own)
    log_odds = log_own_odds(i, -1, -1, state, weights, model)
    log_odds -= log_own_odds(j, j, i, state, weights, model)
    for target in range(weights.shape[1]):
        if interpolated[target] == 0.0:
            continue
        gram = grams[pattern[target]]
        y_j = weights[j, target]
        y_i = weights[i, target]
        change = 2.0 * (y_j * residual_cross[j, target] - y_i * residual_cross[i, target])
        change += gram[j, j] * y_j * y_j + gram[i, i] * y_i * y_i - 2.0 * gram[i, j] * y_i * y_j
        log_odds -= change / (2.0 * noise_variance[target])
    if rng.random() < 1.0 / (1.0 + math.exp(-log_odds)):
        state[j] = 0
        state[i] = 1
        add_column(j, -1, weights, residual_cross, products)
        add_column(i, 1, weights, residual_cross, products)
        return 1, 1
    return 1, 0
