"""A ladder of replicas over sets of columns, and how its temperatures are found while tuning."""

import numpy as np
from numpy.typing import NDArray

from pymc_bid.kernels.ladder.common_noise import advance_common, move_beside
from pymc_bid.kernels.ladder.integrated_noise import advance_integrated, swap_beside
from pymc_bid.kernels.ladder.replicas import Reference, Replicas, Turn
from pymc_bid.kernels.types import Marginal

FEW_COLUMNS = 16
"""Up to this number the evidences of all sets fit into half a megabyte, and are remembered."""
FIRST_WINDOW = 25
"""Iterations before temperatures are placed anew for the first time; then twice as many each."""
FEWEST_RUNGS, MOST_RUNGS = 3, 32
FIRST_SIZE = 10.0
"""Most columns that sets from the reference have on average before anything is known."""
FEWEST_SLOPES = 5
"""Offers of another number of columns that the bias is the median of, at least."""
REFERENCE_SHAPE = 0.1
"""Of the noise variance at β = 0; the smaller, the flatter in its logarithm."""
SWAPS = 1
"""Columns that each replica exchanges in an iteration where their number is free."""
MOST_SWAPS = 10
"""And where it is fixed, and the first replica in any case: every chosen one, up to this number."""
MOST_WORK = 4e6
"""Products of two numbers that moves of replicas take in one iteration of the chain, about: 2 ms.
A ladder that takes more goes on in the next ones, so that the chain, which has work of its own, is
not kept waiting. The first replica moves all the same."""


class Ladder:
    """Replicas of a state vector at powers from 1 to 0, all in one process.

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
    bias : float
        What is added to the log odds of every column. The closed form does not know what the bounds
        leave of weights: of a column and its copy, both chosen, each has the prior's reward and
        together they have little room. While tuning it is set to what the weights of exchanges say
        of a column more; EC50 with every column twice, paper's model: without it chains had 37.6
        columns on average and did not move, with it 24.05.
    is_new : bool
        Whether the marginal model is another one than in the last iteration.
    """

    def __init__(self, fixed_size: bool, given_noise: bool, tempered: bool):
        self.fixed_size, self.given_noise, self.tempered = fixed_size, given_noise, tempered
        self.replicas: Replicas | None = None
        self.chain_is_fresh = 0
        self.is_new = True
        self._is_placed = True
        self._reference = Reference(0.0, 1.0, 1.0, fixed_size)
        self._iteration, self._round, self._next, self._at_once = 0, 0, 0, MOST_RUNGS
        self._window, self._cold_swaps = FIRST_WINDOW, SWAPS
        self._left = FIRST_WINDOW
        self._sizes = np.zeros(2)
        self.bias = 0.0
        self._slopes: list[float] = []
        self._has_exchanged = False

    def start(self, rng: np.random.Generator, marginal: Marginal, state: NDArray[np.int64]) -> None:
        """Place replicas, drawn from the reference; sets of a given size have that of `state`."""
        entries, blocks = marginal.rows.sum(), marginal.block_pattern.size
        finite = np.isfinite(marginal.log_odds)
        usual = 1 / (1 + np.exp(-marginal.log_odds[finite]))
        self._set_reference(marginal, min(usual.sum(), FIRST_SIZE), finite.sum())
        if self.tempered:
            # Down to where all data together weigh as much as two entries.
            halvings = int(np.ceil(np.log2(max(entries, 4.0) / 2)))
            powers = np.append(0.5 ** np.arange(min(halvings, MOST_RUNGS - 2) + 1), 0.0)
        else:
            powers = np.ones(1)
        square = marginal.squares.sum() / max(marginal.rows.sum(), 1.0)
        variance = marginal.held[0] if np.isfinite(marginal.held[0]) else max(square, 1e-300)
        states = np.tile(state, (powers.size, 1))
        if self.fixed_size:
            states = rng.permuted(states, axis=1)
        else:
            share = 1 / (1 + np.exp(-self._reference.log_odds))
            drawn = rng.random(states.shape) < share
            states[:] = np.where(finite, drawn, marginal.log_odds > 0)
        self._place(powers, states, np.full(powers.size, np.log(variance)), blocks)
        self._set_pace(marginal, states[0].sum())

    def _set_reference(self, marginal: Marginal, size: float, candidates: int) -> None:
        # Never more than half of the columns: that would favour what the ladder is to get out of.
        share = min((size + 0.5) / (candidates + 1.0), 0.5)
        # All but flat in log σ² from the least that the data could leave upwards: a reference that
        # rules small noise out keeps sets that explain all but perfectly from coming down.
        least = marginal.scale[0] / (marginal.shape[0] + 0.5 * marginal.rows.sum())
        scale = max(least, np.finfo(np.float64).tiny)
        self._reference = Reference(
            float(np.log(share / (1 - share))), REFERENCE_SHAPE, float(scale), self.fixed_size
        )

    def _place(self, powers, states, log_variances, blocks: int) -> None:
        rows, size = states.shape
        self.replicas = Replicas(
            states=states.copy(),
            log_variances=log_variances.copy(),
            fresh=np.zeros(rows, dtype=np.int64),
            powers=powers,
            known=np.zeros(rows, dtype=np.int64),
            log_weights=np.zeros(rows),
            numbers=np.zeros((rows, 4)),
            targets=np.zeros((rows, blocks)),
            eigenvalues=np.zeros((rows, blocks * size)),
            explained=np.zeros((rows, blocks * size)),
            rejections=np.zeros(rows),
            visits=np.zeros(rows, dtype=np.int64),
            memory=np.full(2**size if size <= FEW_COLUMNS else 0, np.nan)
            if self.replicas is None
            else self.replicas.memory,
        )
        self._is_placed = True

    def advance(self, rng: np.random.Generator, marginal: Marginal) -> int:
        """Move replicas and, at the end of a round, let neighbours exchange; count round trips."""
        replicas = self.replicas
        everything = self.is_new or self._is_placed
        number = replicas.powers.size
        last = number if everything else min(self._next + self._at_once, number)
        turn = Turn(
            round=self._round,
            first=self._next,
            last=last,
            cold=self._iteration % 2 == 0,
            everything=everything,
            forgets=self.is_new,
            swaps=self._swaps(marginal, replicas.states[0].sum()),
            cold_swaps=self._cold_swaps,
        )
        advance = advance_common if self.given_noise else advance_integrated
        trips = advance(rng, turn, replicas, marginal, self._reference)
        self.is_new = self._is_placed = False
        self._iteration += 1
        self._next = last
        if last == number:
            self._round, self._next = self._round + 1, 0
        self._sizes += (replicas.states[0].sum(), 1.0)
        return int(trips)

    def _swaps(self, marginal: Marginal, size: int) -> int:
        if not self.given_noise:
            return marginal.log_odds.size
        return int(min(size, MOST_SWAPS)) if self.fixed_size else SWAPS

    def _set_pace(self, marginal: Marginal, size: float) -> None:
        """Find how many replicas move in one iteration, for sets of a typical size."""
        columns, targets = marginal.cross.shape
        blocks = marginal.block_pattern.size
        swaps = self._swaps(marginal, int(size))
        if self.given_noise:
            score = columns * (0.5 * blocks * size**2 + targets * size)
            work = score * (swaps + (not self.fixed_size)) + 5 * blocks * size**3
            # What the chain is offered should not be what it was offered last time.
            self._cold_swaps = int(
                np.clip(MOST_WORK / max(score, 1.0), swaps, min(size, MOST_SWAPS))
            )
        elif columns <= FEW_COLUMNS:
            work = 0.0
        else:
            # A spectrum for each pattern, and some 40 points for each noise variance.
            scored = swaps + columns * (not self.fixed_size)
            work = scored * (5 * marginal.grams.shape[2] * size**3 + targets * size * (size + 40))
        # Of those whose turn it is, every other one moves.
        self._at_once = 2 * max(1, int(MOST_WORK / max(work, 1.0)))

    @property
    def offers_exchange(self) -> bool:
        """Whether it is the chain's turn, after an iteration with odd pairs."""
        return self._iteration % 2 == 0

    def exchange(self, state: NDArray[np.int64], log_variance: float) -> None:
        """Leave the state of the chain to the first replica."""
        replicas = self.replicas
        replicas.states[0] = state
        replicas.log_variances[0] = log_variance
        replicas.known[0] = 0
        replicas.fresh[0], self.chain_is_fresh = self.chain_is_fresh, replicas.fresh[0]

    def learn_bias(self, state: NDArray[np.int64], log_ratio: float, accepted: bool) -> None:
        """While tuning: note what an offer, before it is carried out, says of the bias."""
        difference = int(self.replicas.states[0].sum() - state.sum())
        # The first states of a chain are anywhere and their weights say nothing.
        if self._has_exchanged and difference != 0 and np.isfinite(log_ratio):
            self._slopes.append(log_ratio / difference + self.bias)
        self._has_exchanged = self._has_exchanged or accepted

    def move_beside(self, rng: np.random.Generator, state, variances, marginal) -> None:
        """Move a set as the first replica does, but reversibly, in place."""
        if self.given_noise:
            backwards = rng.random() < 0.5
            move_beside(rng, backwards, state, variances, marginal, self._reference)
        else:
            swap_beside(rng, marginal.log_odds.size, state, marginal, self._reference)

    def adapt(self, marginal: Marginal) -> bool:
        """While tuning: place powers so that all neighbours exchange equally often.

        The rejection rates add up along the ladder to a barrier Λ that hardly depends on where the
        powers are; 2Λ + 1 of them, at equal parts of it, make the most round trips for their cost
        (Syed et al. 2022). Returns whether anything changed, at the end of a window.
        """
        self._left -= 1
        if self._left > 0 or not self.tempered:
            return False
        replicas = self.replicas
        self._window *= 2
        self._left = self._window
        rates = replicas.rejections[:-1] / np.maximum(replicas.visits[:-1], 1)
        barrier = np.append(0.0, np.cumsum(rates + 1e-6))
        number = int(np.clip(np.ceil(2 * barrier[-1]) + 1, FEWEST_RUNGS, MOST_RUNGS))
        powers = np.interp(np.linspace(0, barrier[-1], number), barrier, replicas.powers)
        powers[0], powers[-1] = 1.0, 0.0
        nearest = np.abs(powers[:, None] - replicas.powers).argmin(axis=1)
        finite = np.isfinite(marginal.log_odds).sum()
        size = self._sizes[0] / self._sizes[1]
        self._set_reference(marginal, size, finite)
        self._set_pace(marginal, size)
        if len(self._slopes) >= FEWEST_SLOPES:
            self.bias = float(np.median(self._slopes))
        self._slopes = []
        self._sizes[:] = 0.0
        self._next = 0
        self._place(
            *(powers, replicas.states[nearest], replicas.log_variances[nearest]),
            replicas.targets.shape[1],
        )
        return True
