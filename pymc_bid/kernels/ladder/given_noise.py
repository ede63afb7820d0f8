"""Replicas :math:`(r, x)` at given noise: their moves, and their exchanges with each other."""

import math

import numpy as np

from pymc_bid.kernels.by_reference import by_reference, copy_into
from pymc_bid.kernels.compilation import part, spread
from pymc_bid.kernels.ladder.moves import move_set
from pymc_bid.kernels.ladder.replicas import (
    count_round_trips,
    decide,
    draw_reference_state,
    log_priors,
)
from pymc_bid.kernels.ladder.rung import (
    Replica,
    Rung,
    draw_log_gamma,
    is_rejected,
    log_noise_weights,
    mass_of,
)
from pymc_bid.kernels.marginal.evidence import log_evidence_of_set, noise_densities
from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@spread()
def replica_at(index, replicas):
    """Return one of the replicas."""
    return by_reference(
        Replica(
            replicas.states[index],
            replicas.log_variances[index],
            replicas.log_masses[index : index + 1],
        )
    )


@spread()
def rung_at(index, path):
    """Return where a replica is."""
    power, bound_power = path.replicas.powers[index], path.replicas.bound_powers[index]
    return by_reference(Rung(power, bound_power, path.marginal, path.reference, path.box))


@part()
def redraw_noise(rng, densities, replica, rung):
    """Draw the noise variances of a replica by a proposal that does not look at present ones.

    Returns log [f / q] of those that it then has, see `log_noise_weights`.
    """
    x = replica.log_variances
    proposed = by_reference(Replica(replica.state, np.empty(x.size), replica.log_mass))
    found, present = log_noise_weights(rng, densities, x, proposed.log_variances, rung)
    log_mass = mass_of(proposed, rung)
    if is_rejected(rng, found - present, log_mass, replica, rung):
        return present
    copy_into(proposed.log_variances, x)
    replica.log_mass[0] = log_mass
    return found


@spread()
def move_replica(rng, swaps, redrawing, columns, replica, rung):
    """Move a replica, its noise variances only if asked to, or draw it from the reference.

    Returns how many flips it made.
    """
    reference, marginal, x = rung.reference, rung.marginal, replica.log_variances
    noise_is_free = math.isnan(marginal.held[0])
    if rung.power == 0.0:
        draw_reference_state(rng, replica.state, marginal, reference)
        if noise_is_free:
            for group in range(x.size):
                x[group] = draw_log_gamma(rng, reference.shape, reference.scale)
        return 0
    flips = move_set(rng, False, swaps, columns, replica, rung)
    if redrawing and noise_is_free:
        redraw_noise(rng, noise_densities(replica.state, marginal), replica, rung)
    return flips


@part()
def log_exchange_ratio(rng, replica, proposed, own, other):
    """Return what one of two replicas adds to the log ratio of an exchange, and its mass then.

    It goes from its own rung to the other's, with noise variances drawn anew; and draws them anew
    at its own before, since all that takes is at hand.
    """
    state, x = replica.state, replica.log_variances
    marginal, difference = own.marginal, other.power - own.power
    log_prior, log_reference = log_priors(state, marginal, own.reference)
    if math.isnan(marginal.held[0]):
        densities = noise_densities(state, marginal)
        present = redraw_noise(rng, densities, replica, own)
        log_ratio = log_noise_weights(rng, densities, x, proposed, other)[0] - present
        log_ratio += difference * densities.rest
    else:
        copy_into(x, proposed)
        log_ratio = difference * log_evidence_of_set(state, marginal)
    log_ratio += difference * (log_prior - log_reference)
    log_mass = mass_of(by_reference(Replica(state, proposed, replica.log_mass)), other)
    log_ratio += other.bound_power * log_mass - own.bound_power * replica.log_mass[0]
    return log_ratio, log_mass


@part()
def is_alone(index, turn, number):
    """Whether a replica is offered no exchange in this round."""
    other = index + 1 if (index - turn.round) % 2 == 0 else index - 1
    return not 0 <= other < number


@spread()
def exchange_pair(rng, first, cold, hot, replicas):
    """Offer replicas i and i + 1 an exchange; `cold` and `hot` are their rungs.

    With noise variances drawn anew: what is right at one power is not at another, and would keep
    sets from being exchanged that could be. On wine with a copied column, paper's model, 32 rungs
    and one round trip in 1000 iterations became 5 and 119.
    """
    second, x, masses = first + 1, replicas.log_variances, replicas.log_masses
    at_cold, at_hot = x[second].copy(), x[first].copy()
    down, kept = log_exchange_ratio(rng, replica_at(first, replicas), at_hot, cold, hot)
    up, found = log_exchange_ratio(rng, replica_at(second, replicas), at_cold, hot, cold)
    if decide(rng, first, down + up, replicas):
        copy_into(at_cold, x[first])
        copy_into(at_hot, x[second])
        masses[first], masses[second] = found, kept


@random_kernel
def advance_given_noise(stream, turn, path):
    """Move replicas and let neighbours exchange; return the round trips ended.

    Parameters
    ----------
    stream : numpy.random.Generator
        See `pymc_bid.kernels.random_numbers.random_kernel`.
    turn : Turn
    path : Path
        By reference. The replicas are changed in place.
    """
    rng, replicas = generator_at(stream), path.replicas
    number = replicas.powers.size
    for index in range(number):
        rung, replica = rung_at(index, path), replica_at(index, replicas)
        if turn.first <= index < turn.last:
            redrawing, swaps = is_alone(index, turn, number), replicas.swaps[index]
            columns = (turn.first_column, turn.last_column)
            replicas.flips[index] += move_replica(rng, swaps, redrawing, columns, replica, rung)
        elif turn.is_new:
            replicas.log_masses[index] = mass_of(replica, rung)
    if turn.last == number:
        for first in range(turn.round % 2, number - 1, 2):
            cold, hot = rung_at(first, path), rung_at(first + 1, path)
            exchange_pair(rng, first, cold, hot, replicas)
    return count_round_trips(replicas)


@random_kernel
def move_beside(stream, backwards, columns, replica, path):
    """Move a set at given noise, by flips and one swap, or the other way round.

    Flips and swaps are each reversible; with the order drawn at random so is the whole, as the
    proposal of a chain has to be.

    Parameters
    ----------
    stream : numpy.random.Generator
    backwards : bool
        Whether the swap comes first and the flips last to first.
    columns : pair of int
        The first column that is offered to go in or out, and the one after the last.
    replica : Replica
        The set, changed in place, and noise variances along with columns that are groups.
    path : Path
        As in `advance_given_noise`. The place is that of the first replica.
    """
    rng, replica = generator_at(stream), by_reference(replica)
    move_set(rng, backwards, 1, columns, replica, rung_at(0, path))
