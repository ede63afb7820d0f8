"""Sampling with draws and the samplers' states on disk."""
