"""Pictures of draws and decompositions; matplotlib is imported when one is made, not before."""
