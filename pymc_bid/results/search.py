"""The best set of each size that can be found, by its evidence."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.evidence import SetsOfModel

PATIENCE = 3
"""Sizes that are searched beyond the largest one asked for, or beyond the best one: what is found
there with more columns than needed leads to better sets of fewer."""
STARTS = 3
"""First columns that searches grow from."""
TRIES = 2000
"""Sets of a size that are all measured if there are no more; else exchanges tried from random sets.

Against enumeration: up to 10 columns (70 tables: independent, correlated, near copies, gaps, narrow
bounds, forced columns, the paper's model; 673 sizes) nothing is missed, where growing alone missed
48, by up to 27.7 in log evidence. Of planted matrices of 90×15 and rank 3 to 8 (120 of them, 960
sizes) 2 are missed, by up to 1.6; by growing alone 213, by up to 158.1. Of the best sets of any
size 0 of 60 are missed; by growing alone 4, by up to 124.

A curve of eight sizes of these takes 0.5 s of CPU (growing alone 0.03 s), 11 sizes of 30 columns
2.2 s (0.1 s), 13 of 60 columns 5 s (1 s), 15 of 100 columns 11 s, and 22 of breast cancer (569×30)
5.2 s (0.4 s), whose best set is better by 89. Three times as many tries take 2.5 times as long, and
of 54 sizes of four tables of 30 columns two are better then, by 4.7 and 9.6. Of 18 sizes of a
planted 180×60 of rank 15 three sizes are, by up to 65: between the small ones and the planted one
there are many sets that no exchange of one column makes better."""
MOST_RANDOM = 24
"""Random sets of each size at most. With 8 of them 5 of 320 sizes of planted matrices were missed,
with 24 one."""

State = NDArray[np.int64]


class Found(NamedTuple):
    """A set, and the log of its evidence times its prior."""

    value: float
    state: State


class BestSets:
    """The best sets of each size that a search finds; what it finds is read when it has ended.

    In every set columns are replaced, one by one, as long as that makes it better. Sets that are
    searched from are those grown from each of the best single columns, by the column that adds
    most; random ones; and the best of each size with one column more or less, until nothing
    changes any more.
    """

    def __init__(self, sets: SetsOfModel):
        self._sets = sets
        self._limits: dict[bytes, float] = {}
        self._values: dict[bytes, float] = {}
        self._best: dict[int, Found] = {}
        # Sizes whose best set is new, so that those with one column more or less may follow.
        self._changed: set[int] = set()
        self._forced = (sets.log_odds == np.inf).astype(np.int64)
        self._may_change = np.flatnonzero(np.isfinite(sets.log_odds))
        # How large the sets are that the search has come to; learned ones may be larger.
        self._reached = self._least = int(self._forced.sum())
        self._largest = self._least + self._may_change.size
        self._grown = [self._measure(self._forced)]
        self._take(self._grown[0])

    def of_sizes(self, sizes: Iterable[int]) -> dict[int, Found]:
        """Return the best set of each size that a set can have by the prior."""
        possible = [size for size in sizes if self._least <= size <= self._largest]
        if possible:
            self._search(max(possible) + PATIENCE)
        return {size: self._best[size] for size in possible if size in self._best}

    def best_of_all(self) -> Found | None:
        """Return the best set; larger ones are looked at until nothing is gained."""
        if self._sets.fixed_size is not None:
            return self.of_sizes([self._sets.fixed_size]).get(self._sets.fixed_size)
        while self._changed or self._reached < min(self._best_size() + PATIENCE, self._largest):
            self._search(self._best_size() + PATIENCE)
        return self._best.get(self._best_size())

    def learn(self, states: Iterable[State]) -> None:
        """Take sets that came from elsewhere, from draws say, if they are better."""
        for state in states:
            self._take(self._measure(state))

    def _best_size(self) -> int:
        return max(self._best, key=lambda size: self._best[size].value, default=self._largest)

    def _search(self, most: int) -> None:
        """Search sets of all sizes up to `most`."""
        for size in range(self._reached + 1, min(most, self._largest) + 1):
            number = STARTS if size == self._least + 1 else 1
            larger = [self._best_of(self._larger(found.state), number) for found in self._grown]
            grown = [self._improve(found) for one in larger for found in one]
            # Those that meet become one.
            self._grown = list({found.state.tobytes(): found for found in grown}.values())
            for found in [*self._grown, *self._start_anew(size)]:
                self._take(found)
            self._reached = size
        while self._changed:
            best = self._improve(self._best[self._changed.pop()])
            self._take(best)
            for beside in (self._larger(best.state), self._smaller(best.state)):
                for found in self._best_of(beside, 1):
                    if found.state.sum() <= self._reached:
                        self._take(self._improve(found))

    def _start_anew(self, size: int) -> list[Found]:
        """Return what random sets lead to, always the same, or the best of all if they are few."""
        columns, free = self._may_change, size - self._least
        if comb(columns.size, free) <= TRIES:
            every = combinations(columns, free)
            return self._best_of((_changed(self._forced, chosen) for chosen in every), 1)
        number, rng = TRIES // (free * (columns.size - free)), np.random.default_rng(size)
        starts = (
            _changed(self._forced, rng.choice(columns, free, replace=False))
            for _ in range(min(max(number, 1), MOST_RANDOM))
        )
        return [self._improve(self._measure(start)) for start in starts]

    def _improve(self, found: Found) -> Found:
        """Replace one column after the other as long as that makes the set better."""
        before = None
        while found is not before:
            before = found
            for column in self._in(before.state):
                # By more than rounding.
                finite = np.isfinite(found.value)
                least = found.value + 1e-9 * abs(found.value) if finite else -np.inf
                better = self._best_of(self._replaced(found.state, column), 1, least)
                found = better[0] if better else found
        return found

    def _take(self, found: Found) -> None:
        if self._is_better(found):
            self._best[int(found.state.sum())] = found
            self._changed.add(int(found.state.sum()))

    def _is_better(self, found: Found) -> bool:
        """Whether no set of this size is known that is as good, and the prior allows this one."""
        known = self._best.get(int(found.state.sum()))
        return found.value > (-np.inf if known is None else known.value)

    def _best_of(
        self, states: Iterator[State], number: int, least: float | None = None
    ) -> list[Found]:
        """Return the best of some sets, best first, if they are better than `least`.

        Bounds only take away from the evidence, so that they are asked for where it is large enough
        without them.
        """
        limits = ((self._limit(state), state) for state in states)
        found: list[Found] = []
        for limit, state in sorted(limits, key=lambda pair: -pair[0]):
            if len(found) == number:
                least = found[-1].value
            if least is not None and limit <= least:
                break
            measured = self._measure(state)
            if least is None or measured.value > least:
                found = sorted([*found, measured], key=lambda one: -one.value)[:number]
        return found

    def _limit(self, state: State) -> float:
        key = np.packbits(state).tobytes()
        if key not in self._limits:
            value = self._sets.without_bounds(state)
            self._limits[key] = value + self._sets.log_prior(state)
        return self._limits[key]

    def _measure(self, state: State) -> Found:
        key = np.packbits(state).tobytes()
        if key not in self._values:
            value = self._sets.with_bounds(state)
            self._values[key] = value + self._sets.log_prior(state)
        return Found(self._values[key], state)

    def _larger(self, state: State) -> Iterator[State]:
        return (_changed(state, [column]) for column in self._out(state))

    def _smaller(self, state: State) -> Iterator[State]:
        return (_changed(state, [column]) for column in self._in(state))

    def _replaced(self, state: State, column: np.int64) -> Iterator[State]:
        return (_changed(state, [column, other]) for other in self._out(state))

    def _in(self, state: State) -> NDArray[np.int64]:
        return self._may_change[state[self._may_change] == 1]

    def _out(self, state: State) -> NDArray[np.int64]:
        return self._may_change[state[self._may_change] == 0]


def _changed(state: State, columns: Sequence[np.int64] | NDArray[np.int64]) -> State:
    changed = state.copy()
    changed[list(columns)] ^= 1
    return changed
