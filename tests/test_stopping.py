"""Sampling ends when error and K are stationary, however PyMC runs its chains."""

import multiprocessing
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest

import pymc_bid as bid

A = bid.datasets.make_planted(rows=30, columns=6, rank=3, noise=0.3, seed=1).A


@pytest.mark.parametrize("cores", [1, 2])
def test_pm_sample_returns_the_draws_so_far(cores):
    rule = bid.StopWhenStationary(every=50, minimum=100, ess=100)
    with bid.gbt(A, k=3):
        idata = pm.sample(
            draws=20_000,
            tune=100,
            chains=2,
            cores=cores,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            callback=rule,
            var_names=["r", "sigma2"],
        )
    sizes = idata["posterior"].sizes
    assert sizes["chain"] == 2
    assert sizes["draw"] == rule.stopped_at < 20_000
    assert idata["sample_stats"].sizes["draw"] == rule.stopped_at


def test_pymc_starts_a_process_for_each_chain_before_the_first_draw():
    """What the rule relies on; else it would stop here and lose the chain that waits."""
    rule = bid.StopWhenStationary(every=5, minimum=10, r_hat=100, ess=0)
    with bid.gbt(A, k=3), pytest.warns(UserWarning, match="use cores=chains"):
        idata = pm.sample(
            draws=40,
            tune=0,
            chains=3,
            cores=2,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            callback=rule,
        )
    assert idata["posterior"].sizes["chain"] == 3


class Run:
    """Hands made-up draws to a rule, in the order in which PyMC would."""

    def __init__(self, rule, monkeypatch, workers):
        self.rule = rule
        processes = [SimpleNamespace(pid=-1 - chain) for chain in range(workers)]
        monkeypatch.setattr(multiprocessing, "active_children", lambda: processes)

    def draw(self, chain, index, error, size=3, last=False):
        """Whether the rule ended sampling."""
        statistics = [{"bid_K": size}, {"bid_mse": error}]
        draw = SimpleNamespace(
            chain=chain, draw_idx=index, tuning=False, is_last=last, stats=statistics
        )
        try:
            self.rule(trace=None, draw=draw)
        except KeyboardInterrupt:
            return True
        return False


def test_chains_that_run_at_once_end_when_they_agree(monkeypatch):
    rng = np.random.default_rng(0)
    rule = bid.StopWhenStationary(every=100, minimum=200, ess=100)
    run = Run(rule, monkeypatch, workers=2)
    for index in range(1000):
        if any([run.draw(chain, index, rng.normal()) for chain in range(2)]):
            break
    assert rule.stopped_at == index + 1 and rule.stopped_at % 100 == 0
    assert rule.stopped_at >= 200


@pytest.mark.parametrize(
    ("offset", "size"), [(5.0, 3), (0.0, 4)], ids=["error apart", "K stuck apart"]
)
def test_chains_that_disagree_go_on(monkeypatch, offset, size):
    rng = np.random.default_rng(0)
    rule = bid.StopWhenStationary(every=100, minimum=200, ess=100)
    run = Run(rule, monkeypatch, workers=2)
    for index in range(1000):
        assert not run.draw(0, index, rng.normal())
        assert not run.draw(1, index, rng.normal() + offset, size=size)
    assert rule.stopped_at is None


def test_no_chain_is_lost_where_some_wait(monkeypatch):
    """Two chains end at 1000 draws before the other two begin: PyMC would drop the short ones."""
    rng = np.random.default_rng(0)
    rule = bid.StopWhenStationary(every=100, minimum=200, ess=100)
    run = Run(rule, monkeypatch, workers=4)
    for index in range(999):
        for chain in (0, 1):
            assert not run.draw(chain, index, rng.normal())
    with pytest.warns(UserWarning, match="use cores=chains"):
        assert not run.draw(0, 999, rng.normal(), last=True)
        assert not run.draw(1, 999, rng.normal(), last=True)
    for index in range(1000):
        if any([run.draw(chain, index, rng.normal()) for chain in (2, 3)]):
            break
    assert 500 <= rule.stopped_at < 1000


def test_chains_in_turn_get_the_length_of_the_first(monkeypatch):
    rng = np.random.default_rng(0)
    rule = bid.StopWhenStationary(every=100, minimum=200, ess=100)
    run = Run(rule, monkeypatch, workers=0)
    lengths = []
    for chain in range(3):
        for index in range(1000):
            if run.draw(chain, index, rng.normal()):
                break
        lengths.append(index + 1)
    assert lengths == [rule.stopped_at] * 3
    # The same rule again, for another run.
    assert not run.draw(0, 0, rng.normal())
    assert rule.stopped_at is None


def test_processes_of_others_are_not_taken_for_chains(monkeypatch):
    monkeypatch.setattr(multiprocessing, "active_children", lambda: [SimpleNamespace(pid=-1)])
    rng = np.random.default_rng(0)
    rule = bid.StopWhenStationary(every=100, minimum=200, ess=100)
    run = Run(rule, monkeypatch, workers=1)
    assert any(run.draw(0, index, rng.normal()) for index in range(1000))
    assert not any(run.draw(1, index, rng.normal()) for index in range(rule.stopped_at - 1))
    assert run.draw(1, rule.stopped_at - 1, rng.normal())


def test_a_drifting_first_chain_goes_on(monkeypatch):
    run = Run(bid.StopWhenStationary(ess=10), monkeypatch, workers=0)
    rng = np.random.default_rng(0)
    assert not any(run.draw(0, index, rng.normal() + 0.01 * index) for index in range(1000))


def test_bad_use_is_named(monkeypatch):
    for arguments in ({"every": 0}, {"minimum": 1.5}, {"r_hat": 1.0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            bid.StopWhenStationary(**arguments)
    rule = bid.StopWhenStationary()
    draw = SimpleNamespace(chain=0, draw_idx=0, tuning=False, is_last=False, stats=[{"tune": 1}])
    with pytest.raises(ValueError, match="bid_mse, bid_K"):
        rule(trace=None, draw=draw)
