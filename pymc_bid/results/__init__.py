"""From draws to a decomposition: what is read off after sampling."""
