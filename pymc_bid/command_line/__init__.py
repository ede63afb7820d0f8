"""The command `pymc-bid`: from a file to a decomposition, without writing Python."""
