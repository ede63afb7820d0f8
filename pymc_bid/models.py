"""The paper's models as PyMC graphs: GBT and GBTN, with a fixed or a free number of columns."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_bid.distributions import GTNSNG, CompressedNormal, Interpolation, StateVector
from pymc_bid.graph.decomposition import remember
from pymc_bid.inputs import (
    OBSERVED,
    ROWS,
    Matrix,
    labels_or_numbers,
    read_bounds,
    read_count,
    read_matrix,
    read_numbers,
)

NOISE = ("common", "column")
WEIGHT_PRIOR, HYPERPRIOR = ("mu", "tau"), ("mu_mu", "tau_mu", "alpha_t", "beta_t")
KINDS = {"mu": "finite", "mu_mu": "finite", "own_mean": "finite", "inclusion": "between 0 and 1"}
"""What numbers have to be; all others positive and finite."""


def gbt(
    A,
    k=None,
    *,
    pool=None,
    bounds=(-1.0, 1.0),
    mu=0.0,
    tau=1.0,
    alpha_sigma=0.1,
    beta_sigma=1.0,
    inclusion=0.5,
    identity=False,
    own_mean=0.0,
    alpha_omega=1.0,
    beta_omega=1.0,
    missing=None,
    noise="common",
):
    """Bayesian interpolative decomposition with a truncated normal prior on the weights (GBT).

        a_l ~ Normal(Σ_k r_k b_k y_kl, σ²)        for each column l of A
        y_kl ~ TruncatedNormal(μ, 1/τ) on `bounds`
        σ²  ~ InverseGamma(α_σ, β_σ)
        r   ~ uniform over the subsets of size k, or Bernoulli(`inclusion`) entries if k is None

    where b_k are the columns of the pool, by default of A itself.

    This is the paper's model, in which a chosen column of A interpolates itself, so that every one
    more is rewarded with a perfect fit. With `identity=True` the chosen columns have a density of
    their own, and only the others are interpolated:

        a_j ~ Normal(m_j, ω_j²)                   for chosen columns j
        a_l ~ Normal(Σ_{j chosen} a_j y_jl, σ²)   for the others
        ω_j² ~ InverseGamma(α_ω, β_ω)

    The weights of a chosen column are the identity's by construction, and the number of columns is
    one that the data call for.

    Parameters
    ----------
    A : array_like, pandas.DataFrame, xarray.DataArray or CompressedMatrix
        Matrix to be decomposed; labels become coords. A tall one may be compressed first
        (`pymc_bid.compress`), for the same posterior.
    k : int, optional
        Number of columns to choose. None leaves it to the data (automatic relevance determination).
    pool : array_like, pandas.DataFrame or xarray.DataArray, optional
        Candidate columns, if they are not those of A; the same rows as A.
    bounds : pair of float, array or None, optional
        Bounds of the weights; None in place of a number, or of the pair, for no bound. Arrays
        broadcast to pool × columns.
    mu, tau : float, array or PyMC variable
        Mean and precision of the weights before truncation; arrays broadcast to pool × columns.
    alpha_sigma, beta_sigma : float or PyMC variable
        Shape and scale of the noise variance's prior.
    inclusion : float, array or PyMC variable
        Prior probability of each column being chosen, used if k is None. 0 and 1 force a column
        out or in.
    identity : bool
        Whether chosen columns have a density of their own; not with a pool.
    own_mean : float or array
        Mean m of the chosen columns, one number or one for each column. 0 suits centred data.
    alpha_omega, beta_omega : float
        Shape and scale of the prior of their variances. 1 and 1 have the weight of two rows of
        data, and are meant for columns whose variance is not far from 1.
    missing : {None, "zero", "mask"}
        What entries that are nan, or masked, stand for. None: an error. "zero": 0, as observed as
        any other, the paper's way with standardised data. "mask": nothing; they have no likelihood,
        and where their column interpolates others they are the mean of what is observed in it.
        `pymc_bid.impute` predicts them.
    noise : {"common", "column"}
        One noise variance for all columns, or one for each.

    Returns
    -------
    pymc.Model
        A new one, or, within a model, that model, as with any distribution of PyMC. With the
        variables `r`, `sigma2`, `Y`, the observed `A`, the number of chosen columns `K`,
        and the dims `row`, `column` and `basis` (the pool's columns); also `omega2` with
        `identity=True`.

    Examples
    --------
    >>> with bid.gbt(A, k=2, identity=True) as model:
    ...     idata = pm.sample(50, tune=50, chains=1, progressbar=False, random_seed=1)
    >>> [variable.name for variable in model.free_RVs]
    ['r', 'sigma2', 'omega2', 'Y']
    """
    # All the arguments, by name: they are read where the graph is made.
    return _build_model(**locals())


def gbtn(
    A,
    k=None,
    *,
    pool=None,
    bounds=(-1.0, 1.0),
    mu_mu=0.0,
    tau_mu=0.1,
    alpha_t=1.0,
    beta_t=1.0,
    alpha_sigma=0.1,
    beta_sigma=1.0,
    inclusion=0.5,
    identity=False,
    own_mean=0.0,
    alpha_omega=1.0,
    beta_omega=1.0,
    missing=None,
    noise="common",
):
    """Bayesian interpolative decomposition with a hierarchical prior on the weights (GBTN).

    As `gbt`, but with a mean and a precision for each weight,

        (μ_kl, τ_kl) ~ GTNSNG(μ_μ, τ_μ, α_t, β_t),

    see `pymc_bid.GTNSNG`.

    Parameters
    ----------
    A, k, pool, bounds, alpha_sigma, beta_sigma, inclusion, identity, own_mean, alpha_omega, \
    beta_omega, missing, noise
        As for `gbt`.
    mu_mu, tau_mu : float
        Mean and precision of the normal factor of the hyperprior.
    alpha_t, beta_t : float
        Shape and rate of its gamma factor.

    Returns
    -------
    pymc.Model
        As from `gbt`, with one more variable `mu_tau` (dims `basis`, `column`, `hyperparameter`).

    Examples
    --------
    >>> model = bid.gbtn(A, k=2)
    >>> [variable.name for variable in model.free_RVs]
    ['r', 'sigma2', 'mu_tau', 'Y']
    """
    return _build_model(**locals())


def _build_model(*, A, k, pool, bounds, missing, noise, identity, **numbers):
    """Return the model of `gbt` or `gbtn`, whose arguments these are."""
    target = read_matrix(A, "A", missing)
    candidates = target if pool is None else read_matrix(pool, "pool", missing)
    if pool is not None:
        _check_pool(target, candidates, identity)
    (rows, columns), size = target.values.shape, candidates.values.shape[1]
    k = read_count(k, size)
    if noise not in NOISE:
        raise ValueError(f"noise must be one of {NOISE}, got {noise!r}.")

    lower, upper = read_bounds(bounds, (size, columns))
    shapes = dict.fromkeys(("alpha_sigma", "beta_sigma"), (columns,) if noise == "column" else ())
    shapes |= dict.fromkeys((*WEIGHT_PRIOR, *HYPERPRIOR), (size, columns))
    for name, value in numbers.items():
        kind = KINDS.get(name, "positive and finite")
        # What becomes data can't be a variable of the model.
        if name == "own_mean" or not isinstance(value, Variable):
            numbers[name] = read_numbers(value, name, kind, shapes.get(name, (size,)))
    coords = {
        "row": labels_or_numbers(target.rows, rows),
        "column": labels_or_numbers(target.columns, columns),
        "basis": labels_or_numbers(candidates.columns, size),
    }
    context = pm.Model.get_context(error_if_none=False)
    with pm.Model() if context is None else context as model:

        def dims(*names):
            # A model with a name has it for a prefix.
            return tuple(model.name_for(name) for name in names)

        model.add_coords(dict(zip(dims(*coords), coords.values(), strict=True)))
        data = pm.Data("target", target.values, dims=dims("row", "column"))
        number_of_rows = pm.Data(ROWS, target.number_of_rows) if target.compressed else None
        if target.observed is not None:
            known = target.observed.astype(np.float64)
            known = pm.Data(OBSERVED, known, dims=dims("row", "column"))
            entries = pm.Data("entries", target.values[target.observed])
        # A state vector starts from a draw, so that a sampler that is stuck shows in R-hat. No
        # transforms: our steps do not need them, and they would store everything twice.
        chosen = {"p": numbers["inclusion"]} if k is None else {"k": k}
        state = StateVector("r", n=size, dims=dims("basis"), **chosen)
        pm.Deterministic("K", state.sum())
        sigma2 = pm.InverseGamma(
            "sigma2",
            numbers["alpha_sigma"],
            numbers["beta_sigma"],
            dims=dims("column") if noise == "column" else None,
            default_transform=None,
        )
        if identity:
            own_mean = np.broadcast_to(numbers["own_mean"], (size,))
            own_mean = pm.Data("own_mean", own_mean, dims=dims("basis"))
            omega2 = pm.InverseGamma(
                "omega2",
                numbers["alpha_omega"],
                numbers["beta_omega"],
                dims=dims("basis"),
                default_transform=None,
            )
        if "mu" in numbers:
            mean, precision = (numbers[name] for name in WEIGHT_PRIOR)
        else:
            model.add_coord(*dims("hyperparameter"), ["mu", "tau"])
            mu_tau = GTNSNG(
                "mu_tau",
                **{name: numbers[name] for name in HYPERPRIOR},
                lower=lower,
                upper=upper,
                dims=dims("basis", "column", "hyperparameter"),
            )
            mean, precision = mu_tau[..., 0], mu_tau[..., 1]
        prior = {"mu": mean, "tau": precision, "dims": dims("basis", "column")}
        bounds = [None if np.isinf(bound).all() else bound for bound in (lower, upper)]
        if bounds[0] is None and bounds[1] is None:
            weights = pm.Normal("Y", **prior)
        else:
            prior |= {"lower": bounds[0], "upper": bounds[1], "default_transform": None}
            weights = pm.TruncatedNormal("Y", **prior)
        observed = {"observed": data, "dims": dims("row", "column")}
        sigma = pt.sqrt(sigma2)
        if identity:
            if target.compressed:
                # What compression makes of a column of ones.
                own_mean = (np.arange(rows) == 0)[:, None] * pt.sqrt(number_of_rows) * own_mean
            precision = 1.0 if target.observed is None else known
            options = {"precision": precision, "rows": number_of_rows, **observed}
            Interpolation("A", state, weights, sigma, pt.sqrt(omega2), own_mean, **options)
        else:
            if pool is not None:
                data = pm.Data("pool", candidates.values, dims=dims("row", "basis"))
            fitted = (data * state) @ weights
            if target.observed is not None:
                places = known.nonzero()
                sigma = sigma if noise == "common" else sigma[places[1]]
                pm.Normal("A", mu=fitted[places], sigma=sigma, observed=entries)
            elif target.compressed:
                CompressedNormal("A", fitted, sigma, number_of_rows, **observed)
            else:
                pm.Normal("A", mu=fitted, sigma=sigma, **observed)
    remember(model.root)
    return model


def _check_pool(target: Matrix, candidates: Matrix, identity: bool) -> None:
    if identity:
        raise ValueError(
            "identity=True is for a matrix decomposed by its own columns; leave out pool, or "
            "identity."
        )
    if target.compressed or candidates.compressed:
        raise TypeError(
            "A or pool is compressed; they can't be compressed apart, for both have to be "
            "transformed alike. Pass both as they are."
        )
    if len(candidates.values) != len(target.values):
        raise ValueError(
            f"pool has {len(candidates.values)} rows, A has {len(target.values)}; they must be the "
            "same."
        )
    if target.rows is not None and candidates.rows is not None:
        if not np.array_equal(target.rows, candidates.rows):
            raise ValueError("The row labels of pool and A differ; align them first.")
