"""Files are read with their names; what can't be used is said in one line, never as a traceback."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pymc_bid.command_line import reading
from pymc_bid.command_line.main import UNUSABLE, Problem, main
from pymc_bid.command_line.reading import check_numbers, name_rows, read_file, standardise

VALUES = np.array([[1.5, 2.0, -3.0], [0.0, 4.25, 1.0]])
TABLE = pd.DataFrame(VALUES, columns=["x", "y", "z"])


def write_zarr(path):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(path), VALUES)


def write_parquet(path):
    pytest.importorskip("pyarrow")
    TABLE.to_parquet(path)


@pytest.mark.parametrize(
    ("name", "write", "columns"),
    [
        ("a.csv", lambda p: TABLE.to_csv(p, index=False), ["x", "y", "z"]),
        ("a.csv", lambda p: TABLE.to_csv(p, index=False, sep=";", decimal=","), ["x", "y", "z"]),
        ("a.csv", lambda p: TABLE.to_csv(p, index=False, header=False), None),
        ("a.tsv", lambda p: TABLE.to_csv(p, index=False, sep="\t"), ["x", "y", "z"]),
        ("a.TSV", lambda p: TABLE.to_csv(p, index=False, sep="\t"), ["x", "y", "z"]),
        ("a.parquet", write_parquet, ["x", "y", "z"]),
        ("a.npy", lambda p: np.save(p, VALUES.astype(np.float32)), None),
        ("a.zarr", write_zarr, None),
    ],
)
def test_every_kind_of_file_gives_the_same_numbers(tmp_path, name, write, columns):
    path = tmp_path / name
    write(path)
    found = check_numbers(name_rows(read_file(path).values), path, [])
    np.testing.assert_array_equal(found.to_numpy(), VALUES)
    assert found.columns.tolist() == (columns or ["column 0", "column 1", "column 2"])


def test_a_first_column_of_text_names_the_rows(tmp_path):
    path = tmp_path / "named.csv"
    TABLE.set_index(pd.Index(["p", "q"], name="sample")).to_csv(path)
    found = check_numbers(name_rows(read_file(path).values), path, [])
    assert found.index.tolist() == ["p", "q"] and found.columns.tolist() == ["x", "y", "z"]


def test_missing_entries_are_left_to_the_model(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("x,y\n1,\nNA,3\n2,4\n")
    found = standardise(check_numbers(read_file(path).values, path, []), "columns").A
    assert found.isna().to_numpy().tolist() == [[False, True], [True, False], [False, False]]
    np.testing.assert_allclose(found.mean(), 0, atol=1e-12)


def text(content):
    return lambda path: path.write_text(content)


def damaged(content):
    return lambda path: path.write_bytes(content)


PROBLEMS = {
    "missing file": ("none.csv", lambda path: None, "no such file"),
    "unknown ending": ("a.xlsx", text("1"), r"unknown ending '.xlsx'; it must be one of .csv"),
    "folder": ("a.csv", lambda path: path.mkdir(), "a folder, not a file"),
    "empty": ("a.csv", text(""), "the file is empty"),
    "header alone": ("a.csv", text("x,y,z\n"), "0 rows and 3 columns"),
    "long line": ("a.csv", text("x,y\n1,2\n1,2,3\n"), "line 3 has 3 fields, the first line has 2"),
    "short line": ("a.csv", text("x,y,z\n1,2,3\n1,2\n"), "line 3 has 2 fields"),
    "text": ("a.csv", text("x,y z\n1,2\n3,low\n"), r"such as 'low'.*--drop 'y z'"),
    "dash": ("a.csv", text("x,y,z\n1,2,3\n-,4,5\n3,8,1\n"), r"text in column x, such as '-'"),
    "same names": ("a.csv", text("x,y,x\n1,2,3\n4,5,6\n"), "two columns are called x"),
    "same in quotes": ("a.csv", text('"x",y, x\n1,2,3\n4,5,6\n'), "two columns are called x"),
    "one row": ("a.csv", text("x,y\n1,2\n"), "1 row and 2 columns"),
    "one column": ("a.csv", text("x\n1\n2\n"), "2 rows and 1 column of"),
    "all missing": ("a.csv", text("x,y\n,\nNA,\n"), "all entries are missing"),
    "missing column": ("a.csv", text("x,y\n1,\n2,\n"), "all entries of column y are missing"),
    "infinite": ("a.csv", text("x,y\n1,inf\n2,3\n"), "infinite entries in column y"),
    "not text": ("a.csv", damaged(b"x,y\n1,\xff\xfe\n"), "save it as UTF-8"),
    "pickle": ("a.npy", lambda p: np.save(p, np.array([[{}]]), allow_pickle=True), "pickled"),
    "not npy": ("a.npy", damaged(b"hello, this is no array"), "can't be read|pickled"),
    "cut npy": ("a.npy", damaged(b"\x93NUMPY\x01"), "can't be read"),
    "cube": ("a.npy", lambda path: np.save(path, np.zeros((2, 2, 2))), "has 3 dimensions"),
    "complex": ("a.npy", lambda path: np.save(path, VALUES * 1j), "must hold real numbers"),
    "no parquet": ("a.parquet", damaged(b"hello"), "can't be read as parquet|need pyarrow"),
    "no zarr": ("a.zarr", lambda path: path.mkdir(), "can't be read as zarr|need zarr"),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_a_bad_file_ends_in_one_line_that_says_why(tmp_path, capsys, case):
    name, write, message = PROBLEMS[case]
    path = tmp_path / name
    write(path)
    assert main(["fit", str(path)]) == UNUSABLE
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith("pymc-bid: ") and "Traceback" not in printed.err
    assert re.search(message, printed.err), printed.err


def test_ten_gigabytes_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "free_memory", lambda: 8 * 10**9)
    path = tmp_path / "large.csv"
    with path.open("wb") as stream:
        stream.write(b"x,y\n1,2\n")
        stream.truncate(10**10)
    with pytest.raises(Problem, match=r"about 10.0 GB.* 8.0 GB of memory are free; keep fewer"):
        read_file(path)


def test_a_large_array_is_refused_by_its_header(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "free_memory", lambda: 100)
    path = tmp_path / "large.npy"
    np.save(path, VALUES)
    with pytest.raises(Problem, match="GB of memory are free"):
        read_file(path)


def test_a_file_without_permission_is_named(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    TABLE.to_csv(path, index=False)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def refuse(self, *arguments, **options):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(Problem, match="no permission to read it"):
        read_file(path)


def test_columns_are_dropped_by_name_and_unknown_names_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,note,y\n1,a,2\n3,a,5\n")
    table = read_file(path).values
    assert check_numbers(table, path, ["note"]).columns.tolist() == ["x", "y"]
    with pytest.raises(Problem, match=r"--drop: .* no column nonsense"):
        check_numbers(table, path, ["nonsense"])


@pytest.mark.parametrize(
    ("asked", "left"),
    [(["a", "b"], ["c, d", "e"]), (["a,b"], ["c, d", "e"]), (["c, d"], ["a", "b", "e"])],
)
def test_several_names_are_given_apart_or_with_commas(asked, left):
    table = pd.DataFrame(np.eye(4), columns=["a", "b", "c, d", "e"])
    assert check_numbers(table, Path("data"), asked).columns.tolist() == left


YEARS = "1990,1991,1993\n1.5,2,3\n4,5,7\n"


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        (YEARS, ["1990", "1991", "1993"], "taken for names.* use --no-header"),
        ("2020,2019,2018\n1,5,3\n4,2,8\n", ["2020", "2019", "2018"], "taken for names"),
        ("1,2,3\n2,4,6\n5,7,9\n", ["column 0", "column 1", "column 2"], "data.* use --header"),
        ("1990,1880,1993\n1,2,3\n4,5,7\n", ["column 0", "column 1", "column 2"], "for data"),
        (",x,y\n0,2,3\n1,5,7\n", ["x", "y"], "has no name and was taken for row names"),
    ],
)
def test_what_a_line_of_numbers_was_taken_for_is_said(tmp_path, content, columns, said):
    path = tmp_path / "a.csv"
    path.write_text(content)
    read = read_file(path)
    assert read.values.columns.tolist() == columns
    assert re.search(said, " ".join(read.notes))
    assert len(read.values) == (3 if columns[0] == "column 0" else 2)


def test_a_header_can_be_said_to_be_one_or_none(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(YEARS)
    assert len(read_file(path, header=False).values) == 3
    path.write_text("7,1,2\n1,2,3\n4,5,7\n")
    read = read_file(path, header=True)
    assert read.values.columns.tolist() == ["7", "1", "2"] and not read.notes
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(Problem, match="--header and --no-header are for text files"):
        read_file(tmp_path / "a.npy", header=True)


def test_names_in_quotes_may_have_lines_and_separators(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"x, old","y\nnew"\n1,2\n3,4\n')
    assert read_file(path).values.columns.tolist() == ["x, old", "y new"]


def test_standardising_can_be_undone():
    table = TABLE.assign(constant=2.0)
    prepared = standardise(table, "columns")
    pd.testing.assert_frame_equal(prepared.A * prepared.scale + prepared.centre, table)
    np.testing.assert_allclose(prepared.A.std(ddof=0), [1, 1, 1, 0])
