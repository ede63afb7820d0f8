"""All that docs/large.md says about time: tables on the screen, a picture in docs/pictures.

Run from the repository's root, where nothing else runs::

    OMP_NUM_THREADS=1 python -m benchmarks

`--quick` leaves out the literal algorithm and the time of compilation. How fast chains mix, next
to PyMC's default, is `python -m benchmarks.mixing`; `python -m benchmarks.large` has 1000 columns.
"""

import argparse
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from threadpoolctl import threadpool_limits

from benchmarks import compare_literal, compile_time
from benchmarks.speed import Case, profile, profile_kernels, time_steps

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "speed.png"
BARS = (Case(160, 254, 130), Case(500, 48, 20))
SERIES = {
    "columns N (K = 20)": [Case(300, n, 20) for n in (50, 100, 200, 400)],
    "chosen columns K (N = 200)": [Case(300, 200, k) for k in (5, 20, 80, 150)],
    "rows M (N = 48, K = 20)": [Case(m, 48, 20) for m in (100, 10_000, 1_000_000)],
}


def print_profiles() -> None:
    print("| | floor: N² normals | kernels | steps | whole draw | outside the kernels |")
    print("|---|---|---|---|---|---|")
    profiles = {case: profile(case) for case in BARS}
    for case, found in profiles.items():
        outside = 1 - found.kernels / found.draw
        print(
            f"| {case} | {1e3 * found.floor:.3f} ms | {found.kernels / found.floor:.2f} × | "
            f"{found.steps / found.floor:.2f} × | {found.draw / found.floor:.2f} × | "
            f"{outside:.0%} |"
        )
    print("\n| kernel | " + " | ".join(map(str, profiles)) + " |")
    print("|---|" + "---|" * len(profiles))
    for name in profiles[BARS[0]].parts:
        cells = [f"{found.parts[name] / found.floor:.2f} ×" for found in profiles.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")


def measure_series() -> dict[str, list[float]]:
    """Milliseconds of an iteration for each case: kernels, but for M the steps with their data."""
    result = {}
    for name, cases in SERIES.items():
        if name.startswith("rows"):
            result[name] = [1e3 * time_steps(case, 2000) for case in cases]
        else:
            result[name] = [1e3 * sum(profile_kernels(case, 200).values()) for case in cases]
        print(f"\n| {name} | ms |\n|---|---|")
        for case, value in zip(cases, result[name], strict=True):
            print(f"| {case} | {value:.3f} |")
    return result


def draw_picture(series: dict[str, list[float]]) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    fields = ("columns", "active", "rows")
    for axis, (name, values), field in zip(axes, series.items(), fields, strict=True):
        places = [getattr(case, field) for case in SERIES[name]]
        axis.loglog(places, values, "o-", color="C0")
        axis.set_xlabel(name)
        axis.set_xticks(places, [f"{place:,}" for place in places])
        axis.set_xticks([], minor=True)
        # One scale for all, or noise would look like a slope.
        axis.set_ylim(0.03, 3)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("one iteration, ms")
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    with threadpool_limits(1):
        print_profiles()
        draw_picture(measure_series())
    if not options.quick:
        print()
        compare_literal.main()
        print()
        compile_time.main()


if __name__ == "__main__":
    main()
