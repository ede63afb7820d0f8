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
from typing import NamedTuple

import numpy as np

from pymc_bid.kernels.compilation import inlined, part
from pymc_bid.kernels.exact.exchange import log_box_mass
from pymc_bid.kernels.ladder.replicas import (
    Reference,
    count_round_trips,
    decide,
    draw_movable,
    draw_reference_state,
    is_forced,
    log_priors,
    tempered_odds,
)
from pymc_bid.kernels.marginal.evidence import (
    density_of,
    density_of_target,
    log_evidence,
    noise_densities,
)
from pymc_bid.kernels.marginal.factor import (
    linear_and_precision,
    log_evidence_of,
    make_factor,
    make_last,
    score_columns,
    score_member,
    take_in,
    take_last_out,
    weight_constant,
    write_block,
)
from pymc_bid.kernels.marginal.noise import (
    MOST_POINTS,
    draw_from_table,
    log_noise_density,
    log_table_density,
    tabulate_noise,
)
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.truncated_normal import log_interval_mass
from pymc_bid.kernels.types import Box, Marginal, NoiseDensity


class Rung(NamedTuple):
    """Where a replica is on the path, and what the path is between."""

    power: float
    """β."""
    bound_power: float
    """γ."""
    marginal: Marginal
    reference: Reference
    box: Box


@part()
def tempered(density, power, reference):
    """Return the density of x at a power."""
    return NoiseDensity(
        power * density.shape + (1.0 - power) * reference.shape,
        power * density.scale + (1.0 - power) * reference.scale,
        power * density.targets,
        density.eigenvalues,
        power * density.explained,
    )


@part()
def log_gamma_density(x, shape, scale):
    """Return the log density of the logarithm of an inverse gamma variable."""
    return shape * (math.log(scale) - x) - scale * math.exp(-x) - math.lgamma(shape)


@part()
def draw_log_gamma(rng, shape, scale):
    """Draw the logarithm of an inverse gamma variable."""
    return math.log(scale) - math.log(max(rng.standard_gamma(shape), 1e-300))


@inlined()
def unused_parameters(group, rung):
    """Return shape and scale of the noise of a group without targets, at a power."""
    power, marginal, reference = rung.power, rung.marginal, rung.reference
    shape = power * marginal.shape[group] + (1.0 - power) * reference.shape
    return shape, power * marginal.scale[group] + (1.0 - power) * reference.scale


@inlined()
def log_peak(group, target, rung):
    """Return about how high the log density of x of a group of one target is at its mode."""
    shape, _ = unused_parameters(group, rung)
    return 0.5 * math.log((shape + 0.5 * rung.power * rung.marginal.rows[target]) / (2 * math.pi))


@part()
def log_own_noise(rng, drawing, column, state, x, rung):
    """Return what the noise of a column's own groups adds to the log odds of in against out.

    At its x, drawn anew if asked for: log(q / f), f with the likelihood, and how much of that is q
    below its peak. `state` has the column out.
    """
    marginal, members = rung.marginal, np.flatnonzero(state)
    grid = np.empty(MOST_POINTS)
    total, below = 0.0, 0.0
    for group in marginal.own_groups[column]:
        target = marginal.block_start[marginal.group_start[group]]
        density = tempered(
            density_of_target(target, group, members, marginal), rung.power, rung.reference
        )
        table = tabulate_noise(density, grid)
        if drawing:
            x[group] = draw_from_table(rng, table)
        log_density = log_noise_density(x[group], density)
        for member in members:
            log_density += rung.power * marginal.log_constants[target, member]
        shape, scale = unused_parameters(group, rung)
        log_proposal = log_table_density(x[group], table)
        # Without a target its integral is that of the prior.
        total += log_proposal - log_density + math.lgamma(shape) - shape * math.log(scale)
        below += log_proposal - log_peak(group, target, rung)
    return total, below


@part()
def write_log_odds(dropping, x, rung, factor, log_odds):
    """Write the log odds of all columns that are out, at a place of the path, bounds left out.

    With q of their own groups at its peak. With `dropping` also those of the last column of the
    factor, but for its own groups.
    """
    power, marginal = rung.power, rung.marginal
    score_columns(dropping, marginal, factor, log_odds)
    dropped = factor.members[factor.size[0] - 1] if dropping else -1
    for column in range(log_odds.size):
        log_odds[column] *= power
        log_odds[column] += tempered_odds(column, power, marginal, rung.reference)
        for group in marginal.own_groups[column]:
            target = marginal.block_start[marginal.group_start[group]]
            if column == dropped:
                # What it is at its present x, which nobody uses.
                log_odds[column] += power * log_evidence_of(target, dropping, marginal, factor)
            else:
                log_odds[column] += log_peak(group, target, rung)
                log_odds[column] -= log_gamma_density(x[group], *unused_parameters(group, rung))


@part()
def log_odds_of_member(column, rung, factor):
    """Return the log odds of a chosen column, but for its own groups."""
    marginal = rung.marginal
    log_odds = tempered_odds(column, rung.power, marginal, rung.reference)
    log_odds += rung.power * score_member(column, marginal, factor)
    if marginal.own_groups.shape[1] > 0 or rung.bound_power > 0.0:
        make_last(column, marginal, factor)
    for group in marginal.own_groups[column]:
        target = marginal.block_start[marginal.group_start[group]]
        # What it is at its present x, which nobody uses.
        log_odds += rung.power * log_evidence_of(target, True, marginal, factor)
    return log_odds


@part()
def log_own_mass(column, dropping, rung, factor):
    """Return the log of the mass within their bounds of the weights of one column, to a power."""
    total = 0.0
    if rung.bound_power == 0.0:
        return total
    lower, upper = rung.box.lower, rung.box.upper
    for target in range(factor.interpolated.size):
        is_own = False
        for own in rung.marginal.own_targets[column]:
            is_own = is_own or own == target
        if factor.interpolated[target] != 0.0 and not is_own:
            linear, precision = linear_and_precision(
                column, target, dropping, rung.marginal, factor
            )
            total += log_interval_mass(
                linear / precision, precision, lower[target, column], upper[target, column]
            )
    return rung.bound_power * total


@part()
def mass_of(rng, state, x, rung):
    """Return the log of the mass within the bounds, 0 where nobody asks."""
    if rung.bound_power == 0.0:
        return 0.0
    return log_box_mass(rng, state, x, rung.box)


@inlined()
def variances_of(x, marginal):
    """Return the noise variances of the groups, those that are held where they are."""
    return np.exp(x) if math.isnan(marginal.held[0]) else marginal.held


@part()
def write_own_blocks(column, x, marginal, factor):
    """Bring the factor up to date after the noise of a column's own groups has changed."""
    for group in marginal.own_groups[column]:
        write_block(marginal.group_start[group], math.exp(x[group]), marginal, factor)


@part()
def release_own_noise(rng, column, x, rung):
    """Draw the noise variances of a column's own groups, which have no target any more."""
    for group in rung.marginal.own_groups[column]:
        x[group] = draw_log_gamma(rng, *unused_parameters(group, rung))


@part()
def flip_column(rng, column, log_odds, hurdle, state, x, log_mass, rung, factor):
    """Offer a column to go in or out.

    `hurdle` is the exponential variable that decides on the first stage. Returns whether the column
    did, the mass within the bounds, and the factor.
    """
    marginal, is_in = rung.marginal, state[column] == 1
    has_group = marginal.own_groups.shape[1] > 0
    sign, kept, below = (-1.0 if is_in else 1.0), x, 0.0
    if is_in and has_group:
        kept = x.copy()
        state[column] = 0
        added, below = log_own_noise(rng, True, column, state, x, rung)
        state[column] = 1
        log_odds += added - below
    expected = log_own_mass(column, is_in, rung, factor)
    if hurdle <= -sign * (log_odds + expected):
        x[:] = kept
        return False, log_mass, factor
    if not is_in and has_group:
        below = log_own_noise(rng, False, column, state, x, rung)[1]
    state[column] = 1 - state[column]
    found = mass_of(rng, state, x, rung)
    state[column] = 1 - state[column]
    if hurdle_is_missed(rng, rung.bound_power * (found - log_mass) + sign * (below - expected)):
        x[:] = kept
        return False, log_mass, factor
    if is_in:
        make_last(column, marginal, factor)
        take_last_out(state, marginal, factor)
        write_own_blocks(column, x, marginal, factor)
    else:
        factor = take_in(column, state, marginal, variances_of(x, marginal), factor)
        release_own_noise(rng, column, x, rung)
    return True, found, factor


@part()
def hurdle_is_missed(rng, log_ratio):
    """Whether a proposal is rejected."""
    return not rng.standard_exponential() > -log_ratio


@part()
def swap_column(rng, log_odds, state, x, log_mass, rung, factor):
    """Offer a chosen column's place to all that could have it, and draw who gets it.

    A Gibbs update given the columns that stay, but for what only the second stage knows. Returns
    the mass within the bounds and the factor.
    """
    marginal = rung.marginal
    leaving = draw_movable(rng, state, 1, marginal)
    if leaving < 0 or factor.size[0] == state.size:
        return log_mass, factor
    has_group = marginal.own_groups.shape[1] > 0
    make_last(leaving, marginal, factor)
    kept, added, below = x, 0.0, 0.0
    if has_group:
        kept = x.copy()
        state[leaving] = 0
        added, below = log_own_noise(rng, True, leaving, state, x, rung)
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
        x[:] = kept
        return log_mass, factor
    state[leaving] = 0
    log_ratio = -below
    if has_group:
        log_ratio += log_own_noise(rng, False, entering, state, x, rung)[1]
    state[entering] = 1
    found = mass_of(rng, state, x, rung)
    state[leaving], state[entering] = 1, 0
    if hurdle_is_missed(rng, log_ratio + rung.bound_power * (found - log_mass)):
        x[:] = kept
        return log_mass, factor
    take_last_out(state, marginal, factor)
    factor = take_in(entering, state, marginal, variances_of(x, marginal), factor)
    release_own_noise(rng, entering, x, rung)
    return found, factor


@part()
def likeness(column, state, marginal, weights):
    """Write how much each column that is out is like a column, and return the sum.

    The fourth power of the correlation: it is to find copies.
    """
    gram, total = marginal.grams[0], 0.0
    for other in range(state.size):
        weights[other] = 0.0
        squares = gram[column, column] * gram[other, other]
        if state[other] == 0 and not is_forced(other, marginal) and squares > 0.0:
            share = gram[column, other] * gram[column, other] / squares
            weights[other] = share * share
        total += weights[other]
    return total


@part()
def trade_column(rng, log_odds, state, x, log_mass, rung, factor):
    """Offer a chosen column's place to one like it, with the noise of both drawn anew.

    Where every column has its own noise, the target of a copy has hardly any while the column is
    chosen, and much without: only both at once can change. Returns the mass and the factor.
    """
    marginal, weights = rung.marginal, np.empty(state.size)
    leaving = draw_movable(rng, state, 1, marginal)
    if leaving < 0:
        return log_mass, factor
    total = likeness(leaving, state, marginal, weights)
    if not total > 0.0:
        return log_mass, factor
    entering, remaining = 0, rng.random() * total - weights[0]
    while remaining >= 0.0 and entering < state.size - 1:
        entering += 1
        remaining -= weights[entering]
    if weights[entering] == 0.0:
        return log_mass, factor
    make_last(leaving, marginal, factor)
    score_columns(True, marginal, factor, log_odds)
    log_ratio = log_odds[entering] - log_odds[leaving]
    for group in marginal.own_groups[leaving]:
        target = marginal.block_start[marginal.group_start[group]]
        # At a noise that nobody uses; what it is with that of its own follows.
        linear, precision = linear_and_precision(entering, target, True, marginal, factor)
        log_ratio -= log_evidence_of(target, True, marginal, factor)
        log_ratio -= 0.5 * linear * linear / precision - 0.5 * math.log(precision)
        log_ratio -= weight_constant(entering, target, marginal)
    for group in marginal.own_groups[entering]:
        target = marginal.block_start[marginal.group_start[group]]
        log_ratio += factor.log_evidence[target]
    log_ratio *= rung.power
    log_ratio += tempered_odds(entering, rung.power, marginal, rung.reference)
    log_ratio -= tempered_odds(leaving, rung.power, marginal, rung.reference)
    kept = x.copy()
    log_ratio += log_own_noise(rng, False, entering, state, x, rung)[0]
    state[leaving], state[entering] = 0, 1
    log_ratio -= log_own_noise(rng, True, leaving, state, x, rung)[0]
    log_ratio += math.log(total / likeness(entering, state, marginal, weights))
    found = mass_of(rng, state, x, rung)
    state[leaving], state[entering] = 1, 0
    if hurdle_is_missed(rng, log_ratio + rung.bound_power * (found - log_mass)):
        x[:] = kept
        return log_mass, factor
    take_last_out(state, marginal, factor)
    write_own_blocks(leaving, x, marginal, factor)
    factor = take_in(entering, state, marginal, variances_of(x, marginal), factor)
    release_own_noise(rng, entering, x, rung)
    return found, factor


@part()
def log_noise_weights(rng, densities, x, proposed, rung):
    r"""Draw x of all groups from tables q; return :math:`\log [f / q]` of them and of present ones.

    But for what a table misses it does not depend on x.
    """
    marginal, present, found = rung.marginal, 0.0, 0.0
    grid = np.empty(MOST_POINTS)
    for group in range(x.size):
        density = density_of(group, densities, marginal)
        if density.targets.sum() > 0.0:
            density = tempered(density, rung.power, rung.reference)
            table = tabulate_noise(density, grid)
            proposed[group] = draw_from_table(rng, table)
            found += log_noise_density(proposed[group], density)
            found -= log_table_density(proposed[group], table)
            present += log_noise_density(x[group], density) - log_table_density(x[group], table)
        else:
            shape, scale = unused_parameters(group, rung)
            proposed[group] = draw_log_gamma(rng, shape, scale)
            constant = math.lgamma(shape) - shape * math.log(scale)
            found, present = found + constant, present + constant
    return found, present


@part()
def redraw_noise(rng, state, x, log_mass, rung):
    """Draw the noise variances of a replica by a proposal that does not look at the present ones.

    Returns the mass within the bounds.
    """
    densities = noise_densities(state, rung.marginal)
    proposed = np.empty(x.size)
    found, present = log_noise_weights(rng, densities, x, proposed, rung)
    log_ratio = found - present
    mass = mass_of(rng, state, proposed, rung)
    if rng.standard_exponential() > -log_ratio - rung.bound_power * (mass - log_mass):
        x[:] = proposed
        return mass
    return log_mass


@part()
def scan_flips(rng, backwards, log_odds, state, x, log_mass, rung, factor):
    """Offer every column in turn to go in or out; return the mass and the factor."""
    marginal, is_known = rung.marginal, False
    for step in range(state.size):
        column = state.size - 1 - step if backwards else step
        if is_forced(column, marginal):
            continue
        hurdle = rng.standard_exponential()
        if state[column] == 1:
            found = log_odds_of_member(column, rung, factor)
        else:
            if not is_known:
                write_log_odds(False, x, rung, factor, log_odds)
                is_known = True
            found = log_odds[column]
            if hurdle <= -found:
                # The bounds can only take from it.
                continue
        changed, log_mass, factor = flip_column(
            rng, column, found, hurdle, state, x, log_mass, rung, factor
        )
        is_known = is_known and not changed
    return log_mass, factor


@part()
def move_set(rng, backwards, swaps, state, x, rung):
    """Move a set and its noise variances; return the mass within the bounds.

    Flips, one for each column, come first and swaps last, or the other way round.
    """
    factor = make_factor(state, variances_of(x, rung.marginal), rung.marginal)
    log_mass = mass_of(rng, state, x, rung)
    log_odds = np.empty(state.size)
    for phase in range(2):
        if (phase == 0) == backwards:
            for _ in range(swaps):
                move = (rng, log_odds, state, x, log_mass, rung, factor)
                if rung.marginal.own_groups.shape[1] > 0 and rng.random() < 0.5:
                    log_mass, factor = trade_column(*move)
                else:
                    log_mass, factor = swap_column(*move)
        elif not rung.reference.fixed_size:
            log_mass, factor = scan_flips(
                rng, backwards, log_odds, state, x, log_mass, rung, factor
            )
    return log_mass


@part()
def move_replica(rng, index, swaps, replicas, rung):
    """Move a replica, or draw it from the reference."""
    state, x = replicas.states[index], replicas.log_variances[index]
    is_held = not math.isnan(rung.marginal.held[0])
    if rung.power == 0.0:
        draw_reference_state(rng, state, rung.marginal, rung.reference)
        for group in range(x.size):
            x[group] = draw_log_gamma(rng, rung.reference.shape, rung.reference.scale)
        return
    log_mass = move_set(rng, False, swaps, state, x, rung)
    if not is_held:
        log_mass = redraw_noise(rng, state, x, log_mass, rung)
    replicas.log_masses[index] = log_mass


@part()
def log_exchange_ratio(rng, state, x, proposed, own, other):
    """Return what one of two replicas adds to the log ratio of an exchange, bounds left out.

    It goes from its own rung to the other's, with noise variances drawn anew.
    """
    marginal, difference = own.marginal, other.power - own.power
    log_prior, log_reference = log_priors(state, marginal, own.reference)
    if not math.isnan(marginal.held[0]):
        proposed[:] = x
        return difference * (log_prior - log_reference + log_evidence(state, marginal))
    densities = noise_densities(state, marginal)
    found = log_noise_weights(rng, densities, x, proposed, other)[0]
    found -= log_noise_weights(rng, densities, x, np.empty(x.size), own)[1]
    return found + difference * (log_prior - log_reference + densities.rest)


@part()
def exchange_pair(rng, first, cold, hot, replicas):
    """Offer replicas i and i + 1 an exchange; `cold` and `hot` are their rungs.

    Their noise variances are drawn anew if they are at different powers: one that is right at one
    power is not at another, and would keep sets from being exchanged that could be. On wine with a
    copied column, paper's model, 32 rungs and one round trip in 1000 iterations became 5 and 119.
    """
    second, states, x = first + 1, replicas.states, replicas.log_variances
    at_cold, at_hot = x[second].copy(), x[first].copy()
    log_ratio, found, kept, masses = 0.0, 0.0, 0.0, replicas.log_masses
    if cold.power != hot.power:
        log_ratio += log_exchange_ratio(rng, states[first], x[first], at_hot, cold, hot)
        log_ratio += log_exchange_ratio(rng, states[second], x[second], at_cold, hot, cold)
    if cold.bound_power > 0.0:
        # Bounds enter where all powers are 1, and noise variances stay as they are.
        known = hot.bound_power > 0.0
        found = masses[second] if known else mass_of(rng, states[second], at_cold, cold)
        kept = masses[first]
        log_ratio += (cold.bound_power - hot.bound_power) * (found - kept)
    if decide(rng, first, log_ratio, replicas):
        x[first], x[second] = at_cold, at_hot
        masses[first], masses[second] = found, kept


@random_kernel
def advance_given_noise(stream, turn, replicas, marginal, reference, box):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    turn : Turn
    replicas : Replicas
        Changed in place.
    marginal : Marginal
    reference : Reference
    box : Box
    """
    rng = generator_at(stream)
    number, gammas = replicas.powers.size, replicas.bound_powers
    for index in range(number):
        rung = Rung(replicas.powers[index], gammas[index], marginal, reference, box)
        if turn.first <= index < turn.last:
            move_replica(rng, index, turn.swaps, replicas, rung)
        elif turn.is_new:
            state, x = replicas.states[index], replicas.log_variances[index]
            replicas.log_masses[index] = mass_of(rng, state, x, rung)
    if turn.last == number:
        for first in range(turn.round % 2, number - 1, 2):
            cold = Rung(replicas.powers[first], gammas[first], marginal, reference, box)
            hot = Rung(replicas.powers[first + 1], gammas[first + 1], marginal, reference, box)
            exchange_pair(rng, first, cold, hot, replicas)
    return count_round_trips(replicas)


@random_kernel
def move_beside(stream, backwards, state, log_variances, marginal, reference, box):
    """Move a set at given noise, by flips and one swap, or the other way round.

    Flips and swaps are each reversible; with the order drawn at random so is the whole, as the
    proposal of a chain has to be. The bounds are left out.

    Parameters
    ----------
    stream : numpy.random.Generator
    backwards : bool
        Whether the swap comes first and the flips last to first.
    state : int array (N,)
        Changed in place.
    log_variances : array (S,)
        Logs of the noise variances of the groups, changed along with columns that are groups.
    marginal, reference, box
        As in `advance_given_noise`.
    """
    rng = generator_at(stream)
    move_set(rng, backwards, 1, state, log_variances, Rung(1.0, 0.0, marginal, reference, box))


@random_kernel
def log_mass_at(stream, state, log_variances, box):
    """Return the log of the mass within the bounds, see `log_box_mass`."""
    return log_box_mass(generator_at(stream), state, log_variances, box)
