"""How long importing the package takes, against importing PyMC alone.

`python -m benchmarks.import_time`; the bar is a ratio of at most 1.2.
"""

import statistics
import subprocess
import sys

CODE = "import time; t = time.process_time(); import {0}; print(time.process_time() - t)"


def main(repeats: int = 9) -> None:
    modules = ("pymc", "pymc_bid")
    times: dict[str, list[float]] = {module: [] for module in modules}
    # One after the other, so that whatever else the machine does meets both.
    for _ in range(repeats):
        for module in modules:
            done = subprocess.run(
                [sys.executable, "-c", CODE.format(module)],
                capture_output=True,
                text=True,
                check=True,
            )
            times[module].append(float(done.stdout))
    median = {module: statistics.median(found) for module, found in times.items()}
    for module, seconds in median.items():
        print(f"{module}: {seconds:.2f} s of processor time, median of {repeats}")
    print(f"ratio: {median['pymc_bid'] / median['pymc']:.2f}")


if __name__ == "__main__":
    main()
