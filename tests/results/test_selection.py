"""Sets are counted up to an exchange of interchangeable columns."""

import numpy as np
import pytest

from pymc_bid.results.selection import count_sets, find_groups


def states(*sets, columns=6):
    flat = np.zeros((1, len(sets), columns), dtype=bool)
    for draw, chosen in enumerate(sets):
        flat[0, draw, list(chosen)] = True
    return flat


def test_without_groups_sets_are_counted_as_they_are():
    found = count_sets(states([0, 1], [2], [0, 1], [], [2], [0, 1]))
    assert found.visits.tolist() == [3, 2, 1]
    assert found.member.tolist() == [[0, 1, 0, 2, 1, 0]]
    assert [np.flatnonzero(s).tolist() for s in found.states] == [[0, 1], [2], []]


def test_an_exchange_within_a_group_is_the_same_set():
    draws = states([0, 4], [1, 4], [1, 4], [0, 1, 4], [3], [3], [3, 5])
    found = count_sets(draws, [np.array([0, 1])])
    assert found.visits.tolist() == [3, 2, 1, 1]
    assert np.flatnonzero(found.states[0]).tolist() == [1, 4]
    assert found.member[0, :3].tolist() == [0, 0, 0]


def test_of_sets_visited_once_the_nearest_to_all_comes_first():
    found = count_sets(states([0, 1, 2], [0, 1, 3], [0, 1], [4, 5], [0, 1, 2, 3]))
    assert np.flatnonzero(found.states[0]).tolist() == [0, 1]
    assert np.flatnonzero(found.states[-1]).tolist() == [4, 5]


def test_copies_are_a_group_even_if_only_one_was_ever_chosen():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20, 4))
    data[:, 3] = -2.0 * data[:, 0]
    draws = np.zeros((2, 50, 4), dtype=bool)
    draws[..., 0] = True
    found = find_groups(draws, data.T @ data)
    assert [members.tolist() for members in found.members] == [[0, 3]]
    assert found.probability.tolist() == found.expected.tolist() == [1.0]


def test_a_chain_of_similar_columns_is_not_one_group():
    angles = np.deg2rad([0, 10, 22, 32])
    data = np.stack([np.cos(angles), np.sin(angles)])
    draws = np.ones((1, 10, 4), dtype=bool)
    found = find_groups(draws, data.T @ data)
    assert sorted(members.tolist() for members in found.members) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(("times", "number"), [(10, 0), (100, 1)])
def test_a_column_that_is_hardly_ever_chosen_stands_for_nothing(times, number):
    data = np.random.default_rng(0).normal(size=(20, 4))
    draws = np.zeros((1, 1000, 4), dtype=bool)
    draws[0, times:, 0] = True
    draws[0, :times, 1] = True
    assert len(find_groups(draws, data.T @ data).members) == number


def test_independent_columns_are_not_grouped():
    rng = np.random.default_rng(0)
    draws = rng.random((4, 500, 30)) < 0.3
    data = rng.normal(size=(50, 30))
    assert find_groups(draws, data.T @ data).members == []


def test_a_column_of_zeros_is_no_trouble():
    data = np.random.default_rng(0).normal(size=(9, 3))
    data[:, 1] = 0.0
    with np.errstate(all="raise"):
        assert find_groups(np.ones((1, 5, 3), dtype=bool), data.T @ data).members == []
