"""Whatever is typed, and whatever is in the file: one line that says why not, or a run."""

import contextlib
import io
import os
import tempfile
from pathlib import Path

import pytest

from pymc_bid.command_line.main import UNUSABLE, main
from tests.fuzzing.files import Command, commands
from tests.fuzzing.judging import strictly, try_all

EXAMPLES = commands()
SAMPLED, REFUSED, HELP = "would be sampled", "refused", "help"
INTERRUPTED = 130


def interrupt(*arguments):
    """Stand for a user who presses Ctrl-C once all has been read and checked."""
    raise KeyboardInterrupt


def judge(command: Command) -> str:
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        pytest.MonkeyPatch.context() as patch,
        strictly(),
    ):
        patch.setattr("pymc_bid.command_line.fit._sample", interrupt)
        Path(command.name).write_bytes(command.content)
        Path("lists.txt").write_text(command.lists, encoding="utf-8")
        before = sorted(os.listdir())
        code, out, err = run(["fit", command.name, *command.arguments])
        assert Path(command.name).read_bytes() == command.content
        assert sorted(os.listdir()) == before, os.listdir()
    assert "Traceback" not in err
    if code == 0:
        assert "--help" in command.arguments and out.startswith("usage:")
        return HELP
    last = err.splitlines()[-1]
    assert last.startswith(("pymc-bid: ", "pymc-bid fit: error: ")), err
    assert out == ""
    if code == INTERRUPTED:
        return SAMPLED
    assert code == UNUSABLE, (code, err)
    # argparse says how the command is used before it says what is wrong.
    assert err.count("\n") == 1 or err.startswith("usage:"), err
    assert len(last) > len("pymc-bid: ") + 10, last
    return REFUSED


def run(arguments) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as left:
            code = left.code
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("number", [80, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_command_ends_in_one_line_or_a_run(number, report):
    outcomes = try_all(EXAMPLES, judge, number)
    report(outcomes)
    assert outcomes[SAMPLED] > number / 20 and outcomes[REFUSED] > number / 10, outcomes
