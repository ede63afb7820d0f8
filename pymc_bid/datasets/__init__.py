"""Matrices with a known answer, and the four data sets of the paper."""

from pymc_bid.datasets.loading import NAMES, load
from pymc_bid.datasets.planted import Planted, make_planted
from pymc_bid.datasets.preparation import prepare

__all__ = ["NAMES", "Planted", "load", "make_planted", "prepare"]
