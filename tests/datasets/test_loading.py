"""The paper's data, from a folder and from their origin."""

import hashlib
import shutil

import numpy as np
import pandas as pd
import pytest

from pymc_bid.datasets import NAMES, load, loading
from pymc_bid.datasets.origin import RemoteFile


def as_origin(monkeypatch, tmp_path, address, contents):
    """Have `load` download `contents` from `address` into a cache of its own."""
    files = {
        name: RemoteFile(name, f"{address}/{name}", f"sha256:{hashlib.sha256(content).hexdigest()}")
        for name, content in contents.items()
    }
    monkeypatch.delenv("PYMC_BID_DATA", raising=False)
    monkeypatch.setattr(loading, "FILES", files)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / project)


def ccle_contents():
    rows, columns = ["k1\tK-1", "k2\tK-2"], ["d1\tD 1", "d2\tD-2", "d3\tD.3"]
    return {
        "ccle_ec50.txt": b"1.5\tnan\t2e-314\n3\t4\t5\n",
        "ccle_cell_lines.txt": "\n".join(rows).encode(),
        "ccle_drugs.txt": "\n".join(columns).encode(),
    }


@pytest.fixture
def served(serve):
    return lambda contents: serve({f"/{name}": content for name, content in contents.items()})


def test_drug_sensitivities_are_downloaded_with_their_labels(served, monkeypatch, tmp_path):
    pytest.importorskip("pooch")
    contents = ccle_contents()
    with served(contents) as (address, _):
        as_origin(monkeypatch, tmp_path, address, contents)
        data = load("ccle_ec50", progress=False)
    assert list(data.index) == ["K-1", "K-2"]
    assert list(data.columns) == ["D 1", "D-2", "D.3"]
    assert (data.index.name, data.columns.name) == ("cell line", "drug")
    np.testing.assert_array_equal(data, [[1.5, np.nan, 2e-314], [3, 4, 5]])


def test_published_methylation_is_reduced_to_driver_genes_and_standardised(
    served, monkeypatch, tmp_path
):
    pytest.importorskip("pooch")
    genes, samples = [10, 7157, 207, 99], ["s1", "s2", "s3"]
    values = np.random.default_rng(1).normal(3, 2, size=(4, 3))
    table = pd.DataFrame(values, index=genes, columns=samples)
    contents = {
        "matched_methylation_geneBody": table.to_csv(sep="\t").encode(),
        "intogen-BRCA-drivers-data.geneid": b"207\n555\n7157\n",
    }
    with served(contents) as (address, _):
        as_origin(monkeypatch, tmp_path, address, contents)
        data = load("methylation_gene_body", progress=False)
    assert list(data.index) == ["207", "7157"]
    assert list(data.columns) == samples
    expected = values[[2, 1]]
    expected = (expected - expected.mean(1, keepdims=True)) / expected.std(1, keepdims=True)
    np.testing.assert_allclose(data, expected, rtol=1e-12)


def test_one_wrong_file_of_three_loads_nothing(served, monkeypatch, tmp_path):
    pytest.importorskip("pooch")
    contents = ccle_contents()
    with served({**contents, "ccle_drugs.txt": b"something else"}) as (address, _):
        as_origin(monkeypatch, tmp_path, address, contents)
        with pytest.raises(ValueError, match=r"ccle_drugs.txt is not the file it should be"):
            load("ccle_ec50", progress=False)
    assert not (tmp_path / "pymc-bid" / "ccle_drugs.txt").exists()


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="no data set 'ec50'; there are ccle_ec50, ccle_ic50"):
        load("ec50")


def test_a_folder_without_the_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no file ccle_ec50.txt"):
        load("ccle_ec50", tmp_path)


def test_the_environment_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PYMC_BID_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        load("ccle_ec50")


def test_a_half_written_file_in_a_folder_is_an_error(tmp_path):
    (tmp_path / "ccle_ec50.txt").write_text("1.0\t2.0\n")
    with pytest.raises(ValueError, match="Nothing was loaded"):
        load("ccle_ec50", tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_data_load_from_a_folder(paper_data, name):
    data = load(name, paper_data)
    assert data.shape == ((504, 24) if name.startswith("ccle") else (160, 254))
    assert data.index.is_unique and data.columns.is_unique
    if name.startswith("methylation"):
        np.testing.assert_allclose(data.mean(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(data.std(axis=1, ddof=0), 1, rtol=1e-12)


def test_uninitialised_entries_are_left_as_published(paper_data):
    values = np.abs(load("ccle_ec50", paper_data).to_numpy())
    assert ((values > 0) & (values < 1e-300)).sum() == 426


def test_a_folder_with_one_damaged_file_is_an_error(paper_data, tmp_path):
    for name in ("ccle_ec50.txt", "ccle_cell_lines.txt", "ccle_drugs.txt"):
        shutil.copyfile(paper_data / name, tmp_path / name)
    load("ccle_ec50", tmp_path)
    with (tmp_path / "ccle_drugs.txt").open("a") as file:
        file.write("one more\n")
    with pytest.raises(ValueError, match=r"ccle_drugs.txt is not the file"):
        load("ccle_ec50", tmp_path)
