"""0/1 vectors that are no independent entries: with a given number of ones, or a random one."""

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import betaln, binomln, check_parameters
from pymc.distributions.distribution import Discrete
from pymc.distributions.shape_utils import convert_shape
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable

from pymc_bid.kernels.prior.subset import draw_random_size, draw_subset


class ChoiceRV(RandomVariable):
    """Random 0/1 vector of length n, some entries forced; the last parameters are n and these."""

    dtype = "int64"
    _print_name = ("StateVector", "\\operatorname{StateVector}")

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (dist_params[-3].squeeze(),)

    @classmethod
    def rng_fn(cls, rng, *arguments):
        """Draw with NumPy's generator, the same numbers as compiled by numba."""
        *parameters, n, include, exclude, size = arguments
        batch = np.broadcast_shapes(*map(np.shape, parameters), np.shape(n))
        batch, length = batch if size is None else tuple(size), np.ravel(n)[0]
        # The same ones for all vectors.
        forced = [
            np.array(positions, dtype=np.int64).ravel()[: np.shape(positions)[-1]]
            for positions in (include, exclude)
        ]
        each = zip(*(np.broadcast_to(value, batch).ravel() for value in parameters), strict=True)
        draws = [cls.draw(rng, *values, length, *forced) for values in each]
        return np.array(draws, dtype=np.int64).reshape(*batch, length)


class SubsetRV(ChoiceRV):
    """Random 0/1 vector of length n with exactly k ones."""

    name = "subset"
    signature = "(),(),(i),(e)->(n)"
    draw = staticmethod(draw_subset)


class RandomSizeRV(ChoiceRV):
    """Random 0/1 vector of length n whose number of ones is beta-binomial."""

    name = "random_size"
    signature = "(),(),(),(i),(e)->(n)"
    draw = staticmethod(draw_random_size)


subset = SubsetRV()
random_size = RandomSizeRV()


@numba_core_rv_funcify.register(SubsetRV)
def _compile_subset(op, node):
    @numba_njit
    def random(rng, k, n, include, exclude):
        return draw_subset(rng, k, n, include, exclude)

    # PyTensor keeps compiled functions on disk under this number: raise it when the kernel changes.
    return random, 2


@numba_core_rv_funcify.register(RandomSizeRV)
def _compile_random_size(op, node):
    @numba_njit
    def random(rng, alpha, beta, n, include, exclude):
        return draw_random_size(rng, alpha, beta, n, include, exclude)

    return random, 1


class Subset(Discrete):
    """Uniform distribution over the 0/1 vectors of length n with exactly k ones."""

    rv_op = subset

    @classmethod
    def dist(cls, k, n=None, *, include=(), exclude=(), shape=None, **kwargs):
        """Create the random variable; n may be left to the last entry of `shape`."""
        n = _required_length(n, shape)
        include, exclude = _read_forced(n, include, exclude)
        k = _integer("k", k)
        ones, length = known_value(k), known_value(n)
        if ones is not None and np.any(ones < 0):
            raise ValueError(f"k must not be negative, got {ones}.")
        if ones is not None and length is not None and np.any(ones > length):
            raise ValueError(f"k must be at most n = {length}, got {ones}.")
        if ones is not None and np.any(ones < include.size):
            raise ValueError(
                f"k must be at least {include.size}, as many as include has, got {ones}."
            )
        if ones is not None and length is not None and np.any(ones > length - exclude.size):
            raise ValueError(
                f"k must be at most {length - exclude.size}, as many as exclude leaves, got {ones}."
            )
        return super().dist([k, n, include, exclude], shape=shape, **kwargs)

    def support_point(rv, size, *parameters):
        """Return a draw: no subset stands for all, and chains should start from different ones.

        Not left to `initval`: PyMC can't transform models that have initial values of their own,
        and does so for the log likelihood.
        """
        return rv

    def logp(value, k, n, include, exclude):
        """Return -log C(n', k') for 0/1 vectors of length n with k ones, else minus infinity.

        n' and k' are what is left of n and k without the entries that are forced.
        """
        # Small integers would make the logarithm one of single precision.
        k, n = k.astype("int64"), n.astype("int64")
        inside = _has_forced(value, n, include, exclude) & pt.eq(pt.sum(value, axis=-1), k)
        k = k - include.shape[-1]
        n = n - include.shape[-1] - exclude.shape[-1]
        return check_parameters(
            pt.switch(inside, -binomln(n, k), -np.inf), k >= 0, k <= n, msg="0 <= k <= n"
        )


class RandomSize(Discrete):
    """Beta-binomial number of ones, uniform over the 0/1 vectors with that number."""

    rv_op = random_size

    @classmethod
    def dist(cls, alpha, beta, n=None, *, include=(), exclude=(), shape=None, **kwargs):
        """Create the random variable; n may be left to the last entry of `shape`."""
        n = _required_length(n, shape)
        alpha, beta = (pt.as_tensor_variable(value).astype("float64") for value in (alpha, beta))
        return super().dist(
            [alpha, beta, n, *_read_forced(n, include, exclude)], shape=shape, **kwargs
        )

    def support_point(rv, size, *parameters):
        """Return a draw, see `Subset.support_point`."""
        return rv

    def logp(value, alpha, beta, n, include, exclude):
        """Return log B(α + k', β + n' - k') - log B(α, β), minus infinity for other vectors.

        k' and n' are the number of ones and of entries that are not forced.
        """
        n = n.astype("int64")
        inside = _has_forced(value, n, include, exclude)
        ones = pt.sum(value, axis=-1) - include.shape[-1]
        zeros = n - pt.sum(value, axis=-1) - exclude.shape[-1]
        # Of vectors outside any numbers will do that have a logarithm.
        ones, zeros = (pt.maximum(number, 0) for number in (ones, zeros))
        found = betaln(alpha + ones, beta + zeros) - betaln(alpha, beta)
        return check_parameters(
            pt.switch(inside, found, -np.inf), alpha > 0, beta > 0, msg="alpha, beta > 0"
        )


def _has_forced(value, n, include, exclude):
    """Whether a vector is of n zeros and ones, with ones and zeros where they are forced."""
    return (
        pt.all(pt.eq(value, 0) | pt.eq(value, 1), axis=-1)
        & pt.eq(value.shape[-1], n)
        & pt.all(pt.eq(value[..., include.ravel()], 1), axis=-1)
        & pt.all(pt.eq(value[..., exclude.ravel()], 0), axis=-1)
    )


def _read_forced(n, include, exclude):
    """Return the entries of a vector of length n that are forced in, and those forced out."""
    read = [np.array(positions, dtype=np.int64).ravel() for positions in (include, exclude)]
    length = known_value(n)
    for name, positions in zip(("include", "exclude"), read, strict=True):
        outside = (positions < 0) | (length is not None and positions >= length)
        if np.any(outside) or np.unique(positions).size < positions.size:
            raise ValueError(
                f"{name} must be different positions, counted from 0, in a vector of length "
                f"{length}; got {positions}."
            )
    if np.intersect1d(*read).size > 0:
        raise ValueError(f"include and exclude have positions in common: {np.intersect1d(*read)}.")
    return read


def _required_length(n, shape):
    n = length_of(n, convert_shape(shape))
    if n is None:
        raise ValueError("n is missing: give n, dims or shape.")
    return n


def length_of(n, shape):
    """Return the length of the vector told by the last entry of `shape`, or else by n, or None."""
    lengths = [_integer("n", n)] if n is not None else []
    if shape is not None:
        lengths.insert(0, _integer("n", shape[-1]))
    if any(length.ndim > 0 for length in lengths):
        raise ValueError(f"n must be a single number, got {n}: all vectors have the same length.")
    known = [int(value) for value in map(known_value, lengths) if value is not None]
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


def known_value(tensor):
    """Value of a constant, or the current one of a shared variable (a dim's length); else None."""
    if isinstance(tensor, Constant):
        return tensor.data
    if isinstance(tensor, SharedVariable):
        return tensor.get_value()
    return None
