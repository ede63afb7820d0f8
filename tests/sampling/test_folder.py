"""A run survives what a process does not: `kill -9`, and a disk that is full."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.sampling.folder import DRAWS, write_beside

A = bid.datasets.make_planted(rows=20, columns=6, rank=3, noise=0.5).A
COMMAND = """
import sys
from tests.sampling.test_folder import sample

if __name__ == "__main__":
    folder, draws, cores = sys.argv[1:]
    sample(folder, int(draws), int(cores))
"""
posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")


def sample(folder, draws, cores, every=0.2, tune=100):
    model = bid.gbtn(A, identity=True)
    options = {"chains": 2, "random_seed": 1, "progressbar": False, "checkpoint_every": every}
    return bid.sample(model, folder, draws=draws, tune=tune, cores=cores, **options)


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def flushed(folder):
    """When chains were flushed, as the file system has it."""
    return [path.stat().st_mtime_ns for path in folder.glob("chain-?.npz")]


def kill_after(run, folder, seconds, group):
    """Kill a run so long after it has flushed something; say whether it was still there."""
    before = flushed(folder)
    while flushed(folder) == before and run.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    is_there = run.poll() is None
    if is_there and group:
        os.killpg(run.pid, signal.SIGKILL)
    elif is_there:
        run.kill()
    # Processes of chains end as well: what they say is awaited.
    run.communicate(timeout=120)
    return is_there


@posix_only
@pytest.mark.parametrize(
    ("draws", "kills", "longest"),
    [(400, 1, 0.1), pytest.param(40_000, 20, 3.0, marks=pytest.mark.slow)],
)
def test_a_run_that_is_killed_and_called_again_ends_with_the_same_draws(
    tmp_path, draws, kills, longest
):
    rng, killed = np.random.default_rng(0), 0
    folder = tmp_path / "killed"
    for number in range(kills):
        run = start(folder, draws, 1 + number % 2)
        killed += kill_after(run, folder, rng.uniform(0, longest), group=number % 4 < 2)
    assert killed == kills
    sample(folder, draws, 2)
    sample(tmp_path / "unbroken", draws, 1)
    assert (folder / DRAWS).read_bytes() == (tmp_path / "unbroken" / DRAWS).read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["run.json", DRAWS, "chain-0.npz", "chain-1.npz"]
    )


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        subprocess.run(["mount", *options], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("cores", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_full_disk_is_an_error_in_one_line_and_loses_nothing(tmp_path, small_disk, cores):
    folder, other = small_disk / "run", small_disk / "other"
    # Less is left than draws and states take.
    other.write_bytes(bytes(850_000))
    with (
        pytest.warns(UserWarning, match="are free there"),
        pytest.raises(
            OSError, match=r"No space left on device. What the run in .* is kept"
        ) as error,
    ):
        sample(folder, 100, cores, every=0, tune=10)
    assert error.value.errno == errno.ENOSPC
    assert "\n" not in str(error.value) and error.value.__suppress_context__
    # Every draw up to the state that was flushed last.
    sample(tmp_path / "elsewhere", 100, 1, tune=10)
    kept, expected = ((x / DRAWS).read_bytes() for x in (folder, tmp_path / "elsewhere"))
    with np.load(folder / "chain-0.npz") as state:
        flushed = json.loads(state["tree"].tobytes())["iteration"] - 10
    assert 0 < flushed < 100
    size = len(expected) // 200
    for draw in range(flushed):
        place = slice(2 * draw * size, (2 * draw + 1) * size)
        assert kept[place] == expected[place]
    other.unlink()
    sample(folder, 100, cores, tune=10)
    assert (folder / DRAWS).read_bytes() == expected


def test_a_file_is_there_as_a_whole_or_as_it_was(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fail(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_beside(path, fail)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file", b"before")]
    write_beside(path, lambda file: file.write(b"after"))
    assert path.read_bytes() == b"after"
