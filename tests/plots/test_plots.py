"""Every picture is made, on the axes given, and its labels do not overlap."""

import ast
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pymc_bid as bid
from pymc_bid.results.posterior import read_group
from tests.helpers.draws import as_idata, make_draws


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def decomposition(columns, chosen, draws=4):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(30, columns))
    labels = [f"sample number {column:04d}" for column in range(columns)]
    sets = [rng.permutation(columns)[:chosen]] * 2
    idata = make_draws(data, sets, draws=draws, labels=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return idata, bid.decompose(idata, data), data


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(24, marks=pytest.mark.slow),
        48,
        254,
        pytest.param(1000, marks=pytest.mark.slow),
    ],
)
def sized(request):
    return decomposition(request.param, request.param // 4 if request.param < 100 else 12)


@pytest.fixture(scope="module")
def small():
    return decomposition(8, 3, draws=30)


def overlapping(figure):
    """Pairs of neighbouring tick labels that overlap as drawn."""
    figure.canvas.draw()
    found = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label for label in axis.get_ticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in labels]
            pairs = zip(boxes[:-1], boxes[1:], labels[1:], strict=True)
            found += [label.get_text() for left, right, label in pairs if left.overlaps(right)]
    return found


def test_labels_do_not_overlap(sized):
    _, result, data = sized
    for axes in (
        bid.plot_inclusion(result),
        bid.plot_decomposition(result, data),
        bid.plot_weights(result),
    ):
        assert overlapping(np.ravel(axes)[0].figure) == []


def test_all_columns_are_named_where_they_fit():
    _, result, _ = decomposition(48, 12)
    names = [label.get_text() for label in bid.plot_inclusion(result).get_xticklabels()]
    assert names == result.inclusion.index.tolist()


def test_the_chosen_columns_are_named_where_not_all_fit():
    _, result, data = decomposition(254, 3)
    shown = {
        label.get_text() for label in bid.plot_decomposition(result, data)[0].get_xticklabels()
    }
    assert shown and shown <= set(result.columns)


def test_bars_are_the_probabilities(small):
    idata, result, _ = small
    for source in (idata, result):
        axes = bid.plot_inclusion(source)
        heights = np.zeros(8)
        for bar in axes.patches:
            heights[round(bar.get_x() + bar.get_width() / 2)] = bar.get_height()
        np.testing.assert_allclose(heights, result.inclusion["inclusion"])


def test_lines_are_the_draws(small):
    idata, result, _ = small
    over, distribution = bid.plot_size(idata)
    assert len(over.lines) == 2
    np.testing.assert_array_equal(over.lines[0].get_ydata(), result.data["K"][0])
    assert sum(bar.get_width() for bar in distribution.patches) == pytest.approx(1)
    lines = bid.plot_error(result).lines
    np.testing.assert_array_equal(lines[0].get_ydata(), result.error_before[0])
    np.testing.assert_array_equal(lines[-1].get_ydata(), result.error_after[-1])
    reported = bid.plot_error(idata).lines
    np.testing.assert_allclose(reported[0].get_ydata(), result.error_before[0])
    series = bid.autocorrelation(idata, lags=9)
    for source in (idata, series):
        line = bid.plot_autocorrelation(source, lags=9).lines[0]
        np.testing.assert_allclose(line.get_ydata(), series)


def test_maps_are_the_matrices(small):
    _, result, data = small
    maps = [axes.images[0].get_array() for axes in bid.plot_decomposition(result, data)]
    np.testing.assert_allclose(maps[0], data)
    np.testing.assert_allclose(maps[1] + maps[2], data)
    # What is missing is not shown as if it were there.
    gaps = np.array(data)
    gaps[0, 0] = np.nan
    maps = [axes.images[0].get_array() for axes in bid.plot_decomposition(result, gaps)]
    assert [bool(np.ma.getmaskarray(shown)[0, 0]) for shown in maps] == [True, False, True]
    maps = [axes.images[0].get_array() for axes in bid.plot_weights(result)]
    np.testing.assert_allclose(maps[0], result.W)
    np.testing.assert_allclose(maps[1], result.W_sd)


def test_axes_given_are_the_axes_used(small):
    idata, result, data = small
    calls = [
        (1, lambda axes: bid.plot_inclusion(result, ax=axes[0])),
        (2, lambda axes: bid.plot_size(result, axes=axes)),
        (1, lambda axes: bid.plot_error(result, ax=axes[0])),
        (1, lambda axes: bid.plot_autocorrelation(idata, ax=axes[0], lags=5)),
        (3, lambda axes: bid.plot_decomposition(result, data, axes=axes)),
        (2, lambda axes: bid.plot_weights(result, axes=axes)),
    ]
    for number, call in calls:
        _, axes = plt.subplots(1, number, squeeze=False)
        returned = np.ravel(call(axes[0]))
        assert all(mine is given for mine, given in zip(returned, axes[0], strict=True))
    with pytest.raises(ValueError, match="needs 2 axes, got 1"):
        bid.plot_size(result, axes=axes[0][:1])


def test_what_is_missing_is_named(small):
    _, result, data = small
    with pytest.raises(ValueError, match="A lacks columns that the model has"):
        bid.plot_decomposition(result, data[:, :5])
    with pytest.raises(ValueError, match="bid_mse"):
        bid.plot_error({"posterior": result.to_xarray()})


def test_matplotlib_is_imported_inside_functions_only():
    # Not by looking at sys.modules: older versions of ArviZ import it themselves.
    for path in Path(bid.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                assert not any(name.startswith("matplotlib") for name in names), path


@pytest.fixture(scope="module")
def curve():
    K = np.arange(5)
    rows = {"r2": 0.2 * K, "lower": 0.2 * K - 0.1, "upper": 0.2 * K + 0.1}
    held_out = {f"held_out_{name}": values - 0.05 for name, values in rows.items()}
    table = pd.DataFrame(rows | held_out | {"probability": [0, 0, 0.25, 0.75, 0]})
    return table.rename_axis("K")


def test_curves_are_those_of_the_table(curve):
    ax = bid.plot_size_curve(curve)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve["r2"])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve["held_out_r2"])
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], curve["probability"])
    alone = bid.plot_size_curve(curve[["r2", "lower", "upper"]])
    assert len(alone.lines) == 1 and not alone.patches
    assert overlapping(ax.figure) == []


def test_dots_are_the_costs_of_replacements():
    cost = pd.DataFrame([[-3.0, 0.5, -400.0], [-1e4, -20.0, -2.0]], ["a", "b"], ["x", "y", "z"])
    ax = bid.plot_replacements(cost)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), cost.loc["a"])
    assert [text.get_text() for text in ax.texts] == ["y", "z"]
    low, high = ax.get_xlim()
    assert low < -1e4 and high > 0.5 and overlapping(ax.figure) == []
    with pytest.raises(ValueError, match="no column to replace"):
        bid.plot_replacements(cost.iloc[:0])


@pytest.mark.parametrize("width", [4.2, 9.0])
def test_names_of_replacements_stay_in_the_picture_and_off_the_dots(width):
    names = [f"a column with a name {row}" for row in range(6)]
    rng = np.random.default_rng(0)
    values = -np.sort(-rng.uniform(np.log(2), np.log(3000), (6, 6)))
    values[:, -1] = np.linspace(np.log(0.1), np.log(2000), 6)
    cost = pd.DataFrame(-np.exp(values), names, names)
    ax = bid.plot_replacements(cost, figsize=(width, 3.4))
    ax.figure.draw_without_rendering()
    inside = ax.get_window_extent()
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.x0 > inside.x0 and box.x1 < inside.x1
    dots = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "o"])
    covered = [
        text.get_window_extent().contains(*dot)
        for text in ax.texts
        for dot in ax.transData.transform(dots)
    ]
    assert not any(covered)


def test_the_weights_of_both_maps_have_letters_of_one_size(small):
    result = small[1]
    _, axes = plt.subplots(2, 1, sharey=True, layout="constrained")
    bid.plot_weights(result, axes=axes)
    sizes = [label.get_fontsize() for ax in axes for label in ax.get_yticklabels()]
    assert len(set(sizes)) == 1


def test_the_prior_of_the_size_stands_next_to_the_draws(small):
    idata, result, data = small
    uniform = bid.column_selection(data)
    _, distribution = bid.plot_size(result, model=uniform)
    np.testing.assert_allclose(distribution.lines[0].get_xdata(), np.full(9, 1 / 9))
    with uniform:
        _, inside = bid.plot_size(idata)
    np.testing.assert_allclose(inside.lines[0].get_xdata(), np.full(9, 1 / 9))
    states = np.eye(8, dtype=int)[None]
    states[0, 0, 1] = 1
    prior = xr.Dataset({"r": (("chain", "draw", "basis"), states)})
    posterior = read_group(idata, "posterior")
    _, drawn = bid.plot_size(as_idata(posterior=posterior, prior=prior))
    np.testing.assert_allclose(drawn.lines[0].get_xdata(), [0, 7 / 8, 1 / 8])
    _, without = bid.plot_size(idata)
    assert not without.lines
