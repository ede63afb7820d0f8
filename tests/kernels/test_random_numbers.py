"""Kernels get a generator as addresses, and draw from it what NumPy would."""

import numpy as np
import pytest

from pymc_bid.kernels.random_numbers import generator_at, random_kernel


@random_kernel
def draw(stream, normals, uniforms, gammas):
    rng = generator_at(stream)
    for index in range(normals.size):
        normals[index] = rng.standard_normal()
        uniforms[index] = rng.random()
        gammas[index] = rng.standard_gamma(0.7)


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox"])
def test_a_kernel_draws_what_numpy_draws_and_leaves_the_generator_there(kind):
    drawn, expected = np.empty((2, 3, 50))
    rng, twin = (np.random.Generator(getattr(np.random, kind)(5)) for _ in range(2))
    draw(rng, *drawn)
    for index in range(50):
        expected[:, index] = twin.standard_normal(), twin.random(), twin.standard_gamma(0.7)
    np.testing.assert_array_equal(drawn, expected)
    assert rng.random() == twin.random()


def test_generators_do_not_get_mixed_up():
    first, second = np.empty((2, 3, 10))
    draw(np.random.default_rng(1), *first)
    draw(np.random.default_rng(2), *second)
    assert not np.isin(first[1], second[1]).any()
