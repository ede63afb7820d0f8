"""How long Ctrl-C takes to be answered: python -m benchmarks.latency [columns ...]."""

import signal
import subprocess
import sys
import time

SAMPLE = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import pymc as pm
import pymc_bid as bid

columns, chosen = map(int, sys.argv[1:])
noise = np.random.default_rng(0).normal(size=(20, columns))

told = [True] * bool(chosen)

def tell(trace, draw):
    if not draw.tuning and not told:
        told.append(True)
        print("drawing", flush=True)

with bid.gbt(noise, k=chosen or None, identity=True):
    if chosen:
        # With hundreds of them a single draw takes minutes.
        print("drawing", flush=True)
    try:
        idata = pm.sample(
            10**6, tune=20, chains=1, cores=1, progressbar=False, callback=tell,
            compute_convergence_checks=False, var_names=["sigma2"], random_seed=1,
        )
        print("draws", idata["posterior"].sizes["draw"], flush=True)
    except (KeyboardInterrupt, ValueError):
        print("no draw", flush=True)
"""


def interrupt(columns: int, chosen: int, after: float) -> tuple[float, str]:
    """Seconds until sampling is over once interrupted, and what it says of its draws."""
    child = subprocess.Popen(
        [sys.executable, "-c", SAMPLE, str(columns), str(chosen)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # A shell starts processes in the background with interrupts ignored, and so their own.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for line in child.stdout:
        if line.startswith("drawing"):
            break
    time.sleep(after)
    sent = time.perf_counter()
    child.send_signal(signal.SIGINT)
    said = child.stdout.readline().strip()
    waited = time.perf_counter() - sent
    child.kill()
    child.wait()
    return waited, said


def measure(columns: int, chosen: int, *after: float) -> None:
    found = [interrupt(columns, chosen, seconds) for seconds in after]
    print(f"{columns:7}", *(f"{waited:6.2f} ({said})" for waited, said in found), flush=True)


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [15, 254, 1000, 2000]
    print("columns  seconds until Ctrl-C is answered, after 0.3, 2, 7 s of drawing")
    for columns in sizes:
        measure(columns, 0, 0.3, 2.0, 7.0)
    print("the same with half of them chosen, after 5, 15, 30, 60 s")
    for columns in sizes:
        measure(columns, columns // 2, 5.0, 15.0, 30.0, 60.0)


if __name__ == "__main__":
    main()
