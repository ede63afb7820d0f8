"""Column subsets, against looking at all of them with plain least squares."""

from itertools import combinations

import numpy as np
import pytest

from examples.paper.errors import unbounded_error
from examples.paper.subsets import best_columns, exchanged_columns, greedy_columns


def correlated(seed, rows=15, columns=7):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7])
def test_the_best_subset_is_the_best(k):
    data = correlated(k)
    least = min(unbounded_error(data, list(subset)) for subset in combinations(range(7), k))
    found = best_columns(data, k)
    assert found.size == k
    assert unbounded_error(data, found) == pytest.approx(least, abs=1e-12)


def test_copies_count_in_the_error_and_are_not_chosen_twice():
    data = correlated(3)
    some_twice = np.column_stack([data, data[:, 5], data[:, 5], data[:, 5], data[:, 0]])
    subsets = combinations(range(11), 3)
    least = min(unbounded_error(some_twice, list(subset)) for subset in subsets)
    assert unbounded_error(some_twice, best_columns(some_twice, 3)) == pytest.approx(least)


def test_more_columns_than_different_ones_are_filled_up_with_copies():
    data = np.repeat(correlated(1), 2, axis=1)
    assert np.unique(best_columns(data, 9)).size == 9
    assert np.unique(greedy_columns(data, 9)).size == 9


def test_too_many_subsets_are_not_searched():
    assert best_columns(np.random.default_rng(0).normal(size=(20, 60)), 30) is None


def test_exchanges_never_make_the_error_larger_and_end_where_none_helps():
    for seed in range(10):
        data = correlated(seed, columns=9)
        greedy = greedy_columns(data, 4)
        found = exchanged_columns(data, greedy)
        error = unbounded_error(data, found)
        assert error <= unbounded_error(data, greedy) * (1 + 1e-9)
        for place in range(4):
            for column in set(range(9)) - set(found):
                other = found.copy()
                other[place] = column
                assert unbounded_error(data, other) >= error * (1 - 1e-9)


def test_greedy_takes_the_best_column_of_those_left():
    data = correlated(5)
    first, second = greedy_columns(data, 2)
    errors = [unbounded_error(data, [column]) for column in range(7)]
    assert first == np.argmin(errors)
    errors = [unbounded_error(data, [first, column]) for column in range(7)]
    assert second == np.argmin(errors)
