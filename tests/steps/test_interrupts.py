"""An interrupt waits for the step to end: it must not reach compiled code."""

import signal

import numpy as np
import pytest

import pymc_bid as bid
from pymc_bid.steps.interrupts import finish_before_interrupt, give_way
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


def test_weights_of_many_targets_are_drawn_in_pieces_with_the_same_numbers(monkeypatch):
    model = bid.gbt(small_data()[0])
    with model:
        step = bid.FlipStep([model["r"]], rng=1)
    point, found = model.initial_point(random_seed=1), []
    for most in (1e9, 1.0):
        monkeypatch.setattr("pymc_bid.kernels.exact.exchange.MOST_AT_ONCE", most)
        state = step.sampling_state
        step.rng, after = np.random.default_rng(2), point
        for _ in range(20):
            after, _ = step.step(after)
        found.append(after)
        step.sampling_state = state
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-9)


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
