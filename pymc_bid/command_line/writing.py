"""Results appear whole or not at all, and never in place of the data."""

import contextlib
import os
import shutil
from argparse import Namespace
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pymc_bid.command_line.main import Problem, Unwritten
from pymc_bid.sampling.folder import SETTINGS


def check_outputs(options: Namespace) -> None:
    """Find out before sampling that a result can be written after it, and harms no other file."""
    taken = {"the file that is read": options.file, "the file of --score": options.score}
    for option, path in (("--out", options.out), ("--report", options.report)):
        if path is None:
            continue
        _check_name(option, path)
        folder = path.resolve().parent
        if not folder.is_dir():
            raise Problem(f"{option}: there is no folder {path.parent}.")
        for owner, other in taken.items():
            if other is not None and _overlap(path, other):
                raise Problem(f"{option}: {path} is {owner}; choose another name.")
        # A new file takes the place of an old one, which the folder has to allow.
        if path.is_dir() or not all(os.access(place, os.W_OK) for place in _touched(path)):
            raise Problem(f"{option}: {path} can't be written.")
        taken[f"the file of {option}"] = path
    _check_checkpoint(options)
    if options.report is not None and find_spec("matplotlib") is None:
        raise Problem('--report needs matplotlib: python -m pip install "pymc-bid[plots]"')


def _check_name(option: str, path: Path) -> None:
    """Refuse what no file can be called: a name that is too long, or has a character of code 0."""
    try:
        path.stat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Problem(f"{option}: {str(path)[:60]!r} can't be written: {reason}.") from None


def _check_checkpoint(options: Namespace) -> None:
    folder = options.checkpoint
    if folder is None:
        if options.resume:
            raise Problem("--resume needs the folder of the run: --checkpoint FOLDER.")
        return
    _check_name("--checkpoint", folder)
    if folder.exists() and not folder.is_dir():
        raise Problem(f"--checkpoint: {folder} is no folder.")
    has_run = (folder / SETTINGS).exists()
    if options.resume and not has_run:
        raise Problem(f"--resume: there is no run in {folder}.")
    if has_run and not options.resume:
        raise Problem(f"--checkpoint: {folder} has a run already; --resume goes on with it.")


def write_whole(path: Path, content: bytes, option: str) -> None:
    """Write a file beside its place and move it there, so that it is never half of one."""
    # Through a link to the file that it points to.
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            # A pipe or a device has no place to move to.
            target.write_bytes(content)
            return
        with _beside(target) as part:
            with part.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unwritten(f"{option}: {path} was not written: {reason}.") from None


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[Path]:
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def _overlap(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, or the first into a folder that is the other."""
    if path.exists() and other.exists() and path.samefile(other):
        return True
    return path.resolve().is_relative_to(other.resolve())


def _touched(path: Path) -> list[Path]:
    target = path.resolve()
    if target.exists() and not target.is_file():
        return [target]
    return [target.parent, *([target] if target.exists() else [])]
