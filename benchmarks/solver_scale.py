"""Large, wide and awkward tables: wall and processor seconds and memory of `nalm.solve`.

    python benchmarks/solver_scale.py [--only NAME ...]    # each case in a process of its own
    python benchmarks/solver_scale.py --awkward            # thirty tables with limits of one and three seconds

For the awkward ones, what counts is the time beyond the limit. The clock of a busy machine runs while the solver waits,
so the processor's seconds beyond the limit stand beside.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def law(X: Array) -> Array:
    return np.asarray(X[:, 0] * X[:, 1] / X[:, 2])


def no_law(X: Array) -> Array:
    rng = np.random.default_rng(1)
    return np.asarray(np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X)))


def tangled(X: Array) -> Array:
    """A smooth function of three columns that no shape holds."""
    return np.asarray(np.sin(3 * X[:, 0]) * np.exp(np.sin(2 * X[:, 1] * X[:, 2])))


def tangled_in_noise(X: Array) -> Array:
    return tangled(X) + 0.1 * np.random.default_rng(1).normal(size=len(X))


def noise(X: Array) -> Array:
    return np.random.default_rng(1).normal(size=len(X))


def uniform(rows: int, columns: int) -> Array:
    return np.random.default_rng(0).uniform(1, 2, (rows, columns))


def wave(X: Array) -> Array:
    return np.asarray(np.sin(3 * X[:, 7]) + 2 * X[:, 11])


CASES: dict[str, tuple[Callable[[], Array], Callable[[Array], Array], float | None]] = {
    "a law in 1,000,000 rows x 20 columns": (lambda: uniform(1_000_000, 20), law, None),
    "no law in 1,000,000 rows x 20 columns, max_seconds=15": (lambda: uniform(1_000_000, 20), no_law, 15.0),
    "no law in 200 rows x 10 columns": (lambda: uniform(200, 10), no_law, None),
    "no formula of ours, in noise, in 200 rows x 10 columns": (lambda: uniform(200, 10), tangled_in_noise, None),
    "no formula of ours in 200 rows x 10 columns": (lambda: uniform(200, 10), tangled, None),
    "noise in 200 rows x 10 columns": (lambda: uniform(200, 10), noise, None),
    "no law in 200 rows x 3 columns": (lambda: uniform(200, 3), no_law, None),
    "no law in 10,000 rows x 3 columns": (lambda: uniform(10_000, 3), no_law, None),
    "a law in 2,000 rows x 1,000 columns": (lambda: uniform(2000, 1000), law, None),
    "a law in 200 rows x 1,000 columns": (lambda: uniform(200, 1000), law, None),
    "no law in 2,000 rows x 1,000 columns": (lambda: uniform(2000, 1000), no_law, None),
    "noise in 2,000 rows x 1,000 columns": (lambda: uniform(2000, 1000), noise, None),
    "a sine in 1,000 rows x 200 columns": (lambda: uniform(1000, 200), wave, None),
    "84 rows of six points": (lambda: np.repeat(uniform(6, 2), 14, axis=0), lambda X: np.sin(X[:, 0]) * X[:, 1], None),
}


def measure(name: str) -> None:
    """One case; prints a line of JSON."""
    from nalm.solver.solve import solve

    made, target, limit = CASES[name]
    X = made()
    y = target(X)
    began, used = time.perf_counter(), time.process_time()
    solution = solve(X, y, max_seconds=limit)
    row = {
        "case": name,
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(time.process_time() - used, 2),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "table_mebibytes": (X.nbytes + y.nbytes) // 2**20,
        "status": str(solution.status),
        "formula": str(solution.expression)[:60],
    }
    print(json.dumps(row), flush=True)


def awkward() -> dict[str, tuple[Array, Array]]:
    """Tables at the ends of what numbers can be, with columns that say nothing, and with very few or many rows."""
    rng = np.random.default_rng(2)
    X = rng.uniform(1, 2, (300, 4))
    y = np.sin(5 * X[:, 0]) * X[:, 1] + X[:, 2]
    whole = rng.integers(-5, 6, (300, 4)).astype(float)
    marks = rng.integers(0, 2, (300, 6)).astype(float)
    wide = rng.uniform(1, 2, (20_000, 200))
    with np.errstate(all="ignore"):
        return {
            "huge targets": (X, 1e300 * y),
            "tiny targets": (X, 1e-300 * y),
            "huge inputs": (1e300 * X, y),
            "tiny inputs": (1e-300 * X, y),
            "huge and tiny inputs": (X * [1e300, 1e-300, 1, 1], y),
            "both huge": (1e300 * X, 1e300 * y),
            "inputs up to 1e308": (1.7e308 * rng.random((300, 3)), y),
            "targets of every size": (X, 10.0 ** rng.uniform(-300, 300, 300)),
            "inputs of every size": (10.0 ** rng.uniform(-300, 300, (300, 3)), y),
            "denormal": (5e-324 * rng.integers(1, 9, (300, 2)), y),
            "zeros in the target": (X, y * (rng.random(300) > 0.5)),
            "zeros in the inputs": (X * (rng.random((300, 4)) > 0.5), y),
            "constant columns": (np.hstack([X, np.ones((300, 5))]), y),
            "the same column ten times": (np.tile(X[:, :1], (1, 10)), y),
            "columns nearly the same": (X[:, :1] + 1e-9 * X, y),
            "shares of a whole": (X / X.sum(axis=1, keepdims=True), y),
            "whole numbers": (whole, whole[:, 0] * whole[:, 1] + y),
            "marks": (marks, marks[:, 0] + y),
            "marks alone": (marks, rng.integers(0, 2, 300).astype(float)),
            "two values": (X, np.where(y > 2, 1.0, -1.0)),
            "one large value": (X, np.where(np.arange(300) == 7, 1e300, y)),
            "five rows": (X[:5], y[:5]),
            "five rows, forty columns": (rng.random((5, 40)), rng.random(5)),
            "twelve rows": (X[:12], y[:12]),
            "one column": (X[:, :1], y),
            "all rows but one the same": (np.vstack([X[:1]] * 99 + [X[1:2]]), np.append(np.zeros(99), 1.0)),
            "sorted": (np.sort(X, axis=0), np.sort(y)),
            "20,000 rows x 200 columns": (wide, np.sin(5 * wide[:, 0]) * wide[:, 1]),
            "20,000 rows x 200 columns of noise": (wide, rng.normal(size=20_000)),
            "300 rows x 1,000 columns": (rng.random((300, 1000)), y),
        }


def measure_awkward() -> None:
    """Every awkward table with each limit; prints a line of JSON for each."""
    from nalm.solver.solve import solve

    solve(uniform(50, 2), noise(uniform(50, 2)), max_seconds=5)  # what is loaded on first use is no part of a search
    for name, (X, y) in awkward().items():
        for limit in (1.0, 3.0):
            began, used = time.perf_counter(), time.process_time()
            status = str(solve(X, y, max_seconds=limit).status)
            over = [time.perf_counter() - began - limit, time.process_time() - used - limit]
            shown = {"table": name, "limit": limit, "over": round(over[0], 2), "processor_over": round(over[1], 2)}
            print(json.dumps({**shown, "status": status}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--here", choices=list(CASES), help="this case in this process")
    parser.add_argument("--awkward", action="store_true", help="the awkward tables with limits of time")
    options = parser.parse_args()
    if options.awkward:
        measure_awkward()
        return
    if options.here:
        measure(options.here)
        return
    for name in options.only:
        subprocess.run([sys.executable, __file__, "--here", name], check=True)


if __name__ == "__main__":
    main()
