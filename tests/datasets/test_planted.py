"""Planted matrices are what they say."""

import numpy as np
import pytest

from pymc_bid.datasets import make_planted


def test_the_planted_columns_explain_the_others():
    planted = make_planted(rows=200, columns=12, rank=4, noise=0.05, seed=3)
    residual = planted.A - planted.A[planted.columns] @ planted.W
    others = [name for name in planted.A.columns if name not in planted.columns]
    assert np.abs(residual[planted.columns]).to_numpy().max() < 1e-12
    assert 0.8 < residual[others].to_numpy().var() / planted.noise_variance < 1.2
    assert np.abs(planted.W.to_numpy()).max() <= 1


def test_a_rank_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="rank must be between 1 and columns = 3"):
        make_planted(columns=3, rank=4)


def test_duplicates_are_exact_copies_with_names_and_weights_of_their_own():
    single = make_planted(rows=20, columns=5, rank=2, seed=3)
    planted = make_planted(rows=20, columns=5, rank=2, duplicates=2, seed=3)
    assert planted.A.shape == (20, 15)
    assert list(planted.A.columns[:4]) == ["c00", "c00 (2)", "c00 (3)", "c01"]
    assert planted.A.columns.is_unique
    for copy in range(3):
        np.testing.assert_array_equal(planted.A.iloc[:, copy::3], single.A)
        np.testing.assert_array_equal(planted.W.iloc[:, copy::3], single.W)
    assert planted.columns == single.columns


@pytest.mark.parametrize("duplicates", [-1, 0.5, True])
def test_a_number_of_duplicates_that_is_none_is_refused(duplicates):
    with pytest.raises(ValueError, match="duplicates must be a whole number, 0 or more"):
        make_planted(duplicates=duplicates)
