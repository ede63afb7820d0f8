r"""What an exchange with the ladder is decided by: the weight of a chain's state.

The chain is at :math:`(r, σ², Y)`, a replica at :math:`r'` (and :math:`σ²'`), distributed by the
closed form :math:`\tildeπ`. The proposal is to take :math:`r'`, with :math:`σ²'` and
weights :math:`Y' \sim q(· \mid r', σ²')` that are drawn within the bounds, and to leave :math:`r`
to the replica. It is accepted with probability

.. math:: \min\bigl(1, w(r', σ²', Y') / w(r, σ², Y)\bigr), \qquad
    w = \frac{p(A, r, σ², Y)}{\tildeπ(r, σ²)\, q(Y \mid r, σ²)} ,

which is exact for any fixed :math:`\tildeπ` and any :math:`q` that looks at :math:`(r, σ²)` alone.
Here is the part of :math:`w` that knows the weights. Where the closed form is that of the model at
hand, nothing else is left of it but the proposal of :math:`σ²`, if that is integrated out.
"""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from pymc_bid.kernels.by_address import ByAddress, keep_address_out
from pymc_bid.kernels.by_reference import held_by_reference, type_by_reference
from pymc_bid.kernels.compilation import spread
from pymc_bid.kernels.exact.ghk import (
    find_order,
    find_sites,
    log_normal_ratio,
    write_factor,
)
from pymc_bid.kernels.exact.unbounded import (
    is_well_conditioned,
    make_workspace,
    write_covariance,
    write_directly,
    write_spectrum,
    write_target,
)
from pymc_bid.kernels.identity import interpolated_targets
from pymc_bid.kernels.interrupts import OF_A_DRAW, let_interrupts_in
from pymc_bid.kernels.random_numbers import generator_at, random_kernel
from pymc_bid.kernels.truncated_normal import draw_truncated_normal, log_interval_mass
from pymc_bid.kernels.types import Regressions

if TYPE_CHECKING:
    from pymc_bid.graph.values import WeightPrior
    from pymc_bid.regression import Products

LEAST_MASS = -1e3
"""Log of the mass of one weight below which expectation propagation is not asked. Of weights whose
bounds are millions of deviations away it made masses of exp(1e26) and exp(-1e15)."""


@spread()
def log_prior_constant(prior, row, target):
    """Return the log density of a weight's prior at its mean, but for 2π, and that of 0."""
    mean, precision = prior.mean[row, target], prior.precision[row, target]
    log_mass = log_interval_mass(
        mean, precision, prior.lower[row, target], prior.upper[row, target]
    )
    return 0.5 * (math.log(precision) - precision * mean * mean) - log_mass


@partial(ByAddress, types.Tuple((types.float64, types.float64, types.float64[::1])))
def visit_targets(stream, drawing, state, weights, noise_variance, regressions):
    """Go through the interpolated targets: draw their weights, or take them.

    Without weights, an empty array, only the evidence and the mass are found.
    Returns the sums of log [N(y) / q(y)] and of log E, and of each target the log of the mass
    within the bounds as expectation propagation has it, (L,).
    """
    rng, products, prior = generator_at(stream), regressions.products, regressions.prior
    members = np.flatnonzero(state)
    number = members.size
    interpolated = interpolated_targets(state, regressions.own_targets, noise_variance.size)
    work = make_workspace(members)
    values = np.empty(number)
    # Where nothing tells the targets apart, their precision matrix is the same.
    alike = prior.precision.strides[1] == 0
    prior_is_shared = (
        alike
        and prior.mean.strides[1] == 0
        and prior.lower.strides[1] == 0
        and prior.upper.strides[1] == 0
    )
    is_alone = np.bincount(products.pattern) == 1
    last, constant, ordered = -1, 0.0, False
    log_ratio, log_evidence, log_masses = 0.0, 0.0, np.zeros(noise_variance.size)
    for target in range(noise_variance.size):
        if interpolated[target] == 0.0:
            continue
        let_interrupts_in(float(number) ** 3)
        variance, pattern = noise_variance[target], products.pattern[target]
        gram = products.grams[pattern]
        directly = is_alone[pattern] and is_well_conditioned(
            work, gram, variance, prior.precision, target
        )
        same_gram = alike and last >= 0 and products.pattern[last] == pattern
        if not (same_gram or directly):
            write_spectrum(work, gram, prior.precision, target)
        if not (same_gram and noise_variance[last] == variance):
            if not directly:
                write_covariance(work, variance)
            ordered = False
        if last < 0 or not prior_is_shared:
            constant = 0.0
            for k in range(number):
                constant += log_prior_constant(prior, members[k], target)
        last = target
        if directly:
            found = write_directly(work, gram, products.cross, variance, prior, target)
        else:
            found = write_target(work, products.cross, variance, prior, target)
        log_evidence += constant + found
        log_evidence -= 0.5 * products.rows[target] * math.log(variance)
        log_evidence -= 0.5 * products.squares[target] / variance
        near = find_order(work)
        # No mass is more than that of one weight, and of a single one near a bound it is that.
        mass = work.log_masses[work.order[0]] if near > 0 else 0.0
        # A literal 0 would have numba compile what it is given to once more.
        sites = np.int64(0)
        if near > 1 and mass > LEAST_MASS:
            found, sites = find_sites(work)
            mass = found if sites > 0 and found < mass else mass
        log_masses[target] = mass
        if weights.size == 0:
            continue
        if near > 0 or not ordered:
            write_factor(work)
            ordered = near == 0
        for k in range(number):
            values[k] = weights[members[k], target]
        log_ratio += log_normal_ratio(rng, drawing, work, near, sites, values)
        if drawing:
            for k in range(number):
                weights[members[k], target] = values[k]
    return log_ratio, log_evidence, log_masses


call_visit = visit_targets.call


_kinds_of: dict[tuple[int, ...], tuple] = {}


def make_regressions(
    products: "Products", prior: "WeightPrior", own_targets: NDArray[np.int64]
) -> Regressions:
    """Return regressions in the form in which kernels take them."""
    # What numba's types of the fields depend on, all of which are numbers of 64 bits; it takes much
    # longer to name these.
    layout = tuple(field.flags.num for field in (*products, *prior))
    regressions = Regressions(products, prior, own_targets, visit=0)
    if layout not in _kinds_of:
        _kinds_of[layout] = (
            *(types.UniTuple(types.int64, 4), types.boolean, types.int64[::1]),
            *(types.float64[:, ::1], types.float64[::1]),
            type_by_reference(typeof(regressions)),
        )
    return regressions._replace(visit=visit_targets.address(*_kinds_of[layout]))


keep_address_out(Regressions, visit_targets)


def weigh_weights(rng, drawing, state, weights, noise_variance, regressions):
    r"""Return what weights add to the log of :math:`w`, the log evidence without bounds, the mass.

    The first is :math:`\sum_l \log [N(y_l) / q(y_l)]`, the second :math:`\sum_l \log E_l`, see
    `pymc_bid.kernels.exact.ghk`, both over the interpolated targets and the latter but for
    -½ log 2π an entry; the third, for each target, is about what the first is on average.

    Parameters
    ----------
    rng : numpy.random.Generator
    drawing : bool
        Whether to draw weights from q, or to take those that are there.
    state : int array (N,)
    weights : array (N, L)
        Rows of chosen columns, in interpolated targets, are written if drawing. Empty if only the
        evidence and the mass are asked for.
    noise_variance : array (L,)
    regressions : Regressions
    """
    held = held_by_reference(Regressions, *regressions)
    return weigh_held(rng, drawing, state, weights, noise_variance, held)


@random_kernel
def weigh_held(stream, drawing, state, weights, noise_variance, regressions):
    """Do what `weigh_weights` does, with regressions by reference."""
    arguments = (stream, drawing, state, weights, noise_variance, regressions)
    return call_visit(regressions.visit, arguments)


@spread()
def log_box_masses(state, log_variances, box):
    """Return the log of the mass that the bounds leave of the weights of each target, about.

    At noise variances in the units of a `Marginal`; nothing is drawn.
    """
    noise_variance = np.empty(box.group.size)
    for target in range(noise_variance.size):
        noise_variance[target] = math.exp(log_variances[box.group[target]] + box.log_unit)
    regressions, weights = box.regressions, np.empty((0, 0))
    # Without a generator: the addresses of one that is never asked.
    arguments = ((0, 0, 0, 0), False, state, weights, noise_variance, regressions)
    return call_visit(regressions.visit, arguments)[2]


@random_kernel
def draw_unused_weights(stream, before, after, weights, prior, own_targets):
    """Draw the weights that a change of the state has left without a likelihood from the prior.

    Parameters
    ----------
    stream : numpy.random.Generator
    before, after : int arrays (N,)
        The states.
    weights : array (N, L)
        Changed in place.
    prior : WeightPrior
    own_targets : int array (N, D)
    """
    rng = generator_at(stream)
    rows, targets = weights.shape
    used_before = interpolated_targets(before, own_targets, targets)
    used_after = interpolated_targets(after, own_targets, targets)
    for row in range(rows):
        let_interrupts_in(OF_A_DRAW * targets)
        for target in range(targets):
            was_used = before[row] == 1 and used_before[target] != 0.0
            is_used = after[row] == 1 and used_after[target] != 0.0
            if was_used and not is_used:
                weights[row, target] = draw_truncated_normal(
                    rng,
                    prior.mean[row, target],
                    prior.precision[row, target],
                    prior.lower[row, target],
                    prior.upper[row, target],
                )
