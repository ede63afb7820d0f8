"""Loading the paper's four data sets."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from pymc_bid.datasets.download import download
from pymc_bid.datasets.origin import DERIVED, FILES, LocalTable, require_digest

FOLDER_VARIABLE = "PYMC_BID_DATA"

TABLES = {
    "ccle_ec50": LocalTable("ccle_ec50.txt", "ccle_cell_lines.txt", "ccle_drugs.txt"),
    "ccle_ic50": LocalTable("ccle_ic50.txt", "ccle_cell_lines.txt", "ccle_drugs.txt"),
    "methylation_gene_body": LocalTable(
        "methylation_gene_body.txt", "methylation_genes.txt", "methylation_samples.txt"
    ),
    "methylation_promoter": LocalTable(
        "methylation_promoter.txt", "methylation_genes.txt", "methylation_samples.txt"
    ),
}
PUBLISHED_METHYLATION = {
    "methylation_gene_body": "matched_methylation_geneBody",
    "methylation_promoter": "matched_methylation_genePromoter",
}
DRIVER_GENES = "intogen-BRCA-drivers-data.geneid"
NAMES = tuple(TABLES)


def load(name: str, folder: str | Path | None = None, *, progress: bool = True) -> pd.DataFrame:
    """Load one of the paper's data sets.

    =========================  =========================  ==========================================
    name                       rows × columns             entries
    =========================  =========================  ==========================================
    ``ccle_ec50``              504 cell lines × 24 drugs  µM, half of the maximal effect; NaN where
                                                          missing
    ``ccle_ic50``              504 cell lines × 24 drugs  µM, half of the growth inhibited
    ``methylation_gene_body``  160 genes × 254 samples    standardised for each gene
    ``methylation_promoter``   160 genes × 254 samples    standardised for each gene
    =========================  =========================  ==========================================

    Drug sensitivities are those of the Cancer Cell Line Encyclopedia, methylation is that of the
    driver genes of breast cancer in TCGA, both as published by Brouwer and Lió (2017,
    arXiv:1712.00288), who ask to be cited. Nothing is distributed with this package: files are
    read from a folder, or downloaded from their origin and kept. Either way their hashes are
    checked. Genes are called by their Entrez number.

    Parameters
    ----------
    name : str
    folder : str or path, optional
        Folder that holds the files. By default the one that the environment variable
        ``PYMC_BID_DATA`` names, and if there is none, the data are downloaded (which needs the
        extra ``datasets``) into the user's cache.
    progress : bool
        Whether a download shows a progress bar.

    Raises
    ------
    ValueError
        If there is no such data set, or a file has the wrong hash.
    FileNotFoundError
        If the folder has no such file.
    ConnectionError
        If a file can't be downloaded.

    See Also
    --------
    prepare : What the paper does with the data before it decomposes them.

    Examples
    --------
    >>> bid.datasets.load("ccle_ec50", "no/such/folder")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError
    """
    if name not in TABLES:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(NAMES)}.")
    if folder is None:
        folder = os.environ.get(FOLDER_VARIABLE) or None
    if folder is not None:
        return _read_table(TABLES[name], lambda file: _local(Path(folder), file))
    if name in PUBLISHED_METHYLATION:
        published, drivers = (
            download(FILES[file], progress=progress)
            for file in (PUBLISHED_METHYLATION[name], DRIVER_GENES)
        )
        return driver_methylation(published, drivers)
    return _read_table(TABLES[name], lambda file: download(FILES[file], progress=progress))


def driver_methylation(published: Path, drivers: Path) -> pd.DataFrame:
    """Return the driver genes' methylation, standardised for each gene, from the published files.

    Parameters
    ----------
    published : pathlib.Path
        Tab-separated, samples in the first row, genes in the first column.
    drivers : pathlib.Path
        A gene in each line; genes that were not measured are left out, the order is kept.
    """
    table = pd.read_csv(published, sep="\t", index_col=0)
    table.index = table.index.astype(str)
    genes = [gene for gene in drivers.read_text().split() if gene in table.index]
    values = table.loc[genes].astype(float)
    deviations = values.sub(values.mean(axis=1), axis=0)
    return _named(deviations.div(values.std(axis=1, ddof=0), axis=0), "methylation")


def _read_table(table: LocalTable, path_of) -> pd.DataFrame:
    """Return the numbers of a table with their labels."""
    paths = [path_of(file) for file in table]
    kind = table.values.partition("_")[0]
    # CCLE lists a plain name and the published one, the methylation files a number or code first.
    column = 1 if kind == "ccle" else 0
    rows, columns = (
        [line.split("\t")[column] for line in path.read_text().splitlines()] for path in paths[1:]
    )
    return _named(pd.DataFrame(np.loadtxt(paths[0]), index=rows, columns=columns), kind)


def _local(folder: Path, file: str) -> Path:
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(
            f"The folder {folder} (folder=, or {FOLDER_VARIABLE}) has no file {file}."
        )
    require_digest(path, DERIVED[file] if file in DERIVED else FILES[file].digest, str(path))
    return path


def _named(data: pd.DataFrame, kind: str) -> pd.DataFrame:
    rows, columns = ("cell line", "drug") if kind == "ccle" else ("gene", "sample")
    return data.rename_axis(index=rows, columns=columns)
