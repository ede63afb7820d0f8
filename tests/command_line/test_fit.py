"""The command from end to end: JSON, table, report, exit codes."""

import contextlib
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.command_line.as_json import print_json
from pymc_bid.command_line.main import DONE, UNUSABLE, main
from pymc_bid.command_line.summary import print_summary
from pymc_bid.command_line.terminal import allow_any_letter, plain, until_reader_leaves
from pymc_bid.results.size_prior import size_prior
from pymc_bid.results.words import percent_interval


def test_json_has_the_planted_columns_and_what_was_asked_for(run):
    found = run.json
    assert found["chosen"] == list(map(plain, run.columns))
    assert found["seed"] == 3 and found["draws"] == 60 and found["identity"] is True
    written = [str(run.folder / name) for name in ("result.nc", "report.html")]
    assert found["written"] == written


def test_json_has_the_numbers_of_the_result(run):
    found, result = run.json, run.outcome.result
    assert found["headline"] == result.headline()
    assert found["mean_r2"]["r2"] == pytest.approx(result.mean_r2["r2"])
    assert set(found["r2"]) | set(found["chosen"]) == set(found["inclusion"])
    assert found["r2"]["c06"]["lower"] == pytest.approx(result.r2.loc["c06", "lower"])
    weights = result.W.to_pandas()
    assert found["weights"][weights.index[0]]["c06"] == pytest.approx(weights["c06"].iloc[0])
    slopes, intercept = result.slopes.to_pandas(), result.intercept.to_pandas()
    assert found["slopes"][slopes.index[0]]["c06"] == pytest.approx(slopes["c06"].iloc[0])
    assert found["intercept"]["c06"] == pytest.approx(intercept["c06"])
    before = size_prior(run.outcome.model, "r")
    assert list(found["number_of_columns_before"].values()) == pytest.approx(list(before))
    assert found["sets"][0]["columns"] == found["chosen"]
    assert found["diagnostics"]["error"]["r_hat"] > 0.9
    assert set(found["replacements"]) == set(found["chosen"]) - set(found["include"])
    curve = found["size_curve"]
    assert "0" not in curve and curve["1"]["columns"] == found["include"]
    assert curve["3"]["r2"] == pytest.approx(result.mean_r2["r2"], abs=0.02)


def test_json_has_what_was_asked_of_the_model(run):
    found = run.json
    assert found["model"] == "column_selection" and found["hierarchical"] is False
    assert found["k"] is None and found["expected"] == 3 and found["noise"] == "column"
    assert found["include"] == ["flow [/min]"] and found["exclude"] == ["°C, outside", "c07"]


def test_sets_that_hold_most_of_the_probability_are_listed(run, page, monkeypatch):
    probable = run.outcome.result.credible_sets(0.95)
    assert [row["columns"] for row in run.json["credible_sets"]] == [
        list(map(str, columns)) for columns in probable["columns"]
    ]
    assert sum(row["frequency"] for row in run.json["credible_sets"]) >= 0.95
    words = "".join(page.text)
    assert "Sets that hold 95 % of the probability" in words
    assert f"{probable['frequency'].iloc[0]:.2f}: {', '.join(probable['columns'].iloc[0])}" in words
    monkeypatch.setenv("COLUMNS", "120")
    share = f"{probable['frequency'].iloc[0]:.2f}"
    one = "One set, up to interchangeable columns, has a probability of"
    said = one if len(probable) == 1 else "the one reported has"
    assert f"{said} {share}." in shown(run.outcome)


def test_the_report_says_what_was_asked_for(run, page):
    words = "".join(page.text)
    assert "include: flow [/min]" in words and "exclude: °C, outside, c07" in words
    assert "K left to the data, about 3 expected before" in words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.754, 0.742, 0.76), "75 % (74 to 76)"),
        ((0.9612, 0.9601, 0.9623), "96.1 % (96.0 to 96.2)"),
        ((0.9981, 0.9979, 0.9984), "99.8 % (99.8 to 99.8)"),
        ((-0.0001, -0.0002, 0.0001), "0.0 % (0.0 to 0.0)"),
        ((-0.001, -0.02, 0.03), "0 % (-2 to 3)"),
    ],
)
def test_an_interval_has_as_many_digits_as_it_takes(numbers, words):
    assert percent_interval(*numbers) == words


def test_lists_are_scored_next_to_what_was_found(run, page):
    scores = run.json["scores"]
    assert scores["mine"]["columns"] == ["c06", "c07"]
    assert scores["found"]["columns"] == run.json["chosen"]
    assert scores["found"]["log_evidence"] > scores["mine"]["log_evidence"]
    assert "mine: c06, c07." in "".join(page.text) and "mine" in shown(run.outcome)


def test_the_result_file_has_the_units_of_the_data(run):
    result = bid.InterpolativeDecomposition.from_netcdf(run.folder / "result.nc")
    assert result.columns == list(map(plain, run.columns))
    np.testing.assert_allclose(result.C, run.table[run.columns])
    assert float(abs(result.reconstruct() - run.table.to_numpy()).mean()) < 30


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.sources, self.text, self.tags, self.viewport = [], [], [], False

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append(tag)
        self.sources += [named[key] for key in ("src", "srcset", "href") if key in named]
        self.viewport |= named.get("name") == "viewport"

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def page(run):
    page = Page()
    page.feed((run.folder / "report.html").read_text(encoding="utf-8"))
    return page


def test_the_report_is_one_page_that_loads_nothing(run, page):
    content = (run.folder / "report.html").read_text(encoding="utf-8")
    assert page.viewport and len(page.sources) >= 10
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert "http" not in re.sub('base64,[^"]*', "", content)
    words = "".join(page.text)
    assert 'from_netcdf("result.nc")' in words
    assert any(verdict in words for verdict in ("chains agree", "Not converged"))


def test_names_are_text_in_the_report(run, page):
    words = "".join(page.text)
    assert all(plain(name) in words for name in run.table.columns)
    assert "b" not in page.tags


def shown(outcome, encoding="utf-8", printer=print_summary):
    """What a terminal with these letters is sent."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    with contextlib.redirect_stdout(stream):
        allow_any_letter()
        printer(outcome, [])
    return stream.buffer.getvalue().decode(encoding)


def test_names_are_text_in_the_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    printed = shown(run.outcome)
    assert all(plain(name) in printed for name in run.table.columns)
    assert "\x1b" not in printed


def test_a_terminal_with_few_letters_is_written_to(run):
    printed = shown(run.outcome, "ascii")
    assert run.outcome.result.headline()[:20] in printed
    # What programs read is the same with few letters.
    assert shown(run.outcome, "ascii", print_json).isascii()


def test_no_color_means_none(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in shown(run.outcome)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown(run.outcome))


@pytest.mark.skipif(os.name == "nt", reason="Windows has another error for it")
def test_a_reader_who_leaves_is_no_error(run, monkeypatch, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with until_reader_leaves():
            print_summary(run.outcome, [])
        # What Python does at its end.
        stream.flush()


def test_the_table_names_columns_and_exit_codes_tell_convergence(capsys):
    short = ["--draws", "60", "--tune", "60", "--chains", "1", "--seed", "1"]
    code = main(["fit", *short, "--quiet", "--k", "2"])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert code == DONE  # one chain: can't tell
    assert "2 of 15 columns explain" in printed.out
    assert "probability" in printed.out and "planted" in printed.out
    assert "There is one chain" in printed.out


def test_a_single_draw_is_not_called_converged(capsys):
    short = ["--draws", "1", "--tune", "20", "--chains", "2", "--cores", "1", "--seed", "1"]
    main(["fit", *short, "--quiet", "--k", "2"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "1 draws of each chain, and 100 or more are needed" in printed
    assert "converged:" not in printed.replace("not converged:", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "99"], "k must be between 0 and the 15 columns"),
        (["--out", "nowhere/result.nc"], "--out: there is no folder nowhere"),
        (["--report", "."], "--report: . can't be written"),
        (["--out", "x" * 300], "--out: 'x{60}' can't be written: File name too long"),
        (["--report", "a\0b"], r"--report: 'a\\x00b' can't be written: .*null"),
        (["--checkpoint", "a\0b"], r"--checkpoint: 'a\\x00b' can't be written: .*null"),
        (["--drop", "c99"], "no column c99"),
        (["--drop", "c01,c98"], "no column c98"),
        (["--include", "c97"], "--include: the example has no column c97"),
        (["--expected", "3", "--paper"], "--expected has no effect on the paper's model"),
    ],
)
def test_what_can_be_known_before_sampling_is_said_before(arguments, message, capsys):
    assert main(["fit", *arguments]) == UNUSABLE
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "-1"], "--seed: must be a whole number, 0 or more, got '-1'"),
        (["--draws", "0"], "--draws: must be a whole number, 1 or more, got '0'"),
        (["--draws", "many"], "--draws: must be a whole number, 1 or more, got 'many'"),
        (["--k", "2.5"], "--k: must be a whole number, 1 or more, got '2.5'"),
        (["--drop", "a", "b", "data.csv"], "several names are given as --drop a,b or as"),
    ],
)
def test_arguments_that_mean_nothing_are_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as raised:
        main(["fit", *arguments])
    assert raised.value.code == UNUSABLE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_does_not_import_pymc(arguments):
    code = f"""
import sys
sys.orig_argv[1:3] = ["-m", "pymc_bid"]
from pymc_bid.command_line.main import main
try:
    main({arguments!r})
finally:
    assert "pymc" not in sys.modules, "pymc was imported"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pymc-bid" in done.stdout
