"""Speed and accuracy: `python benchmarks/native_steps.py ["NMU 2" ...]` prints the table of docs/native.md.

225 runs (25 seeds x 9 ranges), batch 128, one thread; every step draws, computes gradient, penalty, Adam, projection
and loss. Rates are per second of the process's own CPU time, best of several short trials.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from nalm.native.examples import CLOCK, Example, case, clock_table, copied, gradient_errors

NAMES = [f"{unit} {n}" for n in (2, 10) for unit in ("NMU", "NAU", "sNMU", "RealNPU", "NALU", "NMRU")]
TRIALS, TRIAL_SECONDS = 8, 0.1


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def rate(c: Example) -> tuple[float, float]:
    """Million run-steps per second, and the CPU seconds of the compilation, trace included."""
    state, consts, seeds = c.arrays(25)
    kernels = []
    build = cpu_seconds(lambda: kernels.append(c.compile()))
    kernel, steps, best = kernels[0], 50, 0.0
    for _ in range(TRIALS):
        while True:
            trial, table = copied(state), clock_table(steps)
            seconds = cpu_seconds(partial(kernel.run, trial, consts, seeds, table, 0))
            best = max(best, len(seeds) * steps / seconds / 1e6)
            if seconds >= TRIAL_SECONDS / 2:
                break
            steps *= 2
    return best, build


def evaluation(c: Example, samples: int = 10_000) -> float:
    """Microseconds per run of an evaluation on inputs that all 225 runs share."""
    state, consts, seeds = c.arrays(25)
    parameters = {n: state[n] for n in c.shapes}
    kernel = c.compile(c.evaluate, samples=samples)
    table = np.zeros((1, len(CLOCK)), np.float32)
    return min(cpu_seconds(lambda: kernel.run(parameters, consts, seeds * 0, table, 0)) for _ in range(10)) / 225 * 1e6


def main() -> None:
    torch.set_num_threads(1)
    case("NMU 2").compile()  # the first trace of a process imports half of torch
    print("| step | million run-steps/s | compile, CPU s | evaluation, us per run | gradient error | torch's |")
    print("|---|---|---|---|---|---|")
    for name in sys.argv[1:] or [*NAMES, "NAU 100", "two-layer 100"]:
        c = case(name)
        speed, build = rate(c)
        ours, theirs = (errors.mean() for errors in gradient_errors(c))
        print(f"| {name} | {speed:.2f} | {build:.2f} | {evaluation(c):.1f} | {ours:.1e} | {theirs:.1e} |", flush=True)


if __name__ == "__main__":
    main()
