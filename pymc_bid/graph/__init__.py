"""Reading a PyMC model: which variables form a decomposition, and their values at a point."""
