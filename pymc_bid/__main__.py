"""`python -m pymc_bid`, the same as `pymc-bid`."""

from pymc_bid.command_line.main import main

if __name__ == "__main__":
    raise SystemExit(main())
