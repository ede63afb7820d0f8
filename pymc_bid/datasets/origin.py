"""Where the paper's data come from, how they get here, and whether they arrived whole."""

import hashlib
from pathlib import Path
from typing import NamedTuple

HOST = "https://raw.githubusercontent.com"
PRIORS = f"{HOST}/ThomasBrouwer/BMF_Priors/15b20537eefd36347ed84617882eeea1c453e162/data"
HMF = f"{HOST}/ThomasBrouwer/HMF/43dc2f318312316195fc0bcd101bb1b95e736ff6/methylation/data"
SECONDS = 30
"""How long to wait for an answer of the server."""


class RemoteFile(NamedTuple):
    """A file at its origin."""

    name: str
    """Name in the cache, and in a local folder."""
    url: str
    digest: str
    """"sha256:…" of the content, or "git:…", the name that git gives to it."""


def _files(folder: str, kind: str, digests: dict[str, str], prefix: str = "") -> list[RemoteFile]:
    return [
        RemoteFile(prefix + name, f"{folder}/{name}", f"{kind}:{digest}")
        for name, digest in digests.items()
    ]


CCLE = {
    "ec50.txt": "0503ade4b1c37545de571d59c58e3a729ec8fda04e38d6e4a1c745644b1544ae",
    "ic50.txt": "44ea2ac0ac3660b1f16439504359f7664174825fda3574a75de0f1cf6fcf555b",
    "cell_lines.txt": "95d8ab57fff5cbba3c4c2430ae52a20e30a9feea71a38070c0aaf4e970fba4c3",
    "drugs.txt": "68bdbb1220e077bb8285eb427c064610f413bdd4a02179cad5a2be75c8e104da",
}
METHYLATION = {
    "matched_methylation_geneBody": "4cca9aeab63c04c94282e56296c7fef54618d791",
    "matched_methylation_genePromoter": "c118577a96931f2c22a8c8fb45ed00a3865fbc46",
}
DRIVER_GENES = "intogen-BRCA-drivers-data.geneid"
DRIVERS = {DRIVER_GENES: "a274c49f08b8f2daa819998d236cd1113add1ab2d815ddf660bb6f1002c31b75"}
FILES = {
    file.name: file
    for file in (
        *_files(f"{PRIORS}/drug_sensitivity/CCLE/processed_all", "sha256", CCLE, "ccle_"),
        *_files(f"{PRIORS}/methylation", "git", METHYLATION),
        *_files(HMF, "sha256", DRIVERS),
    )
}
DERIVED = {
    "methylation_gene_body.txt": "b8b4bc44588be786680729bbcd0962ac6fc089e4b0bf684d72c52d3321de599c",
    "methylation_promoter.txt": "294bfed559f52b4a9b547b322639b40074db50537c38b50323480f036ab77f81",
    "methylation_genes.txt": "8a75bdb1a4c74e483b72d0a1474cccc18be27a7928b9a0e341e74c112615a036",
    "methylation_samples.txt": "8928dd2971d6e8b46ed18362e8de57345a95c1ee06f8f8f47f142416c595766f",
}
"""SHA-256 of files computed from those at the origin: the driver genes, standardised."""


def digest_of(path: Path, kind: str) -> str:
    """Return the digest of a file, of the kind "sha256" or "git"."""
    content = path.read_bytes()
    if kind == "sha256":
        return f"sha256:{hashlib.sha256(content).hexdigest()}"
    # Git calls a file by the SHA-1 of its content after a header with its length.
    header = b"blob %d\0" % len(content)
    return f"git:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"


def require_digest(path: Path, expected: str, source: str) -> None:
    """Raise ValueError, naming where it comes from, unless the file is what it should be."""
    found = digest_of(path, expected.partition(":")[0])
    if found != expected:
        raise ValueError(
            f"{source} is not the file it should be (damaged, incomplete or changed): its hash is "
            f"{found}, expected {expected}. Nothing was loaded."
        )


def download(file: RemoteFile, folder: Path | None = None, progress: bool = True) -> Path:
    """Return the path of a file, downloaded unless it is in the cache already.

    The file appears in the cache, by default the user's, when it is complete and has the right
    hash, not before. Errors: ImportError without pooch and tqdm, ConnectionError, and ValueError
    for a wrong hash.
    """
    try:
        import pooch
        import requests
        import tqdm  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Downloading the data needs pooch and tqdm: pip install 'pymc-bid[datasets]'."
        ) from error

    def fetch(url, output_file, pooch_of_file):
        http = pooch.HTTPDownloader(progressbar=progress, timeout=SECONDS)
        http(url, output_file, pooch_of_file)
        require_digest(Path(output_file), file.digest, url)

    folder = Path(pooch.os_cache("pymc-bid")) if folder is None else Path(folder)
    cached = folder / file.name
    if cached.exists() and digest_of(cached, file.digest.partition(":")[0]) != file.digest:
        cached.unlink()
    # Pooch has no name for git's hashes, so `fetch` checks, before pooch lets the file into the
    # cache.
    cache = pooch.create(
        folder, base_url="", registry={file.name: None}, urls={file.name: file.url}
    )
    try:
        return Path(cache.fetch(file.name, downloader=fetch))
    except requests.RequestException as error:
        raise ConnectionError(
            f"{file.url} could not be downloaded ({error}). Without a network, name a folder that "
            "holds the data by folder= or by the environment variable PYMC_BID_DATA."
        ) from error
