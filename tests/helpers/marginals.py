"""Marginal models of small matrices, put together by hand or read from a model."""

import numpy as np
from scipy import special

from pymc_bid.graph.decomposition import find_decompositions
from pymc_bid.kernels.types import Marginal
from pymc_bid.steps.marginal import MarginalBuilder


def make_marginal(A, identity, noise, tau=1.0, mu=0.0, held=np.nan):
    """The model of `gbt(A, bounds=None)`, with precision `tau` and mean `mu` of the weights."""
    rows, columns = A.shape
    own, densities = np.empty((columns, 0), np.int64), np.zeros(columns)
    if identity:
        own, squares = np.arange(columns)[:, None], (A**2).sum(axis=0)
        densities = special.gammaln(1 + rows / 2) - (1 + rows / 2) * np.log(1 + squares / 2)
    groups = 1 if noise == "common" else columns
    root = np.sqrt(tau)
    return Marginal(
        grams=(A.T @ A / tau)[None],
        cross=A.T @ A / root,
        squares=(A**2).sum(axis=0),
        rows=np.full(columns, float(rows)),
        block=np.zeros(columns, np.int64) if groups == 1 else np.arange(columns),
        block_start=np.array([0, columns]) if groups == 1 else np.arange(columns + 1),
        block_pattern=np.zeros(groups, np.int64),
        block_group=np.arange(groups),
        group_start=np.arange(groups + 1),
        mean=np.empty((0, columns)) if mu == 0 else np.full((columns, columns), mu * root),
        log_constants=np.zeros((columns, columns)),
        constants=np.full(columns, -0.5 * columns * mu**2 * tau),
        own_targets=own,
        own_groups=own if groups > 1 and np.isnan(held) else own[:, :0],
        own_log_densities=densities,
        log_odds=np.zeros(columns),
        log_sizes=np.zeros(columns + 1),
        # Noise that is held has no prior.
        shape=np.full(groups, 0.1 if np.isnan(held) else 0.0),
        scale=np.full(groups, 1.0 if np.isnan(held) else 0.0),
        held=np.full(groups, held),
        log_unit=0.0,
    )


def masked_marginal(A, observed, identity, noise, held=np.nan):
    """The same, of entries of A that are observed: each target has a Gram matrix of its own."""
    columns = A.shape[1]
    masked = np.where(observed, A, 0.0)
    whole = make_marginal(masked, identity, "column", held=held)
    rows = observed.sum(axis=0)
    marginal = whole._replace(
        grams=np.array([A.T @ (weight[:, None] * A) for weight in observed.T]),
        cross=masked.T @ A,
        rows=rows.astype(float),
        block_pattern=np.arange(columns),
    )
    if identity:
        squares, shape = marginal.squares, 1 + rows / 2
        densities = special.gammaln(shape) - shape * np.log(1 + squares / 2)
        marginal = marginal._replace(own_log_densities=densities)
    if noise == "common":
        marginal = marginal._replace(
            block_group=np.zeros(columns, np.int64),
            group_start=np.array([0, columns]),
            own_groups=whole.own_groups[:, :0],
            shape=whole.shape[:1],
            scale=whole.scale[:1],
            held=whole.held[:1],
        )
    return marginal


def small_matrix(rows, columns=5, seed=0):
    """A matrix whose second column is nearly its first, and whose last is a copy of it."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, columns))
    A[:, 1] = A[:, 0] + 0.01 * rng.normal(size=rows)
    A[:, -1] = A[:, 0]
    return A


def marginal_of(model, noise_is_free=True):
    """The marginal model and the box of the only state vector of a model."""
    joint = find_decompositions(model)[0].joint
    point = model.initial_point()
    builder = MarginalBuilder(joint, noise_is_free)
    return builder.build(point, joint.log_prior_odds(point), joint.proposal_prior(point))
