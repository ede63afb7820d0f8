"""Ctrl-C and SIGTERM keep what was drawn; a second signal quits at once."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pymc as pm
import pytest

import pymc_bid as bid
from pymc_bid.command_line import interrupts as module
from pymc_bid.command_line.interrupts import Interrupts, Quit
from pymc_bid.kernels.interrupts import give_way
from pymc_bid.steps.interrupts import finish_before_interrupt

pytestmark = [
    pytest.mark.usefixtures("interruptible"),
    pytest.mark.skipif(
        os.name == "nt", reason="Windows has neither these signals nor pseudo-terminals"
    ),
]
DRAW = SimpleNamespace(tuning=False, is_last=False)
INTERRUPTED, TERMINATED = 130, 143


def send(number):
    os.kill(os.getpid(), number)
    # Handlers are called between two instructions.
    for _ in range(3):
        pass


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)]
)
def test_the_first_signal_lets_the_work_go_on_and_the_second_does_not(monkeypatch, number, code):
    with Interrupts() as interrupts:
        callback = interrupts.watch(chains=1, cores=1)
        callback(trace=None, draw=DRAW)
        send(number)
        # The next draw is the last one.
        with pytest.raises(KeyboardInterrupt):
            callback(trace=None, draw=DRAW)
        # Soon after, it is taken for the same one.
        send(number)
        monkeypatch.setattr(module, "SAME", 0.0)
        with pytest.raises(Quit):
            send(number)
    assert interrupts.exit_code == code and interrupts.drawn == 2


def test_a_step_that_gives_way_ends_its_chain_at_once():
    with Interrupts() as interrupts:
        interrupts.watch(chains=1, cores=1)(trace=None, draw=DRAW)

        @finish_before_interrupt
        def work():
            send(signal.SIGINT)
            give_way()

        with pytest.raises(KeyboardInterrupt):
            work()
    assert interrupts.received == signal.SIGINT


def test_before_the_first_draw_there_is_nothing_to_keep():
    with Interrupts() as interrupts:
        interrupts.watch(chains=1, cores=1)(
            trace=None, draw=SimpleNamespace(tuning=True, is_last=False)
        )
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGTERM)


def test_chains_in_processes_are_ended_whatever_they_do():
    context = module.multiprocessing.get_context("fork")
    with Interrupts() as interrupts:
        callback = interrupts.watch(chains=2, cores=2)
        # One that would not notice for a minute.
        chain = context.Process(target=time.sleep, args=(60,), daemon=True)
        chain.start()
        callback(trace=None, draw=DRAW)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
        chain.join(5)
        assert chain.exitcode == -signal.SIGKILL


def test_signals_are_as_before_when_it_is_over():
    before = [signal.getsignal(number) for number in module.SIGNALS]
    ignored = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Interrupts():
        # As `nohup` and shells ask for.
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    signal.signal(signal.SIGTERM, ignored)
    assert [signal.getsignal(number) for number in module.SIGNALS] == before


def test_no_other_chain_starts_after_an_interrupt():
    """With one core: PyMC would end this chain alone, and go on with the next."""
    A = bid.datasets.make_planted(rows=30, columns=6, rank=3, noise=0.3, seed=1).A
    begun = set()
    with Interrupts() as interrupts, bid.gbt(A, k=3):
        callback = interrupts.watch(chains=3, cores=1)

        def press(trace, draw):
            begun.add((draw.chain, draw.draw_idx))
            if len(begun) == 30:
                send(signal.SIGINT)
            callback(trace=trace, draw=draw)

        idata = pm.sample(
            50,
            tune=10,
            chains=3,
            cores=1,
            callback=press,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    assert idata["posterior"].sizes["chain"] == 1
    assert idata["posterior"].sizes["draw"] >= 18
    # One draw each, from which they learn that it is over.
    assert sorted(begun)[30:] == [(1, 0), (2, 0)]


class Command:
    """`pymc-bid fit` on a terminal of its own: while sampling progress is drawn only there."""

    def __init__(self, *arguments):
        terminal, other = os.openpty()
        command = [sys.executable, "-m", "pymc_bid", "fit", "--json", "--tune", "5"]
        self.process = subprocess.Popen(
            [*command, "--draws", "50000", *arguments],
            stdout=subprocess.PIPE,
            stderr=other,
            cwd=Path(bid.__file__).parents[1],
            start_new_session=True,
            # A shell starts processes in the background with interrupts ignored, and so their own.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(other)
        self.seen = ""
        self._drawing = threading.Event()
        self._reader = threading.Thread(target=self._watch, args=(terminal,), daemon=True)
        self._reader.start()
        if not self._drawing.wait(timeout=300):
            self.process.kill()
            pytest.fail(f"Nothing was drawn: {self.seen[-2000:]}")
        self.others = psutil.Process(self.process.pid).children(recursive=True)

    def _watch(self, terminal):
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 4096):
                self.seen += part.decode(errors="replace")
                # Draw, K, perhaps the error, and how fast.
                row = r" (\d+) +\d+ +(?:[\d.]+ +)?[\d.]+ (?:draws/s|s/draw)"
                draws = re.findall(row, self.seen[-20000:])
                if any(int(number) > 50 for number in draws):
                    self._drawing.set()

    def press(self):
        """As a terminal does: all processes of the group are sent it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self):
        """What was printed and what was said."""
        printed, _ = self.process.communicate(timeout=300)
        self._reader.join(10)
        _, alive = psutil.wait_procs(self.others, timeout=10)
        assert not alive
        return printed, self.seen


def test_a_termination_keeps_what_was_drawn_and_leaves_no_process(tmp_path):
    command = Command("--chains", "2", "--cores", "2", "--out", str(tmp_path / "result.nc"))
    assert command.others
    command.process.terminate()
    found = json.loads(command.end()[0])
    assert command.process.returncode == TERMINATED
    assert found["interrupted"] and 0 < found["draws"] < 50000
    result = bid.InterpolativeDecomposition.from_netcdf(tmp_path / "result.nc")
    assert result.columns == found["chosen"]


@pytest.mark.slow
@pytest.mark.parametrize("cores", ["1", "2"])
def test_a_key_pressed_twice_is_one_interrupt(cores):
    command = Command("--chains", "2", "--cores", cores)
    command.press()
    time.sleep(0.3)
    command.press()
    found = json.loads(command.end()[0])
    assert command.process.returncode == INTERRUPTED
    assert found["interrupted"] and 0 < found["draws"] < 50000


@pytest.mark.slow
@pytest.mark.parametrize("cores", ["1", "2"])
def test_a_second_interrupt_quits_and_says_what_is_true(cores, tmp_path):
    command = Command("--chains", "2", "--cores", cores, "--report", str(tmp_path / "a.html"))
    command.press()
    time.sleep(1.2)
    started = time.monotonic()
    command.press()
    _, said = command.end()
    assert command.process.returncode == INTERRUPTED
    if "quit by a second signal" in said:
        assert "nothing was written" in said and time.monotonic() - started < 30
        assert not list(tmp_path.iterdir())
    assert "before anything was drawn" not in said and "Traceback" not in said
