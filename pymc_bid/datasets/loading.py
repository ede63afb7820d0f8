"""Loading the paper's four data sets."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from pymc_bid.datasets.origin import DERIVED, DRIVER_GENES, FILES, download, require_digest

FOLDER_VARIABLE = "PYMC_BID_DATA"
PUBLISHED_METHYLATION = {
    "methylation_gene_body": "matched_methylation_geneBody",
    "methylation_promoter": "matched_methylation_genePromoter",
}
NAMES = ("ccle_ec50", "ccle_ic50", *PUBLISHED_METHYLATION)


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
    ValueError, FileNotFoundError, ConnectionError
        If there is no such data set, a file has the wrong hash, the folder has no such file, or
        one can't be downloaded.

    See Also
    --------
    prepare : What the paper does with the data before it decomposes them.

    Examples
    --------
    >>> bid.datasets.load("ccle_ec50", "no/such/folder")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError
    """
    if name not in NAMES:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(NAMES)}.")
    if folder is None:
        folder = os.environ.get(FOLDER_VARIABLE) or None
    if folder is not None:
        return _read_table(name, lambda file: _local(Path(folder), file))

    def from_origin(file: str) -> Path:
        return download(FILES[file], progress=progress)

    if name in PUBLISHED_METHYLATION:
        files = PUBLISHED_METHYLATION[name], DRIVER_GENES
        return _driver_methylation(*map(from_origin, files))
    return _read_table(name, from_origin)


def _driver_methylation(published: Path, drivers: Path) -> pd.DataFrame:
    """Return the driver genes' methylation, standardised for each gene, from the published files.

    The former is tab-separated, samples in its first row, genes in its first column. The latter has
    a gene in each line; genes that were not measured are left out, the order is kept.
    """
    table = pd.read_csv(published, sep="\t", index_col=0)
    table.index = table.index.astype(str)
    genes = [gene for gene in drivers.read_text().split() if gene in table.index]
    values = table.loc[genes].astype(float)
    deviations = values.sub(values.mean(axis=1), axis=0)
    standardised = deviations.div(values.std(axis=1, ddof=0), axis=0)
    return standardised.rename_axis(index="gene", columns="sample")


def _read_table(name: str, path_of) -> pd.DataFrame:
    """Return the numbers of a data set with their labels, each in a file of its own."""
    # CCLE lists a plain name and the published one, the methylation files a number or code first.
    files, axes, place = ("methylation_genes", "methylation_samples"), ("gene", "sample"), 0
    if name.startswith("ccle"):
        files, axes, place = ("ccle_cell_lines", "ccle_drugs"), ("cell line", "drug"), 1
    values = np.loadtxt(path_of(f"{name}.txt"))
    rows, columns = (
        [line.split("\t")[place] for line in path_of(f"{file}.txt").read_text().splitlines()]
        for file in files
    )
    return pd.DataFrame(values, rows, columns).rename_axis(index=axes[0], columns=axes[1])


def _local(folder: Path, file: str) -> Path:
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(
            f"The folder {folder} (folder=, or {FOLDER_VARIABLE}) has no file {file}."
        )
    digest = f"sha256:{DERIVED[file]}" if file in DERIVED else FILES[file].digest
    require_digest(path, digest, str(path))
    return path
