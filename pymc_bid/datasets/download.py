"""Fetching a file from its origin, once."""

from pathlib import Path

from pymc_bid.datasets.origin import RemoteFile, digest_of, require_digest

SECONDS = 30
"""How long to wait for an answer of the server."""


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
