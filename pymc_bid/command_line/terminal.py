"""Text that any terminal, pipe or page can show."""

import codecs
import contextlib
import io
import os
import sys
from collections.abc import Iterator

PLAIN = {"±": "+-", "·": "*", "×": "x", "…": "...", "–": "-", "²": "2", "σ": "sigma", "≤": "<="}
"""What is written where a terminal does not know a letter; of others a question mark."""


def allow_any_letter() -> None:
    """Write what the terminal's letters can't show in others, in place of an error."""
    codecs.register_error("pymc_bid", _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not knows_all_letters(stream):
            stream.reconfigure(errors="pymc_bid")


def knows_all_letters(stream: object) -> bool:
    """Whether the encoding of a stream is one of Unicode's."""
    return str(getattr(stream, "encoding", "utf-8")).lower().startswith("utf")


def plain(name: object) -> str:
    """Return a name as one line without letters that control a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(name))


@contextlib.contextmanager
def until_reader_leaves() -> Iterator[None]:
    """Print until whoever reads the standard output, such as `head`, has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(letter, "?") for letter in text), error.end
