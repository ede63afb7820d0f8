"""The state vector: which columns are chosen."""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.shape_utils import convert_shape, convert_size
from pytensor.tensor.random.basic import BernoulliRV

from pymc_bid.distributions.subset import RandomSize, Subset, known_value, length_of


class IndependentEntriesRV(BernoulliRV):
    """Bernoulli variables that start from a draw, see `Subset.support_point`."""


independent_entries = IndependentEntriesRV()


class IndependentEntries(pm.Bernoulli):
    """Bernoulli variables in a vector of length n; only the shape and the start are its own."""

    rv_op = independent_entries

    @classmethod
    def dist(cls, p, n=None, *, shape=None, size=None, **kwargs):
        """Create the Bernoulli variable; n may be left to `shape` or to a vector p."""
        p = pt.as_tensor_variable(p)
        shape = convert_shape(shape)
        n = length_of(n, shape)
        if n is None:
            if p.ndim == 0:
                raise ValueError("n is missing: give n, dims or shape along with a single p.")
            n = p.shape[-1]
        elif p.ndim > 0 and p.type.shape[-1] not in (None, 1, known_value(n)):
            raise ValueError(f"p has length {p.type.shape[-1]}, but n is {known_value(n)}.")
        if shape is None:
            batch = p.shape[:-1] if size is None else convert_size(size)
            shape, size = (*batch, n), None
        return super().dist(p=p, shape=shape, size=size, **kwargs)

    def support_point(rv, size, p):
        """Return a draw."""
        return rv


class StateVector:
    r"""State vector: a 0/1 vector that says which columns are chosen.

    A fixed number of ones, uniformly over the subsets of that size,

    .. math:: p(r) = \binom{n}{k}^{-1} \quad \text{if } \textstyle\sum_i r_i = k,

    or a random number K of them, beta-binomial, and uniformly over the subsets of that size,

    .. math:: p(r) = \frac{B(α + K, β + n - K)}{B(α, β)} ,

    the entries having one probability with a beta prior that is integrated out; with α = β = 1 each
    number from 0 to n is as probable as any other. Or independent entries, which is nothing but
    `pymc.Bernoulli`,

    .. math:: p(r) = \prod_i p_i^{r_i} (1 - p_i)^{1 - r_i}.

    Parameters
    ----------
    name : str
        Not for `StateVector.dist`, which makes a variable outside of a model.
    k : tensor_like of int, optional
        Number of ones, from 0 to n. One number for each vector if there are several.
    p : tensor_like of float, optional
        Probability of each entry being one; a single number or a vector, possibly random.
    alpha, beta : tensor_like of float, optional
        Parameters of the beta-binomial number of ones.
    n : int, optional
        Length of the vector. May be left out where dims, shape or a vector p tell it.
    include, exclude : sequence of int, optional
        Entries, counted from 0, that are always one, and always zero; for `k`, which counts those
        included, and for `alpha` and `beta`, which are about the rest. A probability p of 1 or 0
        does the same.
    **kwargs
        As for any PyMC distribution. `shape` ends in n; `size` is the shape of a collection of
        vectors, without n.

    Examples
    --------
    >>> import pymc as pm
    >>> from pymc_bid.distributions import StateVector
    >>> with pm.Model(coords={"column": ["a", "b", "c"]}):
    ...     fixed = StateVector("fixed", k=2, dims="column")
    ...     uniform = StateVector("uniform", alpha=1, beta=1, dims="column", include=[0])
    ...     inclusion = pm.Beta("inclusion", 1, 1)
    ...     free = StateVector("free", p=inclusion, n=3)
    """

    def __new__(cls, name, **parameters):
        """Add the variable to the model of the context."""
        kind, parameters = _kind(**parameters)
        return kind(name, **parameters)

    @classmethod
    def dist(cls, **parameters):
        """Create the variable outside of a model."""
        kind, parameters = _kind(**parameters)
        return kind.dist(**parameters)


def _kind(*, k=None, p=None, alpha=None, beta=None, include=(), exclude=(), **others):
    """Return the distribution that has the parameters given, and these by their names."""
    size = None if alpha is None and beta is None else (alpha, beta)
    given = [
        name for name, value in (("k", k), ("p", p), ("alpha and beta", size)) if value is not None
    ]
    if len(given) != 1:
        raise ValueError(
            "Exactly one of k, p, and alpha and beta must be given, got "
            f"{' as well as '.join(given) or 'none of them'}."
        )
    if p is not None:
        if len(include) or len(exclude):
            raise ValueError(
                "include and exclude are for k, and for alpha and beta; let p be a vector with 1 "
                "and 0 there."
            )
        return IndependentEntries, {"p": p, **others}
    others |= {"include": include, "exclude": exclude}
    if k is not None:
        return Subset, {"k": k, **others}
    if alpha is None or beta is None:
        raise ValueError(f"alpha and beta must both be given, got {alpha} and {beta}.")
    return RandomSize, {"alpha": alpha, "beta": beta, **others}
