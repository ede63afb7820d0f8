"""A state vector that stands still is spoken of, once, and one that moves is not."""

import warnings

import numpy as np
import pytest
import xarray as xr

import pymc_bid as bid


def result(states, tried=3):
    """States of shape (chain, draw, basis) in the shape of what pm.sample returns."""
    states = np.asarray(states)
    return {
        "posterior": xr.Dataset({"r": (("chain", "draw", "basis"), states)}),
        "sample_stats": xr.Dataset(
            {"bid_flips_tried": (("chain", "draw"), np.full(states.shape[:2], tried))}
        ),
    }


STILL = np.zeros((2, 5, 3), dtype=int)
APART = STILL.copy()
APART[1, :, 0] = 1
MOVING = STILL.copy()
MOVING[0, 3, 1] = 1


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (APART, "hold different columns"),
        (STILL, "hold the same columns"),
        (STILL[:1], "several chains"),
    ],
)
def test_one_warning_for_a_state_that_never_moved(states, message):
    with pytest.warns(UserWarning, match=message) as caught:
        bid.check_state(result(states))
    assert len(caught) == 1


@pytest.mark.parametrize("idata", [result(MOVING), result(STILL, tried=0)])
def test_no_warning_if_it_moved_or_could_not(idata):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bid.check_state(idata)


def test_a_missing_state_is_named():
    with pytest.raises(ValueError, match="no variable 'state'"):
        bid.check_state(result(STILL), state="state")
