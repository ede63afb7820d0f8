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
    read_bounds,
    read_count,
    read_matrix,
    read_positive,
    read_probability,
    read_real,
)

NOISE = ("common", "column")


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
    model, lower, upper, shape = _start(
        A, k, pool, bounds, alpha_sigma, beta_sigma, inclusion, missing, noise
    )
    _add_own_density(model, identity, own_mean, alpha_omega, beta_omega)
    mu, tau = _read(read_real, mu, "mu"), _read(read_positive, tau, "tau")
    for name, value in (("mu", mu), ("tau", tau)):
        _check_broadcast(name, value, shape)
    return _finish(model, mu, tau, lower, upper)


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
    model, lower, upper, _ = _start(
        A, k, pool, bounds, alpha_sigma, beta_sigma, inclusion, missing, noise
    )
    _add_own_density(model, identity, own_mean, alpha_omega, beta_omega)
    with model:
        model.add_coord(*_dims(model, "hyperparameter"), ["mu", "tau"])
        mu_tau = GTNSNG(
            "mu_tau",
            mu_mu=_read(read_real, mu_mu, "mu_mu"),
            tau_mu=_read(read_positive, tau_mu, "tau_mu"),
            alpha_t=_read(read_positive, alpha_t, "alpha_t"),
            beta_t=_read(read_positive, beta_t, "beta_t"),
            lower=lower,
            upper=upper,
            dims=_dims(model, "basis", "column", "hyperparameter"),
        )
    return _finish(model, mu_tau[..., 0], mu_tau[..., 1], lower, upper)


def _start(A, k, pool, bounds, alpha_sigma, beta_sigma, inclusion, missing, noise):
    """Return a model with data, state vector and noise variance, and what the weights need."""
    target = read_matrix(A, "A", missing)
    candidates = target if pool is None else read_matrix(pool, "pool", missing)
    rows, columns = target.values.shape
    size = candidates.values.shape[1]
    if pool is not None and (target.compressed or candidates.compressed):
        raise TypeError(
            "A or pool is compressed; they can't be compressed apart, for both have to be "
            "transformed alike. Pass both as they are."
        )
    if candidates.values.shape[0] != rows:
        raise ValueError(
            f"pool has {candidates.values.shape[0]} rows, A has {rows}; they must be the same."
        )
    labelled = target.rows is not None and candidates.rows is not None
    if labelled and not np.array_equal(target.rows, candidates.rows):
        raise ValueError("The row labels of pool and A differ; align them first.")
    k = read_count(k, size)
    if noise not in NOISE:
        raise ValueError(f"noise must be one of {NOISE}, got {noise!r}.")
    lower, upper = read_bounds(bounds)
    for name, value in (("lower bounds", lower), ("upper bounds", upper)):
        _check_broadcast(name, value, (size, columns))
    inclusion = _read(read_probability, inclusion, "inclusion")
    _check_broadcast("inclusion", inclusion, (size,))

    coords = {
        "row": _labels(target.rows, rows),
        "column": _labels(target.columns, columns),
        "basis": _labels(candidates.columns, size),
    }
    context = pm.Model.get_context(error_if_none=False)
    with pm.Model() if context is None else context as model:
        model.add_coords(dict(zip(_dims(model, *coords), coords.values(), strict=True)))
        pm.Data("target", target.values, dims=_dims(model, "row", "column"))
        if target.compressed:
            pm.Data(ROWS, target.number_of_rows)
        if target.observed is not None:
            observed = target.observed.astype(np.float64)
            pm.Data(OBSERVED, observed, dims=_dims(model, "row", "column"))
            pm.Data("entries", target.values[target.observed])
        if pool is not None:
            pm.Data("pool", candidates.values, dims=_dims(model, "row", "basis"))
        # A state vector starts from a draw, so that a sampler that is stuck shows in R-hat. No
        # transforms: our steps do not need them, and they would store everything twice.
        chosen = {"p": inclusion} if k is None else {"k": k}
        state = StateVector("r", n=size, dims=_dims(model, "basis"), **chosen)
        pm.Deterministic("K", state.sum())
        pm.InverseGamma(
            "sigma2",
            alpha=_read(read_positive, alpha_sigma, "alpha_sigma"),
            beta=_read(read_positive, beta_sigma, "beta_sigma"),
            dims=_dims(model, "column") if noise == "column" else None,
            default_transform=None,
        )
    return model, lower, upper, (size, columns)


def _add_own_density(model, identity, own_mean, alpha_omega, beta_omega):
    """Add what the chosen columns' own density needs, if they are to have one."""
    if not identity:
        return
    if _has(model, "pool"):
        raise ValueError(
            "identity=True is for a matrix decomposed by its own columns; leave out pool, or "
            "identity."
        )
    own_mean = read_real(own_mean, "own_mean")
    (basis,) = _dims(model, "basis")
    columns = len(model.coords[basis])
    _check_broadcast("own_mean", own_mean, (columns,))
    with model:
        pm.Data("own_mean", np.broadcast_to(own_mean, (columns,)), dims=basis)
        pm.InverseGamma(
            "omega2",
            alpha=read_positive(alpha_omega, "alpha_omega"),
            beta=read_positive(beta_omega, "beta_omega"),
            dims=basis,
            default_transform=None,
        )


def _finish(model, mean, precision, lower, upper):
    """Add the weights, with one prior or another, and the likelihood."""
    unbounded = [bool(np.isinf(bound).all()) for bound in (lower, upper)]
    with model:
        if all(unbounded):
            weights = pm.Normal("Y", mu=mean, tau=precision, dims=_dims(model, "basis", "column"))
        else:
            weights = pm.TruncatedNormal(
                "Y",
                mu=mean,
                tau=precision,
                lower=None if unbounded[0] else lower,
                upper=None if unbounded[1] else upper,
                dims=_dims(model, "basis", "column"),
                default_transform=None,
            )
        observed = {"observed": model["target"], "dims": _dims(model, "row", "column")}
        sigma = pt.sqrt(model["sigma2"])
        rows = model[ROWS] if _has(model, ROWS) else None
        if _has(model, "omega2"):
            omega = pt.sqrt(model["omega2"])
            mean = model["own_mean"]
            if rows is not None:
                # What compression makes of a column of ones.
                first = np.arange(len(model.coords[model.name_for("row")])) == 0
                mean = first[:, None] * pt.sqrt(rows) * mean
            precision = model[OBSERVED] if _has(model, OBSERVED) else 1.0
            scales = (sigma, omega, mean)
            options = {"precision": precision, "rows": rows, **observed}
            Interpolation("A", model["r"], weights, *scales, **options)
        else:
            pool = model["pool"] if _has(model, "pool") else model["target"]
            fitted = (pool * model["r"]) @ weights
            if _has(model, OBSERVED):
                places = model[OBSERVED].nonzero()
                sigma = sigma if model["sigma2"].ndim == 0 else sigma[places[1]]
                pm.Normal("A", mu=fitted[places], sigma=sigma, observed=model["entries"])
            elif rows is None:
                pm.Normal("A", mu=fitted, sigma=sigma, **observed)
            else:
                CompressedNormal("A", fitted, sigma, rows, **observed)
    remember(model.root)
    return model


def _dims(model, *names):
    """Return the names of dims in a model, which has a prefix if it has a name."""
    return tuple(model.name_for(name) for name in names)


def _has(model, name):
    return model.name_for(name) in model.named_vars


def _read(check, value, name):
    """Return a number or array that was checked, or a variable as it is."""
    return value if isinstance(value, Variable) else check(value, name)


def _labels(labels, length):
    return np.arange(length) if labels is None else labels


def _check_broadcast(name, value, shape):
    if isinstance(value, Variable):
        return
    try:
        np.broadcast_to(value, shape)
    except ValueError as error:
        raise ValueError(f"{name} has shape {value.shape}, which does not fit {shape}.") from error
