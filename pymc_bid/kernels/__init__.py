"""Numba kernels: pure functions of a random generator and arrays, one formula each."""
