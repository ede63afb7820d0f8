"""An interrupt waits for the step to end: it must not reach compiled code."""

import signal
import time

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.kernels.compilation import kernel
from pymc_bid.kernels.interrupts import give_way, waiting
from pymc_bid.kernels.marginal.eigen import symmetric_eigen
from pymc_bid.steps import interrupts as module
from pymc_bid.steps.interrupts import finish_before_interrupt
from tests.helpers.cases import small_data

pytestmark = pytest.mark.usefixtures("interruptible")


def test_the_interrupt_comes_after_the_work_and_the_handler_is_put_back():
    handler, ended = signal.getsignal(signal.SIGINT), []

    @finish_before_interrupt
    def work():
        signal.raise_signal(signal.SIGINT)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert ended == [True]
    assert signal.getsignal(signal.SIGINT) is handler


def test_work_gives_way_between_two_pieces_and_starts_again_where_the_handler_lets_it():
    done = []

    @finish_before_interrupt
    def work(interrupted):
        for piece in range(3):
            give_way()
            done.append(piece)
            if piece == 1 and interrupted and len(done) == 2:
                signal.raise_signal(signal.SIGINT)
        return "ended"

    with pytest.raises(KeyboardInterrupt):
        work(True)
    assert done == [0, 1]
    assert work(False) == "ended"
    done.clear()
    handled = []
    signal.signal(signal.SIGINT, lambda *received: handled.append(received))
    assert work(True) == "ended"
    assert done == [0, 1, 0, 1, 2]
    assert len(handled) == 1


def test_an_error_does_not_leave_an_interrupt_waiting_for_the_next_step():
    @finish_before_interrupt
    def work(fails):
        give_way()
        signal.raise_signal(signal.SIGINT)
        if fails:
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        work(True)
    ended = finish_before_interrupt(lambda: give_way() or "ended")
    assert ended() == "ended"


def test_a_second_interrupt_does_not_wait(monkeypatch):
    handler, ended = signal.getsignal(signal.SIGINT), []

    @finish_before_interrupt
    def work():
        signal.raise_signal(signal.SIGINT)
        # A key that was pressed twice.
        signal.raise_signal(signal.SIGINT)
        ended.append("pressed twice")
        monkeypatch.setattr(module, "AGAIN", 0.0)
        signal.raise_signal(signal.SIGINT)
        ended.append("interrupted twice")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert ended == ["pressed twice"] and not waiting
    assert signal.getsignal(signal.SIGINT) is handler


def test_replicas_are_as_before_where_an_interrupt_came_in_the_middle_of_a_move(monkeypatch):
    model = bid.gbt(small_data()[0])
    with model:
        step = bid.FlipStep([model["r"]], rng=1)
    point, _ = step.step(model.initial_point(random_seed=1))
    replicas = step.ladder.replicas
    before = [values.copy() for values in replicas]

    def advance(rng, turn, path):
        for values in (replicas.states, replicas.fresh, replicas.visits, replicas.rejections):
            values[:] = 7
        raise KeyboardInterrupt

    monkeypatch.setattr("pymc_bid.steps.ladder.advance_integrated", advance)
    with pytest.raises(KeyboardInterrupt):
        step.step(point)
    for values, kept in zip(step.ladder.replicas, before, strict=True):
        np.testing.assert_array_equal(values, kept)


@kernel()
def work_for_long(matrix):
    """Half a minute for two thousand columns."""
    values, _ = symmetric_eigen(matrix)
    return values.sum()


@pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="Windows has no signal.setitimer to interrupt with"
)
@pytest.mark.parametrize("held_back", [False, True])
def test_a_long_kernel_is_broken_off(held_back):
    work = finish_before_interrupt(work_for_long) if held_back else work_for_long
    assert work(np.eye(2)) == 2.0
    # Noise: nothing ends early.
    matrix = np.random.default_rng(1).normal(size=(2000, 2000))
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            started = time.monotonic()
            work(matrix + matrix.T)
        assert time.monotonic() - started < 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert work(np.eye(2)) == 2.0


@pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="Windows has no signal.setitimer to interrupt with"
)
def test_interrupts_at_any_moment_leave_the_interpreter_alive():
    model = bid.gbt(small_data()[0])
    with model:
        steps = [bid.FlipStep([model["r"]]), bid.WeightStep([model["Y"]])]
    point = model.initial_point()
    for step in steps:
        point, _ = step.step(point)
        step.tune = False
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    interrupted = 0
    try:
        for trial in range(60):
            with pytest.raises(KeyboardInterrupt):
                # Within: on a busy machine the time may be over before the next line.
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + trial * 1e-5)
                while True:
                    for step in steps:
                        point, _ = step.step(point)
            interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupted == 60
