"""A ladder of replicas over sets of columns, and how its temperatures are found while tuning."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfinv

from pymc_bid.kernels.by_reference import Held, held_by_reference
from pymc_bid.kernels.exact.exchange import weigh_weights
from pymc_bid.kernels.ladder.given_noise import advance_given_noise, move_beside
from pymc_bid.kernels.ladder.integrated_noise import advance_integrated, move_beside_integrated
from pymc_bid.kernels.ladder.replicas import Path, Reference, Replicas, Turn, copy_of
from pymc_bid.kernels.ladder.rung import Replica
from pymc_bid.kernels.random_numbers import random_kernel
from pymc_bid.kernels.types import Box, Marginal
from pymc_bid.steps.settings import (
    BOUNDS_FROM,
    FEWEST_RUNGS,
    FEWEST_SLOPES,
    FIRST_SIZE,
    FIRST_WINDOW,
    MOST_FLIP_WORK,
    MOST_MASS_WORK,
    MOST_RUNGS,
    MOST_SWAPS,
    MOST_WORK,
    REFERENCE_SHAPE,
    WINDOW_GROWTH,
)


class Ladder:
    """Replicas of a state vector on a path from a reference to the marginal model, in one process.

    Parameters
    ----------
    fixed_size : bool
        Whether sets have a given number of columns.
    given_noise : bool
        Whether replicas move at given noise, see `MarginalBuilder`.
    tempered : bool
        Whether there are powers below 1.

    Attributes
    ----------
    replicas : Replicas or None
        None before the first iteration.
    chain_is_fresh : int
        What `Replicas.fresh` is for the replicas, for the state of the chain.
    knows_bounds : bool
        Whether the path ends at the marginal model with the mass within the bounds; else at the one
        without, because there are none or because sets are so large that it would take too long.
    bias : float
        What is added to the log odds of every column where the bounds are not known. The closed
        form does not know what they leave of weights: of a column and its copy, both chosen, each
        has the prior's reward and together they have little room. While tuning it is set to what
        the weights of exchanges say of a column more; EC50 with every column twice, paper's model:
        without it chains had 37.6 columns on average and did not move, with it 24.05.
    is_new : bool
        Whether the marginal model is another one than in the last iteration.
    """

    def __init__(self, fixed_size: bool, given_noise: bool, tempered: bool):
        self.fixed_size, self.given_noise, self.tempered = fixed_size, given_noise, tempered
        self.replicas: Replicas | None = None
        self.chain_is_fresh = 0
        self.is_new = self._is_placed = True
        self.knows_bounds = False
        self._reference = Reference(0.0, 1.0, 1.0, fixed_size)
        self._iteration = self._round = self._first_round = self._next = 0
        self._at_once, self._column = MOST_RUNGS, 0
        self._columns_at_once = np.inf
        self._left = self._window = FIRST_WINDOW
        self._sizes = [0, 0]
        self.bias = 0.0
        self._slopes: list[float] = []
        self._has_exchanged = False

    def start(
        self, rng: np.random.Generator, marginal: Marginal, box: Box, state: NDArray[np.int64]
    ) -> None:
        """Place replicas, drawn from the reference; sets of a given size have that of `state`."""
        entries = marginal.rows.sum()
        finite = np.isfinite(marginal.log_odds)
        usual = 1 / (1 + np.exp(-marginal.log_odds[finite]))
        size = float(state.sum())
        if not self.fixed_size:
            size = min(usual.sum(), FIRST_SIZE) + (marginal.log_odds == np.inf).sum()
        self._set_reference(marginal, size)
        self._set_pace(marginal, box, size)
        places = np.ones(1)
        if self.tempered:
            # Down to where all data together weigh as much as two entries.
            halvings = int(np.ceil(np.log2(max(entries, 4.0) / 2)))
            places = np.append(0.5 ** np.arange(min(halvings, MOST_RUNGS - 2) + 1), 0.0)
        square = max(marginal.squares.sum() / max(entries, 1.0), 1e-300)
        states = np.tile(state, (places.size, 1))
        if self.fixed_size:
            states[:, finite] = rng.permuted(states[:, finite], axis=1)
        else:
            share = 1 / (1 + np.exp(-self._reference.log_odds))
            drawn = rng.random(states.shape) < share
            states[:] = np.where(finite, drawn, marginal.log_odds > 0)
        log_variances = np.full((places.size, marginal.shape.size), np.log(square))
        log_variances[:, np.isfinite(marginal.held)] = np.log(
            marginal.held[np.isfinite(marginal.held)]
        )
        self._place(places, states, log_variances, np.full(places.size, MOST_SWAPS, np.int64))

    def _set_reference(self, marginal: Marginal, size: float) -> None:
        candidates = np.isfinite(marginal.log_odds).sum()
        size = max(size - (marginal.log_odds == np.inf).sum(), 0.0)
        # Never more than half of the columns: that would favour what the ladder is to get out of.
        share = min((size + 0.5) / (candidates + 1.0), 0.5)
        # All but flat in log σ² from the least that the data could leave upwards: a reference that
        # rules small noise out keeps sets that explain all but perfectly from coming down.
        rows = marginal.rows.sum() / marginal.shape.size
        least = marginal.scale[0] / (marginal.shape[0] + 0.5 * rows)
        scale = max(least, np.finfo(np.float64).tiny)
        self._reference = Reference(
            float(np.log(share / (1 - share))), REFERENCE_SHAPE, float(scale), self.fixed_size
        )

    def _place(self, powers, states, log_variances, swaps) -> None:
        """Let there be replicas at powers β, with these states."""
        rungs, size = states.shape
        memory = np.full((0 if self.given_noise else 2**size, 2), np.nan)
        self.replicas = Replicas(
            states=states.copy(),
            log_variances=log_variances.copy(),
            powers=powers,
            bound_powers=self._bound_powers(powers),
            log_masses=np.zeros(rungs),
            fresh=np.zeros(rungs, dtype=np.int64),
            rejections=np.zeros(rungs),
            visits=np.zeros(rungs, dtype=np.int64),
            swaps=swaps,
            flips=np.zeros(rungs, dtype=np.int64),
            memory=memory if self.replicas is None else self.replicas.memory,
        )
        self._next, self._column, self._first_round = 0, 0, self._round
        self._is_placed = True

    def _bound_powers(self, powers):
        """Return γ at powers β."""
        if not self.knows_bounds:
            return np.zeros(powers.size)
        return np.clip(1 - np.log(np.maximum(powers, 1e-300)) / np.log(BOUNDS_FROM), 0.0, 1.0)

    def advance(self, rng: np.random.Generator, marginal: Marginal, box: Box) -> int:
        """Move replicas and, at the end of a round, let neighbours exchange; count round trips."""
        replicas, turn = self.replicas, self._turn()
        columns = replicas.states.shape[1]
        number, last = replicas.powers.size, turn.last
        # An interrupt may come in the middle of a move.
        before = copy_of(replicas)
        try:
            trips = self._kernel(rng, turn, self._held_path(marginal, box))
        except BaseException:
            self.replicas = before
            raise
        self.is_new = self._is_placed = False
        self._iteration += 1
        self._column = turn.last_column % columns
        if self._column == 0:
            self._next = last
        if self._next == number:
            self._round, self._next = self._round + 1, 0
        self._sizes[0] += int(np.count_nonzero(replicas.states[0]))
        self._sizes[1] += 1
        return int(trips)

    def _turn(self) -> Turn:
        number, columns = self.replicas.states.shape
        is_whole = self._columns_at_once >= columns
        last = min(self._next + (self._at_once if is_whole else 1), number)
        # The last replica is drawn anew; unless it is the only one.
        is_whole = is_whole or (self._next == number - 1 and self.tempered)
        end = columns if is_whole else min(self._column + self._columns_at_once, columns)
        is_new = self.is_new or (self.given_noise and self._is_placed)
        return Turn(self._round, self._next, last, self._column, end, is_new)

    @property
    def _kernel(self) -> random_kernel:
        return advance_given_noise if self.given_noise else advance_integrated

    def compile_for(self, rng: np.random.Generator, marginal: Marginal, box: Box) -> None:
        """Compile what `advance` calls, without moving anything."""
        self._kernel.compile_for(rng, self._turn(), self._held_path(marginal, box))

    def _held_path(self, marginal: Marginal, box: Box) -> Held:
        return held_by_reference(Path, self.replicas, marginal, self._reference, box)

    def _set_pace(self, marginal: Marginal, box: Box, size: float) -> None:
        """Find how many replicas move in one iteration, for sets of a typical size."""
        targets, columns = marginal.cross.shape
        self.knows_bounds = box.lower.size > 0 and targets * size**2 <= MOST_MASS_WORK
        if self.knows_bounds:
            self.bias = 0.0
        if not self.given_noise:
            return
        blocks, patterns = marginal.block_pattern.size, marginal.grams.shape[0]
        swaps = min(size, MOST_SWAPS)
        work = columns * targets * (size + 4 + 2 * swaps) + 15 * patterns * size**3
        work += blocks * columns * size * (0.5 * size + 1.5 * swaps)
        self._at_once = max(1, int(MOST_WORK / work))
        if not self.fixed_size:
            of_flip = columns * (targets + blocks * size)
            self._columns_at_once = max(1, int(MOST_FLIP_WORK / of_flip))

    @property
    def offers_exchange(self) -> bool:
        """Whether it is the chain's turn, in every other iteration."""
        return self._iteration % 2 == 0

    def exchange(self, state: NDArray[np.int64], log_variances: NDArray[np.float64]) -> None:
        """Leave the state of the chain to the first replica; no variances where they are held."""
        replicas = self.replicas
        replicas.states[0] = state
        if log_variances.size:
            replicas.log_variances[0] = log_variances
        replicas.fresh[0], self.chain_is_fresh = self.chain_is_fresh, replicas.fresh[0]
        self._is_placed = True

    def log_mass(self, rng: np.random.Generator, chain, marginal: Marginal, box: Box) -> float:
        """Return the log of the mass within the bounds that the first replica's place has."""
        state, _, log_variances = chain
        if not self.knows_bounds:
            return 0.0
        x = (
            log_variances - marginal.log_unit
            if np.isnan(marginal.held[0])
            else np.log(marginal.held)
        )
        variance, weights = np.exp(x[box.group] + box.log_unit), np.empty((0, 0))
        return weigh_weights(rng, False, state, weights, variance, box.regressions)[2].sum()

    def learn_bias(self, state: NDArray[np.int64], log_ratio: float, accepted: bool) -> None:
        """While tuning: note what an offer, before it is carried out, says of the bias."""
        difference = int(self.replicas.states[0].sum() - state.sum())
        # The first states of a chain are anywhere and their weights say nothing.
        is_known = self._has_exchanged and np.isfinite(log_ratio)
        if is_known and difference != 0 and not self.knows_bounds:
            self._slopes.append(log_ratio / difference + self.bias)
        self._has_exchanged = self._has_exchanged or accepted

    def move_beside(
        self, rng: np.random.Generator, state, log_variances, marginal: Marginal, box: Box
    ) -> None:
        """Move a set as the first replica does, but reversibly, in place."""
        path = self._held_path(marginal, box)
        if self.given_noise:
            backwards, part = rng.random() < 0.5, (0, state.size)
            if self._columns_at_once < state.size:
                first = int(rng.integers(state.size - self._columns_at_once + 1))
                part = first, first + self._columns_at_once
            replica = Replica(state, log_variances, np.zeros(1))
            move_beside(rng, backwards, part, replica, path)
        else:
            move_beside_integrated(rng, MOST_SWAPS, state, path)

    def adapt(self, marginal: Marginal, box: Box) -> bool:
        """While tuning: place replicas so that all neighbours exchange equally often.

        The rejection rates add up along the ladder to a barrier Λ that hardly depends on where the
        replicas are; 2Λ + 1 of them, at equal parts of it, make the most round trips for their cost
        (Syed et al. 2022). Returns whether anything changed, at the end of a window.
        """
        self._left -= 1
        if self._left > 0 or not self.tempered:
            return False
        replicas = self.replicas
        self._window = int(WINDOW_GROWTH * self._window)
        self._left = self._window
        powers = replicas.powers
        rates = replicas.rejections[:-1] / np.maximum(replicas.visits[:-1], 1)
        size = self._sizes[0] / self._sizes[1]
        self._sizes = [0, 0]
        self._set_reference(marginal, size)
        self._set_pace(marginal, box, size)
        if not self.knows_bounds and len(self._slopes) >= FEWEST_SLOPES:
            self.bias = float(np.median(self._slopes))
        self._slopes = []
        # A rejection rate says less and less of a barrier that is hardly ever crossed.
        parts = 2 / np.sqrt(np.pi) * erfinv(np.minimum(rates, 0.999))
        barrier = np.append(0.0, np.cumsum(parts + 1e-6))
        number = int(np.clip(np.ceil(2 * barrier[-1]) + 1, FEWEST_RUNGS, MOST_RUNGS))
        # Linear in log β: what is tempered away falls with a power of β.
        offset = 0.5 * powers[-2]
        chosen = np.interp(np.linspace(0, barrier[-1], number), barrier, np.log(powers + offset))
        chosen = np.maximum(np.exp(chosen) - offset, 0.0)
        chosen[0], chosen[-1] = 1.0, 0.0
        nearest = np.abs(chosen[:, None] - powers).argmin(axis=1)
        # Where flips change as many columns, swaps would only take time; but flips never trade a
        # column that has its own noise for a copy. The last replica is drawn anew and has no flips.
        flips = replicas.flips[np.minimum(nearest, powers.size - 2)]
        flips = flips / max(self._round - self._first_round, 1)
        least = 1 if marginal.own_groups.shape[1] else 0
        swaps = np.maximum(MOST_SWAPS - flips, least).astype(np.int64)
        self._place(chosen, replicas.states[nearest], replicas.log_variances[nearest], swaps)
        return True
