r"""Moves of replicas :math:`(r, x)` at given noise, by triangular factors.

Every group of targets has its noise variance, which replicas carry along or which is held. A
column whose target is a group by itself (noise for each column, with the identity) brings that
group along: when it goes out its target needs an :math:`x_j`, drawn from a table :math:`q` of its
density :math:`f` given the columns that stay, and when it comes in that :math:`x_j` is forgotten.
The odds of in against out, with :math:`x_j`, are those of the others times :math:`q(x_j) / f(x_j)`.

Moves are decided in two stages (Christen, Fox 2005): first by what is known of all columns at once,
with :math:`q` at its highest and the mass within the bounds estimated from the weights of the one
column, then, where that is accepted, by what is true. Each estimate is the same for a move and its
reverse, which makes the second stage the ratio of the two.
"""

import math

import numpy as np

from pymc_bid.kernels.by_reference import copy_into
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.identity import is_own_target
from pymc_bid.kernels.interrupts import let_interrupts_in
from pymc_bid.kernels.ladder.replicas import draw_movable, is_forced, tempered_odds
from pymc_bid.kernels.ladder.rung import (
    is_rejected,
    log_gamma_density,
    log_own_noise,
    log_peak,
    mass_of,
    release_own_noise,
    unused_parameters,
    variances_of,
    write_own_blocks,
)
from pymc_bid.kernels.ladder.trade import trade_column
from pymc_bid.kernels.marginal.factor import (
    linear_and_precision,
    log_evidence_of,
    make_factor,
    make_last,
    take_in,
    take_last_out,
)
from pymc_bid.kernels.marginal.scores import score_columns, score_last
from pymc_bid.kernels.truncated_normal import log_interval_mass


@spread()
def write_log_odds(dropping, x, rung, factor, log_odds):
    """Write the log odds of all columns that are out, at a place of the path, bounds left out.

    With q of their own groups at its peak. With `dropping` also those of the last column of the
    factor, but for its own groups.
    """
    power, marginal = rung.power, rung.marginal
    others = factor.size - 1 if dropping else factor.size
    score_columns(dropping, marginal, factor, log_odds)
    dropped = factor.members[factor.size - 1] if dropping else -1
    for column in range(log_odds.size):
        log_odds[column] *= power
        log_odds[column] += tempered_odds(column, others, power, marginal, rung.reference)
        for group in marginal.own_groups[column]:
            target = marginal.block_start[marginal.group_start[group]]
            if column == dropped:
                # What it is at its present x, which nobody uses.
                log_odds[column] += power * log_evidence_of(target, dropping, marginal, factor)
            else:
                log_odds[column] += log_peak(group, target, rung)
                shape, scale = unused_parameters(group, rung)
                log_odds[column] -= log_gamma_density(x[group], shape, scale)


@spread()
def log_odds_of_member(column, rung, factor):
    """Make a chosen column the last one; return its log odds, but for its own groups."""
    marginal = rung.marginal
    log_odds = tempered_odds(column, factor.size - 1, rung.power, marginal, rung.reference)
    make_last(column, marginal, factor)
    log_odds += rung.power * score_last(marginal, factor)
    for group in marginal.own_groups[column]:
        target = marginal.block_start[marginal.group_start[group]]
        # What it is at its present x, which nobody uses.
        log_odds += rung.power * log_evidence_of(target, True, marginal, factor)
    return log_odds


@spread()
def log_own_mass(column, dropping, rung, factor):
    """Return the log of the mass within their bounds of the weights of one column, to a power."""
    total = 0.0
    if rung.bound_power == 0.0:
        return total
    # Fields are read once: each time counts references to an array.
    marginal, lower, upper = rung.marginal, rung.box.lower, rung.box.upper
    interpolated, own_targets = factor.interpolated, rung.marginal.own_targets
    for target in range(interpolated.size):
        if interpolated[target] != 0.0 and not is_own_target(target, column, own_targets):
            linear, precision = linear_and_precision(column, target, dropping, marginal, factor)
            total += log_interval_mass(
                linear / precision, precision, lower[target, column], upper[target, column]
            )
    return rung.bound_power * total


@spread()
def flip_column(rng, column, log_odds, hurdle, replica, rung, factor):
    """Offer a column to go in or out.

    `hurdle` is the exponential variable that decides on the first stage. Returns whether the column
    did.
    """
    marginal, state, x = rung.marginal, replica.state, replica.log_variances
    has_group, is_in = marginal.own_groups.shape[1] > 0, state[column] == 1
    sign, kept, below = (-1.0 if is_in else 1.0), x, 0.0
    if is_in and has_group:
        kept = x.copy()
        state[column] = 0
        added, below = log_own_noise(rng, True, column, replica, rung)
        state[column] = 1
        log_odds += added - below
    expected = log_own_mass(column, is_in, rung, factor)
    if not hurdle > -sign * (log_odds + expected):
        copy_into(kept, x)
        return False
    if not is_in and has_group:
        below = log_own_noise(rng, False, column, replica, rung)[1]
    state[column] = 1 - state[column]
    log_mass = mass_of(replica, rung)
    state[column] = 1 - state[column]
    if is_rejected(rng, sign * (below - expected), log_mass, replica, rung):
        copy_into(kept, x)
        return False
    if is_in:
        take_last_out(state, marginal, factor)
        write_own_blocks(column, x, marginal, factor)
    else:
        take_in(column, state, marginal, variances_of(replica, marginal), factor)
        release_own_noise(rng, column, x, rung)
    replica.log_mass[0] = log_mass
    return True


@spread()
def swap_column(rng, log_odds, replica, rung, factor):
    """Offer a chosen column's place to all that could have it, and draw who gets it.

    A Gibbs update given the columns that stay, but for what only the second stage knows.
    """
    marginal, state, x = rung.marginal, replica.state, replica.log_variances
    leaving = draw_movable(rng, state, 1, marginal)
    if leaving < 0 or factor.size == state.size:
        return
    has_group = marginal.own_groups.shape[1] > 0
    make_last(leaving, marginal, factor)
    kept, added, below = x, 0.0, 0.0
    if has_group:
        kept = x.copy()
        state[leaving] = 0
        added, below = log_own_noise(rng, True, leaving, replica, rung)
        state[leaving] = 1
        write_own_blocks(leaving, x, marginal, factor)
    write_log_odds(True, x, rung, factor, log_odds)
    log_odds[leaving] += added - below
    entering, best = leaving, -np.inf
    for column in range(state.size):
        if (state[column] == 0 or column == leaving) and not is_forced(column, marginal):
            # The largest of log weights plus Gumbel noise is a draw by weight.
            found = log_odds[column] - math.log(rng.standard_exponential())
            if found > best:
                entering, best = column, found
    if entering == leaving:
        copy_into(kept, x)
        return
    state[leaving] = 0
    log_ratio = -below
    if has_group:
        log_ratio += log_own_noise(rng, False, entering, replica, rung)[1]
    state[entering] = 1
    log_mass = mass_of(replica, rung)
    state[leaving], state[entering] = 1, 0
    if is_rejected(rng, log_ratio, log_mass, replica, rung):
        copy_into(kept, x)
        return
    take_last_out(state, marginal, factor)
    take_in(entering, state, marginal, variances_of(replica, marginal), factor)
    release_own_noise(rng, entering, x, rung)
    replica.log_mass[0] = log_mass


@spread()
def scan_flips(rng, backwards, columns, log_odds, replica, rung, factor):
    """Offer columns, from one to before another, to go in or out; return how many did."""
    first, end = columns
    marginal, state, is_known, flips = rung.marginal, replica.state, False, 0
    for step in range(end - first):
        let_interrupts_in(factor.rows.size)
        column = end - 1 - step if backwards else first + step
        if is_forced(column, marginal):
            continue
        hurdle = rng.standard_exponential()
        if state[column] == 1:
            found = log_odds_of_member(column, rung, factor)
        else:
            if not is_known:
                write_log_odds(False, replica.log_variances, rung, factor, log_odds)
                is_known = True
            found = log_odds[column]
            if not hurdle > -found:
                # The bounds can only take from it.
                continue
        if flip_column(rng, column, found, hurdle, replica, rung, factor):
            is_known = False
            flips += 1
    return flips


@part()
def move_set(rng, backwards, swaps, columns, replica, rung):
    """Move a set, and the noise variances of columns that have their own.

    Flips, one for each of these columns, come first and at most `swaps` swaps last, or the other
    way round. Returns how many flips were made.
    """
    marginal = rung.marginal
    factor = make_factor(replica.state, variances_of(replica, marginal), marginal)
    replica.log_mass[0] = mass_of(replica, rung)
    log_odds, flips = np.empty(replica.state.size), 0
    for phase in range(2):
        if (phase == 0) == backwards:
            # What the number of swaps depends on must not change while they are made.
            for _ in range(min(swaps, factor.size)):
                let_interrupts_in(factor.linear.size)
                if marginal.own_groups.shape[1] > 0 and rng.random() < 0.5:
                    trade_column(rng, log_odds, replica, rung, factor)
                else:
                    swap_column(rng, log_odds, replica, rung, factor)
        elif not rung.reference.fixed_size:
            flips += scan_flips(rng, backwards, columns, log_odds, replica, rung, factor)
    return flips
