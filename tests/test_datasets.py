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
