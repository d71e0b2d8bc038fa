"""Two threads of the native engine against one, on an idle machine: `python benchmarks/threads.py`."""

from __future__ import annotations

import time

from nalm.bench.engine.cohort import Cohort
from nalm.bench.engine.descent import choose
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.options import Options
from nalm.bench.speed import TimedCohort, cases

SECONDS = 1.0
TRIALS = 4
SHOWN = (("NMU", 2), ("NMU", 10), ("RealNPU", 2), ("NAU-NMU", 100))


def seconds(case: TimedCohort, threads: int, steps: int) -> float:
    """Wall time of some steps of the whole cohort, best of a few trials."""
    cohort = Cohort(case.runs(), DescentStep)
    backend = choose(cohort, Options(engine="native", threads=threads))
    times = []
    for _ in range(TRIALS):
        began = time.perf_counter()
        backend.advance(cohort.state, cohort.consts, cohort.seeds, cohort.step, steps, cohort.alive)
        cohort.step += steps
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    for case in cases():
        if (case.model.label, case.task.in_features) in SHOWN:
            steps = int(100 * SECONDS / seconds(case, 1, 100))
            one, two = (seconds(case, threads, steps) for threads in (1, 2))
            print(f"{case.model.label} {case.task.in_features}: {one / two:.2f} times as fast on two threads")


if __name__ == "__main__":
    main()
