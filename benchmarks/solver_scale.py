"""Large tables: wall and processor seconds and memory of `nalm.solve`, each case in a process of its own.

python benchmarks/solver_scale.py [--only NAME ...]
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


def noise(X: Array) -> Array:
    return np.random.default_rng(1).normal(size=len(X))


def uniform(rows: int, columns: int) -> Array:
    return np.random.default_rng(0).uniform(1, 2, (rows, columns))


CASES: dict[str, tuple[Callable[[], Array], Callable[[Array], Array], float | None]] = {
    "a law in 1,000,000 rows x 20 columns": (lambda: uniform(1_000_000, 20), law, None),
    "no law in 1,000,000 rows x 20 columns, max_seconds=15": (lambda: uniform(1_000_000, 20), no_law, 15.0),
    "no law in 200 rows x 10 columns": (lambda: uniform(200, 10), no_law, None),
    "noise in 200 rows x 10 columns": (lambda: uniform(200, 10), noise, None),
    "no law in 200 rows x 3 columns": (lambda: uniform(200, 3), no_law, None),
    "no law in 10,000 rows x 3 columns": (lambda: uniform(10_000, 3), no_law, None),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--here", choices=list(CASES), help="this case in this process")
    options = parser.parse_args()
    if options.here:
        measure(options.here)
        return
    for name in options.only:
        subprocess.run([sys.executable, __file__, "--here", name], check=True)


if __name__ == "__main__":
    main()
