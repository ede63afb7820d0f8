"""The state vector: which columns are chosen."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import binomln, check_parameters
from pymc.distributions.distribution import Discrete
from pymc.distributions.shape_utils import convert_shape, convert_size
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.basic import BernoulliRV
from pytensor.tensor.random.op import RandomVariable

from pymc_bid.kernels.prior.subset import draw_subset


class SubsetRV(RandomVariable):
    """Random 0/1 vector of length n with exactly k ones."""

    name = "subset"
    signature = "(),()->(n)"
    dtype = "int64"
    _print_name = ("StateVector", "\\operatorname{StateVector}")

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (dist_params[1].squeeze(),)

    @classmethod
    def rng_fn(cls, rng, k, n, size=None):
        """Draw with NumPy's generator, the same numbers as compiled by numba."""
        batch = np.broadcast_shapes(np.shape(k), np.shape(n)) if size is None else tuple(size)
        length = np.ravel(n)[0]
        draws = [draw_subset(rng, ones, length) for ones in np.broadcast_to(k, batch).ravel()]
        return np.array(draws, dtype=np.int64).reshape(*batch, length)


subset = SubsetRV()


@numba_core_rv_funcify.register(SubsetRV)
def _compile_subset(op, node):
    @numba_njit
    def random(rng, k, n):
        return draw_subset(rng, k, n)

    # PyTensor keeps compiled functions on disk under this number: raise it when the kernel changes.
    return random, 1


class Subset(Discrete):
    """Uniform distribution over the 0/1 vectors of length n with exactly k ones."""

    rv_op = subset

    @classmethod
    def dist(cls, k, n=None, *, shape=None, **kwargs):
        """Create the random variable; n may be left to the last entry of `shape`."""
        n = _length(n, convert_shape(shape))
        if n is None:
            raise ValueError("n is missing: give n, dims or shape along with k.")
        k = _integer("k", k)
        ones, length = _known_value(k), _known_value(n)
        if ones is not None and np.any(ones < 0):
            raise ValueError(f"k must not be negative, got {ones}.")
        if ones is not None and length is not None and np.any(ones > length):
            raise ValueError(f"k must be at most n = {length}, got {ones}.")
        return super().dist([k, n], shape=shape, **kwargs)

    def support_point(rv, size, k, n):
        """Return a draw: no subset stands for all, and chains should start from different ones.

        Not left to `initval`: PyMC can't transform models that have initial values of their own,
        and does so for the log likelihood.
        """
        return rv

    def logp(value, k, n):
        """Return -log C(n, k) for 0/1 vectors of length n with k ones, else minus infinity."""
        # Small integers would make the logarithm one of single precision.
        k, n = k.astype("int64"), n.astype("int64")
        inside = (
            pt.all(pt.eq(value, 0) | pt.eq(value, 1), axis=-1)
            & pt.eq(pt.sum(value, axis=-1), k)
            & pt.eq(value.shape[-1], n)
        )
        return check_parameters(
            pt.switch(inside, -binomln(n, k), -np.inf), k >= 0, k <= n, msg="0 <= k <= n"
        )


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
        n = _length(n, shape)
        if n is None:
            if p.ndim == 0:
                raise ValueError("n is missing: give n, dims or shape along with a single p.")
            n = p.shape[-1]
        elif p.ndim > 0 and p.type.shape[-1] not in (None, 1, _known_value(n)):
            raise ValueError(f"p has length {p.type.shape[-1]}, but n is {_known_value(n)}.")
        if shape is None:
            batch = p.shape[:-1] if size is None else convert_size(size)
            shape, size = (*batch, n), None
        return super().dist(p=p, shape=shape, size=size, **kwargs)

    def support_point(rv, size, p):
        """Return a draw."""
        return rv


class StateVector:
    r"""State vector: a 0/1 vector that says which columns are chosen.

    Either a fixed number of ones, uniformly over the subsets of that size,

    .. math:: p(r) = \binom{n}{k}^{-1} \quad \text{if } \textstyle\sum_i r_i = k,

    or independent entries, which is nothing but `pymc.Bernoulli`,

    .. math:: p(r) = \prod_i p_i^{r_i} (1 - p_i)^{1 - r_i}.

    Parameters
    ----------
    name : str
        Not for `StateVector.dist`, which makes a variable outside of a model.
    k : tensor_like of int, optional
        Number of ones, from 0 to n. One number for each vector if there are several.
    p : tensor_like of float, optional
        Probability of each entry being one; a single number or a vector, possibly random.
    n : int, optional
        Length of the vector. May be left out where dims, shape or a vector p tell it.
    **kwargs
        As for any PyMC distribution. `shape` ends in n; `size` is the shape of a collection of
        vectors, without n.

    Examples
    --------
    >>> import pymc as pm
    >>> from pymc_bid.distributions import StateVector
    >>> with pm.Model(coords={"column": ["a", "b", "c"]}):
    ...     fixed = StateVector("fixed", k=2, dims="column")
    ...     inclusion = pm.Beta("inclusion", 1, 1)
    ...     free = StateVector("free", p=inclusion, n=3)
    """

    def __new__(cls, name, *, k=None, p=None, n=None, **kwargs):
        """Add the variable to the model of the context."""
        kind, parameter = _kind(k, p)
        return kind(name, **parameter, n=n, **kwargs)

    @classmethod
    def dist(cls, *, k=None, p=None, n=None, **kwargs):
        """Create the variable outside of a model."""
        kind, parameter = _kind(k, p)
        return kind.dist(**parameter, n=n, **kwargs)


def _kind(k, p):
    """Return the distribution that has the parameter given, and the parameter by its name."""
    if (k is None) == (p is None):
        given = "neither" if k is None else "both"
        raise ValueError(f"Exactly one of k and p must be given, got {given}.")
    return (IndependentEntries, {"p": p}) if k is None else (Subset, {"k": k})


def _length(n, shape):
    """Return the length of the vector told by the last entry of `shape`, or else by n, or None."""
    lengths = [_integer("n", n)] if n is not None else []
    if shape is not None:
        lengths.insert(0, _integer("n", shape[-1]))
    if any(length.ndim > 0 for length in lengths):
        raise ValueError(f"n must be a single number, got {n}: all vectors have the same length.")
    known = [int(value) for value in map(_known_value, lengths) if value is not None]
    if len(set(known)) > 1:
        raise ValueError(f"n is {known[1]}, but shape or dims say {known[0]}.")
    if known and known[0] < 1:
        raise ValueError(f"n must be at least 1, got {known[0]}.")
    return lengths[0] if lengths else None


def _integer(name, value):
    # PyTensor would refuse True itself, with another message.
    tensor = pt.as_tensor_variable(np.asarray(value) if isinstance(value, bool) else value)
    if np.dtype(tensor.dtype).kind not in "iu":
        raise ValueError(f"{name} must be an integer, got {value} ({tensor.dtype}).")
    return tensor


def _known_value(tensor):
    """Value of a constant, or the current one of a shared variable (a dim's length); else None."""
    if isinstance(tensor, Constant):
        return tensor.data
    if isinstance(tensor, SharedVariable):
        return tensor.get_value()
    return None
