"""A download is whole and right, or it is an error and leaves nothing behind."""

import hashlib
import socket
import sys

import pytest

from pymc_bid.datasets.origin import RemoteFile, download

CONTENT = b"1\t2\n3\t4\n" * 1000
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
GIT = f"git:{hashlib.sha1(b'blob 8000' + bytes(1) + CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def needs_pooch():
    pytest.importorskip("pooch")
    pytest.importorskip("tqdm")


def left(folder):
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("digest", [SHA256, GIT])
def test_a_file_is_downloaded_once(serve, tmp_path, digest):
    with serve({"/values": CONTENT}) as (address, asked):
        file = RemoteFile("values.txt", f"{address}/values", digest)
        for _ in range(2):
            path = download(file, tmp_path, progress=False)
            assert path == tmp_path / "values.txt"
            assert path.read_bytes() == CONTENT
    assert asked == ["/values"]


def test_a_damaged_file_in_the_cache_is_downloaded_again(serve, tmp_path):
    (tmp_path / "values.txt").write_bytes(CONTENT[:100])
    with serve({"/values": CONTENT}) as (address, _):
        file = RemoteFile("values.txt", f"{address}/values", SHA256)
        assert download(file, tmp_path, progress=False).read_bytes() == CONTENT


def test_progress_is_shown(serve, tmp_path, capsys):
    with serve({"/values": CONTENT}) as (address, _):
        download(RemoteFile("values.txt", f"{address}/values", SHA256), tmp_path)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("digest", [SHA256, GIT])
def test_a_wrong_hash_is_an_error_and_nothing_is_kept(serve, tmp_path, digest):
    with serve({"/values": CONTENT[::-1]}) as (address, _):
        file = RemoteFile("values.txt", f"{address}/values", digest)
        with pytest.raises(ValueError, match=f"/values is not the file it should be.*{digest}"):
            download(file, tmp_path, progress=False)
    assert left(tmp_path) == []


def test_a_transfer_that_breaks_off_is_an_error_and_nothing_is_kept(serve, tmp_path):
    with serve({"/values": CONTENT}, truncate=True) as (address, _):
        file = RemoteFile("values.txt", f"{address}/values", SHA256)
        with pytest.raises((ConnectionError, ValueError), match="/values"):
            download(file, tmp_path, progress=False)
    assert left(tmp_path) == []


def test_a_file_that_is_not_there_is_an_error(serve, tmp_path):
    with serve({}) as (address, _):
        file = RemoteFile("values.txt", f"{address}/values", SHA256)
        with pytest.raises(ConnectionError, match=r"could not be downloaded.*404"):
            download(file, tmp_path, progress=False)
    assert left(tmp_path) == []


def test_no_network_is_an_error_that_says_what_to_do(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        file = RemoteFile("values.txt", f"{address}/values", SHA256)
        with pytest.raises(ConnectionError, match="PYMC_BID_DATA"):
            download(file, tmp_path, progress=False)
    assert not tmp_path.exists() or left(tmp_path) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pymc-bid\[datasets\]"):
        download(RemoteFile("values.txt", "http://127.0.0.1/values", SHA256), tmp_path)
