"""Moves of the chain itself, each exact."""
