"""A run of the command that is kept in a folder, and gone on with."""

import json

import pytest

import pymc_bid as bid
from pymc_bid.command_line.main import UNUSABLE, main
from tests.command_line.conftest import SHORT


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A table, and the folder of a run of it that was made with few draws."""
    folder = tmp_path_factory.mktemp("checkpoint")
    planted = bid.datasets.make_planted(rows=40, columns=8, rank=3, noise=0.1, seed=2)
    planted.A.to_csv(folder / "data.csv", index=False)
    few = ["--draws", "20", "--tune", "60", "--chains", "2", "--cores", "1", "--seed", "3"]
    command = ["fit", str(folder / "data.csv"), "--quiet"]
    main([*command, *few, "--checkpoint", str(folder / "run")])
    return folder, [*command, *SHORT]


def printed(arguments, capsys):
    capsys.readouterr()
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_run_that_goes_on_ends_as_one_without_a_folder(begun, capsys):
    folder, command = begun
    kept = printed([*command, "--checkpoint", str(folder / "run"), "--resume"], capsys)
    whole = printed(command, capsys)
    for name in ("chosen", "inclusion", "weights", "r2"):
        assert kept[name] == whole[name], name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--resume"], "--resume needs the folder of the run: --checkpoint FOLDER"),
        (["--checkpoint", "{}/none", "--resume"], "--resume: there is no run in {}/none"),
        (["--checkpoint", "{}/data.csv"], "--checkpoint: {}/data.csv is no folder"),
        (["--checkpoint", "{}/run"], "{}/run has a run already; --resume goes on with it"),
        (
            ["--checkpoint", "{}/run", "--resume", "--k", "2"],
            "--checkpoint: {}/run has a run with another model or other data",
        ),
    ],
)
def test_a_folder_that_is_not_of_this_run_is_refused_in_one_line(begun, arguments, said, capsys):
    folder, command = begun
    code = main([*command, *(argument.format(folder) for argument in arguments)])
    output = capsys.readouterr().err
    assert code == UNUSABLE
    assert said.format(folder) in output and output.count("\n") == 1
