"""Replicas of the state vector at several temperatures, moved on the closed form alone."""
