"""The constructors: a table's columns selected, and the paper's models, GBT and GBTN."""

from pymc_bid.building import build_model
from pymc_bid.inputs import read_switch


def column_selection(
    A,
    k=None,
    *,
    standardize=True,
    include=(),
    exclude=(),
    expected=None,
    inclusion=None,
    noise="column",
    bounds=(-1.0, 1.0),
    missing="mask",
    hierarchical=False,
    alpha_sigma=1.0,
    beta_sigma=1.0,
    **prior,
):
    """Few columns of a table that explain all the others: the model for a table as it comes.

    Chosen columns have a density of their own, and the others are mixtures of them, each with noise
    of its own:

        a_j ~ Normal(0, ω_j²)                       for chosen columns j
        a_l ~ Normal(Σ_{j chosen} a_j y_jl, σ_l²)   for the others

    where a_1, a_2, … are the columns of A less their means, in units of their standard deviations.

    Parameters
    ----------
    A : array_like, pandas.DataFrame, xarray.DataArray or CompressedMatrix
        The table, in any units; labels become coords. Constant columns are left out, with a
        warning.
    k : int, optional
        Number of columns to choose, those of `include` among them. None leaves it to the data, any
        number being as probable as any other before.
    standardize : bool
        Whether columns are centred and scaled. The model holds what was subtracted as the data
        `center`, and what each column was divided by as `scale`. False is for a table whose units
        mean something, centred and with variances not far from 1.
    include, exclude : sequence
        Columns that are always chosen, such as those that one has already, and columns that never
        are, by their labels, or by their positions where there are none. What is excluded is still
        to be explained.
    expected : float, optional
        How many columns there are on average before the data, those of `include` among them. The
        prior is beta-binomial with the smaller parameter 1, as wide as that allows.
    inclusion : float, array or PyMC variable, optional
        Prior probability of each column being chosen, in place of a prior of how many there are.
    noise : {"column", "common"}
        One noise variance for each column, or one for all.
    bounds : pair of float, array or None, optional
        Bounds of the weights, see `gbt`. Of standardised columns a weight is how many of its
        standard deviations a column changes with one of a chosen column's. Where one column
        explains another that is their correlation, which never leaves (-1, 1). Where several do,
        and are correlated with each other, the best weights may be larger, and (-1, 1) rules out
        what explains by differences of columns that are nearly the same.
    missing : {"mask", "zero", None}
        What missing entries stand for. "mask": nothing, they have no likelihood. "zero": the mean
        of their column if `standardize`, else 0, as observed as any other. None: an error.
    hierarchical : bool
        Whether each weight has a mean and a precision of its own, as in `gbtn`.
    alpha_sigma, beta_sigma : float, array or PyMC variable
        Shape and scale of the prior of the noise variances. By default that of the chosen columns'
        variances, so that a column which nobody explains has the same density whether it is chosen
        or not. The paper's shape of 0.1, as vague as a prior can be, would count against every
        column that is left to be explained, and with few rows all would be chosen.
    **prior
        Any other number of the prior by its name in `gbt`, or in `gbtn` if `hierarchical`.

    Returns
    -------
    pymc.Model
        With the variables of `gbt` and `identity=True`; with the data `center` and `scale` (dims
        `column`) if `standardize`, and with the data `constant_value` (dims `constant`) if there
        are constant columns. Without labels, columns are called by their positions in A.

    Examples
    --------
    >>> table = A.assign(fahrenheit=32 + 1.8 * A["c00"])
    >>> with bid.column_selection(table, k=2) as model:
    ...     idata = pm.sample(50, tune=50, chains=1, progressbar=False, random_seed=1)
    >>> [name for name in ("center", "scale") if name in idata["constant_data"]]
    ['center', 'scale']
    """
    known = dict((gbtn if read_switch(hierarchical, "hierarchical") else gbt).__kwdefaults__)
    chosen = {"inclusion": inclusion, "include": include, "exclude": exclude}
    known |= {"alpha_sigma": alpha_sigma, "beta_sigma": beta_sigma}
    numbers = set(known) - {"pool", "bounds", "identity", "missing", "noise", *chosen}
    for name in set(prior) - numbers:
        raise TypeError(
            f"column_selection has no argument {name}; numbers of its prior are "
            f"{', '.join(sorted(numbers))}."
        )
    known |= {"bounds": bounds, "missing": missing, "noise": noise, "identity": True}
    own = {"k": k, "expected": expected, "standardize": standardize, "raw": True}
    return build_model(A=A, **known | chosen | own | prior)


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
    inclusion=None,
    include=(),
    exclude=(),
    identity=False,
    own_mean=0.0,
    alpha_omega=1.0,
    beta_omega=1.0,
    missing=None,
    noise="common",
):
    """Bayesian interpolative decomposition as in the paper: GBT.

    Gaussian likelihood, Beta-Bernoulli state vector, truncated normal weights.

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
    inclusion : float, array or PyMC variable, optional
        Prior probability of each column being chosen, 1/2 if not given; only if k is None.
    include, exclude : sequence
        Columns that are always chosen, and that never are, by their labels in the pool, or by their
        positions where there are none. What is excluded is still to be explained.
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
    return build_model(**locals())


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
    inclusion=None,
    include=(),
    exclude=(),
    identity=False,
    own_mean=0.0,
    alpha_omega=1.0,
    beta_omega=1.0,
    missing=None,
    noise="common",
):
    """Bayesian interpolative decomposition with a hierarchical prior on the weights: GBTN.

    GBT with the normal-gamma hyperprior.

    As `gbt`, but with a mean and a precision for each weight,

        (μ_kl, τ_kl) ~ GTNSNG(μ_μ, τ_μ, α_t, β_t),

    see `pymc_bid.GTNSNG`.

    Parameters
    ----------
    A, k, pool, bounds, alpha_sigma, beta_sigma, inclusion, include, exclude, identity, own_mean, \
    alpha_omega, beta_omega, missing, noise
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
    return build_model(**locals())
