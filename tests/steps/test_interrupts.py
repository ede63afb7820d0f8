"""An interrupt waits for the step to end: it must not reach compiled code."""

import signal

import pytest

import pymc_bid as bid
from pymc_bid.steps.interrupts import finish_before_interrupt
from tests.helpers.cases import small_data


@pytest.fixture(autouse=True)
def interruptible():
    """A shell starts processes in the background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
