"""The best set of each size that can be found, by its evidence."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.evidence import SetsOfModel

PATIENCE = 3
"""Sizes in a row without a better set after which no larger ones are looked at."""
STARTS = 3
"""First columns that searches start from. Of 300 best sets (30 matrices of 9 columns, 3 planted,
all sizes) one start misses 16, by up to 10.9 in log evidence, and three miss 7, by up to 2.7."""

State = NDArray[np.int64]


class Found(NamedTuple):
    """A set, and the log of its evidence times its prior."""

    value: float
    state: State


class BestSets:
    """The best sets found so far, of each size; as many more are looked at as are asked for.

    From each of the best single columns a search goes on to larger sets: it takes in the column
    that raises the evidence most, and changes one column for another as long as that raises it.
    Searches that meet become one. What is better with one column less is kept as well.
    """

    def __init__(self, sets: SetsOfModel):
        self._sets = sets
        self._known: dict[bytes, float] = {}
        self.best: dict[int, Found] = {}
        start = (sets.log_odds == np.inf).astype(np.int64)
        self._may_change = np.flatnonzero(np.isfinite(sets.log_odds))
        self._first = self._measure(start)
        self._searches: list[Found] | None = None
        # How large the sets are that searches have come to; `best` may have others, learned ones.
        self._reached = int(start.sum())
        self._largest = self._reached + self._may_change.size
        self._take(self._first)

    def of_size(self, size: int) -> Found | None:
        """Return the best set of a size, None if the prior rules all of them out."""
        while self._reached < size <= self._largest and self._grow():
            pass
        return self.best.get(size)

    def best_of_all(self) -> Found | None:
        """Return the best set of any size; larger ones are looked at until nothing is gained."""
        while self._best_size() > self._reached - PATIENCE and self._grow():
            pass
        return self.best.get(self._best_size())

    def learn(self, states: Iterable[State]) -> None:
        """Take sets that came from elsewhere, from draws say, if they are better."""
        for state in states:
            self._take(self._measure(state))

    def _best_size(self) -> int:
        return max(self.best, key=lambda size: self.best[size].value, default=self._largest)

    def _grow(self) -> bool:
        """Look at sets with one column more; False if there are none."""
        if self._searches is None:
            grown = self._best_of(self._larger(self._first.state), STARTS)
        else:
            larger = [self._best_of(self._larger(found.state), 1) for found in self._searches]
            grown = [self._exchange(found) for one in larger for found in one]
        self._searches = list({found.state.tobytes(): found for found in grown}.values())
        self._reached += 1
        for found in self._searches:
            self._take(found)
            smaller = self._best_of(self._smaller(found.state), 1)
            while smaller and self._is_better(smaller[0]):
                self._take(self._exchange(smaller[0]))
                smaller = self._best_of(self._smaller(smaller[0].state), 1)
        return bool(self._searches)

    def _exchange(self, found: Found) -> Found:
        """Change one column for another as long as that makes the set better."""
        better = [found]
        while better:
            found = better[0]
            # By more than rounding.
            least = found.value + 1e-9 * abs(found.value) if np.isfinite(found.value) else -np.inf
            better = self._best_of(self._exchanged(found.state), 1, least)
        return found

    def _take(self, found: Found) -> None:
        if self._is_better(found):
            self.best[int(found.state.sum())] = found

    def _is_better(self, found: Found) -> bool:
        """Whether no set of this size is known that is as good, and the prior allows this one."""
        known = self.best.get(int(found.state.sum()))
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
        key = state.astype(np.bool_).tobytes()
        if key not in self._known:
            value = self._sets.without_bounds(state)
            self._known[key] = value + self._sets.log_prior(state)
        return self._known[key]

    def _measure(self, state: State) -> Found:
        return Found(self._sets.with_bounds(state) + self._sets.log_prior(state), state)

    def _larger(self, state: State) -> Iterator[State]:
        return (_changed(state, [column]) for column in self._out(state))

    def _smaller(self, state: State) -> Iterator[State]:
        return (_changed(state, [column]) for column in self._in(state))

    def _exchanged(self, state: State) -> Iterator[State]:
        pairs = product(self._in(state), self._out(state))
        return (_changed(state, [column, other]) for column, other in pairs)

    def _in(self, state: State) -> NDArray[np.int64]:
        return self._may_change[state[self._may_change] == 1]

    def _out(self, state: State) -> NDArray[np.int64]:
        return self._may_change[state[self._may_change] == 0]


def _changed(state: State, columns: list[int]) -> State:
    changed = state.copy()
    changed[columns] ^= 1
    return changed
