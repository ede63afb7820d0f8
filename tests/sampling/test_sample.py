"""Draws on disk are those that `pm.sample` has in memory, however often a run was broken off."""

import gc
import json
import mmap
import os
import threading

import numpy as np
import psutil
import pymc as pm
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.sampling.folder import DRAWS

TABLE = bid.datasets.make_planted(rows=20, columns=6, rank=3, noise=0.5).A
SETTINGS = {
    **{"draws": 30, "tune": 30, "chains": 2, "cores": 1},
    **{"random_seed": 42, "progressbar": False},
}


class BrokenOffError(Exception):
    pass


def break_at(draw, error=BrokenOffError, chain=0):
    """A callback that ends a run at a draw of a chain, tuning included."""

    def callback(trace, draw):
        if (draw.chain, draw.draw_idx) == place:
            raise error

    place = (chain, draw)
    return callback


def sample(folder, model=None, **options):
    return bid.sample(
        bid.gbt(TABLE, identity=True) if model is None else model, folder, **SETTINGS | options
    )


@pytest.fixture(scope="module")
def in_memory():
    options = {**SETTINGS, "compute_convergence_checks": False}
    with bid.gbt(TABLE, identity=True):
        return pm.sample(**options)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    return folder, sample(folder)


def assert_same(first, second, draws=None):
    for group in ("posterior", "sample_stats", "observed_data"):
        one, other = first[group], second[group]
        assert set(one.data_vars) == set(other.data_vars)
        for name in one.data_vars:
            assert one[name].dims == other[name].dims
            assert set(one[name].coords) == set(other[name].coords)
            values = [np.asarray(x[name]) for x in (one, other)]
            if draws is not None and group != "observed_data":
                values = [x[:, :draws] for x in values]
            np.testing.assert_array_equal(*values, name, strict=True)


def test_draws_and_statistics_are_those_of_pymc(in_memory, unbroken):
    assert_same(in_memory, unbroken[1])
    assert type(in_memory) is type(unbroken[1])
    columns = in_memory["posterior"]["column"].values
    np.testing.assert_array_equal(columns, unbroken[1]["posterior"]["column"].values)


def test_draws_go_to_netcdf(in_memory, tmp_path):
    in_memory.to_netcdf(str(tmp_path / "draws.nc"))
    with xr.open_dataset(tmp_path / "draws.nc", group="posterior", engine="h5netcdf") as read:
        for name, values in in_memory["posterior"].data_vars.items():
            np.testing.assert_array_equal(read[name].values, values.values)


@pytest.mark.skipif(os.name == "nt", reason="psutil counts no descriptors there")
def test_no_thread_file_or_process_is_left_behind(tmp_path):
    process = psutil.Process()

    def count():
        gc.collect()
        return threading.active_count(), process.num_fds(), len(process.children(recursive=True))

    def both(folder):
        with bid.gbt(TABLE, identity=True):
            pm.sample(**{**SETTINGS, "cores": 2, "compute_convergence_checks": False})
        with pytest.raises(BrokenOffError):
            sample(folder, callback=break_at(5))
        del sample(folder)["posterior"]

    # What the first time loads stays.
    both(tmp_path / "first")
    before = count()
    both(tmp_path / "second")
    assert count() == before
    assert not list(tmp_path.rglob("*.part"))


def test_draws_stay_on_disk(unbroken):
    values = unbroken[1]["posterior"]["Y"].values
    while isinstance(values.base, np.ndarray):
        values = values.base
    assert isinstance(values.base, mmap.mmap)


@pytest.mark.filterwarnings("ignore:Only .* of the draws", "ignore:not converged")
def test_results_are_read_from_them(unbroken, in_memory):
    first, second = (bid.decompose(idata, TABLE) for idata in (unbroken[1], in_memory))
    np.testing.assert_array_equal(first.W, second.W)


@pytest.mark.parametrize(
    "broken",
    [
        [(17, 0), (29, 0), (30, 0), (47, 1)],
        pytest.param([(3, 0), (31, 0), (59, 0), (0, 1), (1, 1)], marks=pytest.mark.slow),
    ],
)
def test_a_run_that_was_broken_off_goes_on_as_if_it_had_not_been(tmp_path, unbroken, broken):
    for draw, chain in broken:
        with pytest.raises(BrokenOffError):
            sample(tmp_path, callback=break_at(draw, chain=chain), checkpoint_every=0)
    assert_same(unbroken[1], sample(tmp_path))
    assert (tmp_path / DRAWS).read_bytes() == (unbroken[0] / DRAWS).read_bytes()


def test_what_was_flushed_is_not_drawn_again(tmp_path, unbroken):
    with pytest.raises(BrokenOffError):
        sample(tmp_path, callback=break_at(45), checkpoint_every=0)
    size = (unbroken[0] / DRAWS).stat().st_size // (SETTINGS["draws"] * SETTINGS["chains"])
    marked = SETTINGS["chains"] * 15  # The last draw of the first chain.
    with open(tmp_path / DRAWS, "r+b") as file:
        file.seek(marked * size)
        before = file.read(size)
        file.seek(marked * size)
        file.write(bytes(size))
    sample(tmp_path)
    records = (tmp_path / DRAWS).read_bytes()
    assert records[marked * size : (marked + 1) * size] == bytes(size)
    mended = records[: marked * size] + before + records[(marked + 1) * size :]
    assert mended == (unbroken[0] / DRAWS).read_bytes()


def test_an_interrupt_returns_what_is_there_and_the_run_goes_on(tmp_path, unbroken):
    callback = break_at(49, KeyboardInterrupt, chain=1)
    interrupted = sample(tmp_path, callback=callback)
    sizes = dict(interrupted["posterior"].sizes)
    assert (sizes["chain"], sizes["draw"]) == (2, 20)
    assert_same(unbroken[1], interrupted, 20)
    assert_same(unbroken[1], sample(tmp_path))


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_two_processes_draw_the_same_and_go_on_where_one_ended(tmp_path, unbroken, context):
    with pytest.raises(BrokenOffError):
        sample(tmp_path, callback=break_at(40), checkpoint_every=0)
    got = sample(tmp_path, cores=2, mp_ctx=context)
    assert_same(unbroken[1], got)
    assert "sampling_time" not in got["posterior"].attrs


def test_two_decompositions_in_one_model_go_on_too(tmp_path):
    def two():
        with pm.Model() as model:
            for name in ("first", "second"):
                with pm.Model(name=name):
                    bid.gbt(TABLE, identity=True)
        return model

    short = {"draws": 10, "tune": 10, "chains": 1}
    whole = sample(tmp_path / "whole", two(), **short)
    with pytest.raises(BrokenOffError):
        sample(tmp_path / "broken", two(), callback=break_at(13), checkpoint_every=0, **short)
    assert_same(whole, sample(tmp_path / "broken", two(), **short))


def test_a_callback_sees_the_points_of_draws_that_are_read_back(tmp_path, unbroken):
    sample(tmp_path)
    model = bid.gbt(TABLE, identity=True)
    keep = bid.RunningMeans(model)
    sample(tmp_path, model, callback=keep)
    assert keep.number == 60
    r = np.asarray(unbroken[1]["posterior"]["r"])
    np.testing.assert_allclose(keep.inclusion, r.mean(axis=(0, 1)))


def test_more_draws_go_on_from_the_end_and_fewer_lose_none(tmp_path, unbroken):
    assert_same(sample(tmp_path, draws=12), unbroken[1], 12)
    assert_same(sample(tmp_path), unbroken[1])
    assert sample(tmp_path, draws=5)["posterior"].sizes["draw"] == 5
    assert (tmp_path / DRAWS).read_bytes() == (unbroken[0] / DRAWS).read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": bid.gbt(TABLE + 1, identity=True)}, "another model or other data"),
        ({"random_seed": 43}, "random_seed 42, not 43"),
        ({"tune": 31}, "tune 30, not 31"),
        ({"chains": 3}, "chains 2, not 3"),
        ({"bid_weights": {"nu": 3}}, r"options \[\], not \[\('bid_weights', \{'nu': 3\}\)\]"),
    ],
)
def test_another_run_is_refused(unbroken, options, message):
    before = (unbroken[0] / DRAWS).read_bytes()
    with pytest.raises(ValueError, match=f"has a run with {message}; give this one another folder"):
        sample(unbroken[0], **options)
    assert (unbroken[0] / DRAWS).read_bytes() == before


def test_without_a_seed_the_run_keeps_its_own(tmp_path):
    first = sample(tmp_path, random_seed=None, draws=5, tune=5)
    assert json.loads((tmp_path / "run.json").read_text())["random_seed"] > 0
    assert_same(first, sample(tmp_path, random_seed=None, draws=5, tune=5))


def test_arguments_without_a_meaning_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"bid.sample has no argument trace"):
        sample(tmp_path, trace=None)
