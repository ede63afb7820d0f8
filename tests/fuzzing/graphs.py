"""Graphs written by hand, some of them decompositions."""

import warnings
from typing import NamedTuple

import numpy as np
import pymc as pm
from hypothesis import strategies as st

import pymc_bid as bid

ROWS, SIZE = 7, 3
A = np.random.default_rng(1).normal(size=(ROWS, SIZE))
GAPS = np.where(np.random.default_rng(2).random(A.shape) < 0.2, np.nan, A)
GROUPS = np.array([0, 0, 1])

STATES = {
    "coins": lambda: pm.Bernoulli("r", 0.5, shape=SIZE),
    "coins with odds": lambda: pm.Bernoulli("r", logit_p=np.array([-1.0, 0.0, 300.0])),
    "forced": lambda: pm.Bernoulli("r", p=np.array([0.0, 1.0, 0.5])),
    "biased coins": lambda: pm.Bernoulli("r", pm.Beta("share", 1, 1), shape=SIZE),
    "groups": lambda: pm.Bernoulli("r", pm.Beta("share", 1, 1, shape=2)[GROUPS]),
    "two": lambda: bid.StateVector("r", k=2, n=SIZE),
    "any number": lambda: bid.StateVector("r", alpha=1.0, beta=2.0, n=SIZE),
    "no prior": lambda: pm.Bernoulli("r", pm.Normal("share"), shape=SIZE),
    "binomial": lambda: pm.Binomial("r", 1, 0.5, shape=SIZE),
    "counts": lambda: pm.Poisson("r", 1.0, shape=SIZE),
    "one coin": lambda: pm.Bernoulli("r", 0.5),
    "matrix": lambda: pm.Bernoulli("r", 0.5, shape=(SIZE, SIZE)),
    "too many": lambda: pm.Bernoulli("r", 0.5, shape=SIZE + 1),
    "data": lambda: pm.Data("r", np.array([1, 0, 1])),
    "data that do not fit": lambda: pm.Data("r", np.array([2, 0, 1])),
    "fractions": lambda: pm.Beta("r", 1, 1, shape=SIZE),
}
SHAPE = {"shape": (SIZE, SIZE)}
WEIGHTS = {
    "truncated": lambda: pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, **SHAPE),
    "no transform": lambda: pm.TruncatedNormal(
        "Y", 0, 1, lower=-1, upper=1, default_transform=None, **SHAPE
    ),
    "one-sided": lambda: pm.TruncatedNormal("Y", 0.3, 2, lower=0, **SHAPE),
    "far off": lambda: pm.TruncatedNormal("Y", -30, 1, lower=-1, upper=1, **SHAPE),
    "narrow": lambda: pm.TruncatedNormal("Y", 0, 1e-6, lower=-1, upper=1, **SHAPE),
    "bounds turned round": lambda: pm.TruncatedNormal("Y", 0, 1, lower=1, upper=-1, **SHAPE),
    "normal": lambda: pm.Normal("Y", 0, 1, **SHAPE),
    "random scale": lambda: pm.Normal("Y", 0, pm.HalfNormal("spread"), **SHAPE),
    "random bounds": lambda: pm.TruncatedNormal(
        "Y", 0, 1, lower=-1, upper=pm.Exponential("bound", 1.0), **SHAPE
    ),
    "hierarchical": lambda: _hierarchical(),
    "uniform": lambda: pm.Uniform("Y", -1, 1, **SHAPE),
    "laplace": lambda: pm.Laplace("Y", 0, 1, **SHAPE),
    "vector": lambda: pm.Normal("Y", 0, 1, shape=SIZE),
    "wide": lambda: pm.Normal("Y", 0, 1, shape=(SIZE, SIZE + 1)),
}
NOISE = {
    "variance": lambda: pm.math.sqrt(pm.InverseGamma("sigma2", 1, 1)),
    "variances": lambda: pm.math.sqrt(pm.InverseGamma("sigma2", 1, 1, shape=SIZE)),
    "of rows": lambda: pm.math.sqrt(pm.InverseGamma("sigma2", 1, 1, shape=(ROWS, 1))),
    "with factors": lambda: (
        np.linspace(1, 2, ROWS)[:, None] * pm.math.sqrt(pm.InverseGamma("sigma2", 1, 1))
    ),
    "factor zero": lambda: np.array([0.0, 1, 1]) * pm.math.sqrt(pm.InverseGamma("sigma2", 1, 1)),
    "vague": lambda: pm.math.sqrt(pm.InverseGamma("sigma2", 1e-3, 1e-3)),
    "scale": lambda: pm.HalfNormal("sigma"),
    "precision": lambda: pm.Gamma("tau", 1, 1) ** -0.5,
    "variance itself": lambda: pm.InverseGamma("sigma2", 1, 1),
    "known": lambda: 0.5,
    "known entries": lambda: np.linspace(0.5, 1, ROWS * SIZE).reshape(ROWS, SIZE),
    "tiny": lambda: 1e-150,
    "negative": lambda: -1.0,
    "nan": lambda: np.nan,
}
MEANS = {
    "columns": lambda r, Y: (A * r) @ Y,
    "rows of weights": lambda r, Y: A @ (r[:, None] * Y),
    "switched": lambda r, Y: A @ pm.math.switch(pm.math.eq(r, 1)[:, None], Y, 0.0),
    "transposed": lambda r, Y: ((Y * r[:, None]).T @ A.T).T,
    "offset": lambda r, Y: (A * r) @ Y + 1.0,
    "twice": lambda r, Y: 2 * (A * r) @ Y,
    "squared": lambda r, Y: (A * r**2) @ Y,
    "turned round": lambda r, Y: (A * (1 - r)) @ Y,
    "squared weights": lambda r, Y: (A * r) @ Y**2,
    "without r": lambda r, Y: A @ Y,
    "without Y": lambda r, Y: A * r,
    "identity": lambda r, Y: pm.math.where(r, 0.0, (A * r) @ Y),
}
LIKELIHOODS = {
    "normal": lambda mean, sigma: pm.Normal("A", mean, sigma, observed=A),
    "data": lambda mean, sigma: pm.Normal("A", mean, sigma, observed=pm.Data("target", A)),
    "entries": lambda mean, sigma: pm.Normal("A", mean[_KNOWN], sigma, observed=A[_KNOWN]),
    "gaps": lambda mean, sigma: pm.Normal("A", mean, sigma, observed=GAPS),
    "far": lambda mean, sigma: pm.Normal("A", mean, sigma, observed=A + 1e12),
    "huge": lambda mean, sigma: pm.Normal("A", mean, sigma, observed=A * 1e200),
    "heavy": lambda mean, sigma: pm.StudentT("A", 3, mean, sigma, observed=A),
    "not observed": lambda mean, sigma: pm.Normal("A", mean, sigma),
}
BESIDE = {
    "nothing": lambda r, Y: None,
    "child of r": lambda r, Y: pm.Normal("beside", r.sum(), 1, observed=0.0),
    "child of Y": lambda r, Y: pm.Normal("beside", Y.sum(), 1, observed=0.0),
    "potential of r": lambda r, Y: pm.Potential("beside", -0.5 * r.sum()),
    "potential of Y": lambda r, Y: pm.Potential("beside", -0.5 * (Y**2).sum()),
}
_KNOWN = np.isfinite(GAPS).nonzero()


class Graph(NamedTuple):
    """A recipe of a model."""

    state: str
    weights: str
    noise: str
    mean: str
    likelihood: str
    beside: str

    def build(self) -> pm.Model | None:
        """Return the model, None where PyMC does not make one of it."""
        try:
            with warnings.catch_warnings(), pm.Model() as model:
                warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
                r, Y = STATES[self.state](), WEIGHTS[self.weights]()
                LIKELIHOODS[self.likelihood](MEANS[self.mean](r, Y), NOISE[self.noise]())
                BESIDE[self.beside](r, Y)
        except (TypeError, ValueError, IndexError):
            return None
        return model


def _hierarchical():
    hyper = bid.GTNSNG("mu_tau", lower=-1, upper=1, shape=(SIZE, SIZE, 2))
    return pm.TruncatedNormal("Y", hyper[..., 0], tau=hyper[..., 1], lower=-1, upper=1)


def _mostly_first(parts):
    first, *_ = parts
    return st.one_of(st.just(first), st.sampled_from(tuple(parts)))


def graphs():
    """Draw a graph; most of its parts are what a decomposition has."""
    parts = (STATES, WEIGHTS, NOISE, MEANS, LIKELIHOODS, BESIDE)
    return st.tuples(*map(_mostly_first, parts)).map(lambda names: Graph(*names))
