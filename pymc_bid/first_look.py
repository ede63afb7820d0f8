"""What is to be said of a table before anything is sampled."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bid.inputs import Matrix, labels_or_numbers
from pymc_bid.relations import find_combinations, find_copies
from pymc_bid.standardising import mean_and_spread

LEAST_ROWS = 3
LEAST_OBSERVED = 10
"""Observed entries of a column below which it says little."""
LARGEST_SCALE = 10.0
"""Factor by which the mean square of a column may differ from 1, where nothing is standardised."""
INDEX_NAMES = re.compile(r"(?i:^unnamed|^index$|(^|[\W_])(id|row)$)|[a-z]I[dD]$")
"""Names of columns that number the rows, if they have whole numbers that are all different."""
MOST_NAMED = 10

Numbers = NDArray[np.float64]


class Finding(NamedTuple):
    """Something about some columns of a table."""

    kind: str
    """"rows", "constant", "index", "observed", "scale", "copies" or "combination"."""
    columns: list
    """Labels of the columns, or their positions where there are none."""
    text: str
    """What it is and what is done about it, or what to do."""


def look_at(
    matrix: Matrix, name: str, *, leaves_constants_out: bool, own_mean: Numbers | None = None
) -> list[Finding]:
    """Return what is to be said of a matrix, which is called `name`.

    Parameters
    ----------
    matrix : Matrix
    name : str
    leaves_constants_out : bool
        Whether the model leaves constant columns out.
    own_mean : array, optional
        Mean of the density of chosen columns, where columns are not standardised and their scale
        is that of the table.
    """
    mean, spread = mean_and_spread(matrix)
    labels, varies = labels_or_numbers(matrix.columns, mean.size), spread > 0
    findings = []

    def add(kind: str, sets: Sequence, text: str) -> None:
        found = [[labels[column] for column in columns] for columns in sets if len(columns)]
        if found:
            shown = _listed([_listed(columns, ", ") for columns in found], "; ")
            flat = [label for columns in found for label in columns]
            findings.append(Finding(kind, flat, f"{name} has {text.format(shown)}"))

    if matrix.number_of_rows < LEAST_ROWS:
        what = f"{matrix.number_of_rows} rows; it takes {LEAST_ROWS} for columns to be told apart."
        findings.append(Finding("rows", [], f"{name} has {what}"))
    outcome = (
        "They are left out of the model."
        if leaves_constants_out
        else "They are explained by nothing, and so likely to be chosen: leave them out."
    )
    add("constant", [np.flatnonzero(~varies)], f"constant columns: {{}}. {outcome}")
    add(
        "index",
        [[column for column in np.flatnonzero(varies) if _is_index(matrix, column, labels)]],
        "columns that number its rows or name them, rather than measure something: {}. They are "
        "kept, may be chosen, and are to be explained: leave them out. What is in `exclude` is not "
        "chosen, but explained.",
    )
    if matrix.observed is not None:
        number = matrix.observed.sum(axis=0)
        few = (number < LEAST_OBSERVED) & (number < matrix.number_of_rows)
        add(
            "observed",
            [np.flatnonzero(few & varies)],
            f"columns with fewer than {LEAST_OBSERVED} observed entries: {{}}. They are kept, and "
            "little can be said of them.",
        )
    if own_mean is not None:
        square = spread**2 + (mean - own_mean) ** 2
        far = varies & (np.abs(np.log(np.where(varies, square, 1.0))) > np.log(LARGEST_SCALE))
        add(
            "scale",
            [np.flatnonzero(far)],
            "columns whose mean square is far from 1: {}. The priors of the noise and of the "
            "chosen columns' variances are for about 1, so that which columns are chosen depends "
            "on their units: use bid.column_selection, which standardises, or standardise them.",
        )
    kept = np.flatnonzero(varies)
    groups = find_copies(matrix, mean, kept)
    add(
        "copies",
        groups,
        "columns that are copies of each other, up to shift and scale: {}. They are kept, share "
        "the probability of being chosen, and each of them is to be explained, so that one is "
        "likely to be chosen. Leave out all but one of what is the same measurement.",
    )
    again = [column for group in groups for column in group[1:]]
    add(
        "combination",
        find_combinations(matrix, mean, np.setdiff1d(kept, again)),
        "columns the last of which is a linear combination of those before it, exactly: {}. They "
        "are kept, and one may stand for another.",
    )
    return findings


def _listed(names: list, separator: str) -> str:
    more = [f"{len(names) - MOST_NAMED} more"] if names[MOST_NAMED:] else []
    return separator.join([*map(str, names[:MOST_NAMED]), *more])


def _is_index(matrix: Matrix, column: np.intp, labels: NDArray) -> bool:
    """Whether a column counts the rows, up or down, or is called an index and looks like one."""
    # What is left of a compressed matrix are no rows.
    if matrix.compressed:
        return False
    rows = np.arange(len(matrix.values))
    if matrix.observed is not None:
        rows = np.flatnonzero(matrix.observed[:, column])
    values = matrix.values[rows, column]
    if rows.size < LEAST_ROWS or not (values % 1 == 0).all():
        return False
    steps = np.diff(values)
    if any(np.array_equal(steps, sign * np.diff(rows)) for sign in (1, -1)):
        return True
    named = INDEX_NAMES.search(str(labels[column]).strip())
    return bool(named) and np.unique(values).size == values.size
