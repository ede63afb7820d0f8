"""Lists of columns in a file, however they are written."""

import pandas as pd
import pytest

from pymc_bid.command_line.main import Problem
from pymc_bid.command_line.sets import read_lists

COLUMNS = pd.Index(["a", "b", "c, d", "e: f"])


@pytest.mark.parametrize(
    ("content", "lists"),
    [
        ("a\nb  # the second\n\n", {"lists": ["a", "b"]}),
        ("a\ne: f\nc, d\n", {"lists": ["a", "e: f", "c, d"]}),
        ("ours: a, b\ntheirs: b\n", {"ours": ["a", "b"], "theirs": ["b"]}),
        ("a, b\nb\n", {"list 1": ["a", "b"], "list 2": ["b"]}),
    ],
)
def test_lists_are_read_by_lines(tmp_path, content, lists):
    path = tmp_path / "lists.txt"
    path.write_text(content)
    assert read_lists(path, COLUMNS) == lists


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\nz\n", "--score: .* has no column z"),
        ("# nothing\n", "has no names"),
        ("ours: a\nours: b\n", "calls a list ours, which is a list before it"),
        ("found: a\n", "calls a list found, which is what was found"),
        ("ours:\n", "without a name of a column"),
        (None, "No such file"),
    ],
)
def test_a_list_that_can_not_be_used_is_named(tmp_path, content, message):
    path = tmp_path / "lists.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Problem, match=message):
        read_lists(path, COLUMNS)
