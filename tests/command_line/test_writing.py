"""Results appear whole or not at all, and never in place of the data."""

import os
import subprocess

import pytest

from pymc_bid.command_line import fit
from pymc_bid.command_line.interrupts import Interrupts
from pymc_bid.command_line.main import UNUSABLE, Unwritten, main
from pymc_bid.command_line.writing import write_whole

DATA = "x,y,z\n1,2,4\n3,4,4\n5,1,2\n"


def same_path(folder):
    return folder / "data.csv"


def other_spelling(folder):
    (folder / "sub").mkdir()
    return folder / "sub" / ".." / "data.csv"


def symbolic_link(folder):
    (folder / "link.nc").symlink_to(folder / "data.csv")
    return folder / "link.nc"


def hard_link(folder):
    os.link(folder / "data.csv", folder / "hard.nc")
    return folder / "hard.nc"


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize("name", [same_path, other_spelling, symbolic_link, hard_link])
def test_the_data_are_never_written_over(tmp_path, capsys, option, name):
    data = tmp_path / "data.csv"
    data.write_text(DATA)
    assert main(["fit", str(data), option, str(name(tmp_path))]) == UNUSABLE
    printed = capsys.readouterr().err
    assert f"{option}: " in printed and "is the file that is read" in printed
    assert printed.count("\n") == 1 and data.read_text() == DATA


def test_two_results_are_not_written_to_one_file(tmp_path, capsys):
    path = str(tmp_path / "both")
    assert main(["fit", "--out", path, "--report", path]) == UNUSABLE
    assert "is the file of --out" in capsys.readouterr().err


def test_a_new_file_takes_the_place_of_the_old_one(tmp_path):
    target, link = tmp_path / "result.nc", tmp_path / "link.nc"
    write_whole(target, b"old", "--out")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, b"new", "--out")
    assert target.read_bytes() == b"new" and link.is_symlink()
    assert os.name == "nt" or target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.nc", "result.nc"]


@pytest.fixture
def full_disk(tmp_path):
    """A folder with room for about a hundred kilobytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if mounted:
        yield disk
        subprocess.run(["umount", "-l", str(disk)], check=True)
        return
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    yield disk
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_old_result_and_no_half_of_a_new_one(full_disk):
    target = full_disk / "result.nc"
    target.write_bytes(b"old")
    with pytest.raises(Unwritten, match=r"--out: .* was not written: (No space|File too large)"):
        write_whole(target, bytes(200_000), "--out")
    assert target.read_bytes() == b"old" and list(full_disk.iterdir()) == [target]


def test_what_was_found_is_printed_though_it_can_not_be_written(run, full_disk, capsys):
    options = run.outcome.options
    before = options.out, options.report, options.json
    options.out, options.report, options.json = full_disk / "a.nc", full_disk / "a.html", False
    interrupts = Interrupts()
    try:
        with pytest.raises(Unwritten, match="was not written"):
            fit._write(run.outcome, interrupts)
    finally:
        options.out, options.report, options.json = before
    assert run.outcome.result.headline()[:30] in capsys.readouterr().out
    left = list(full_disk.iterdir())
    assert left == interrupts.written and not any(path.suffix == ".part" for path in left)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no os.mkfifo")
def test_a_pipe_is_written_to_where_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Open at both ends, nobody waits for the other.
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    write_whole(pipe, b"all", "--report")
    assert os.read(reader, 10) == b"all" and pipe.is_fifo()
    os.close(reader)
