"""Closed forms: the weights integrated out, their bounds left out or approximated."""
