"""Are the same columns chosen whatever a table looks like: its units, copies, constants, an index?

Run from the repository's root::

    python -m benchmarks.units

Scikit-learn's wine table (178×13) goes into `bid.column_selection` as it is, and changed in ways
that are nothing to the question. Printed are the columns chosen, the largest difference of an
inclusion probability from that of the table as it is, the mean R² of the others, and what was said
of the data. A column and its copies count as one. docs/column_selection.md has the table.
"""

import argparse
import logging
import warnings

import numpy as np
import pandas as pd
import pymc as pm
from sklearn.datasets import load_wine

import pymc_bid as bid

ORIGINAL = {"alcohol_proof": "alcohol"}


def variants() -> dict[str, tuple[pd.DataFrame, dict]]:
    """Return tables that ask the same question, and further arguments."""
    raw = load_wine(as_frame=True).data
    index = raw.copy()
    index.insert(0, "Unnamed: 0", np.arange(len(raw)))
    return {
        "as it is": (raw, {}),
        "standardised by hand": ((raw - raw.mean()) / raw.std(ddof=0), {}),
        "other units": (raw * np.geomspace(1e-3, 1e3, raw.shape[1]) + 32, {}),
        "with alcohol_proof = 2 · alcohol": (raw.assign(alcohol_proof=2 * raw["alcohol"]), {}),
        "with a constant": (raw.assign(laboratory=7), {}),
        "with an index": (index, {}),
        "with an index, excluded": (index, {"exclude": ["Unnamed: 0"]}),
    }


def as_one(draws: np.ndarray, basis: list[str]) -> pd.DataFrame:
    """Return draws of the columns by name, copies as one."""
    table = pd.DataFrame(draws.reshape(-1, len(basis)), columns=basis)
    return table.rename(columns=ORIGINAL).T.groupby(level=0).max().T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    known = None
    print("| wine | columns | off by | mean R² | said |\n|---|---|---|---|---|")
    for name, (table, arguments) in variants().items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            model = bid.column_selection(table, **arguments)
        said = " ".join(str(warning.message) for warning in caught)
        with model, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            idata = pm.sample(
                options.draws,
                tune=options.draws,
                chains=4,
                random_seed=options.seed,
                progressbar=False,
                compute_convergence_checks=False,
            )
            result = bid.decompose(idata, table, random_seed=options.seed)
            if not bid.check_convergence(idata).converged:
                said += " Chains did not converge."
        draws, basis = np.asarray(idata["posterior"]["r"]), list(model.coords["basis"])
        shares = dict(zip(basis, draws.mean(axis=(0, 1)), strict=True))
        found = as_one(draws, basis)
        known = found.mean() if known is None else known
        off = (found.mean() - known).abs().max()
        columns = [ORIGINAL.get(column, column) for column in result.columns]
        shown = ", ".join(f"{column} {found[column].mean():.2f}" for column in columns)
        if "alcohol_proof" in basis:
            shown += " ({alcohol:.2f} and {alcohol_proof:.2f})".format(**shares)
        r2 = result.mean_r2["r2"]
        print(f"| {name} | {shown} | {off:.3f} | {r2:.3f} | {said or 'nothing'} |", flush=True)


if __name__ == "__main__":
    main()
