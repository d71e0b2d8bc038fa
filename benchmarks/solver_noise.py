"""How often the solver sees that all that is left of a target is noise, and by which columns, on lists of equations.

    python benchmarks/solver_noise.py                          # without noise, where it must not
    python benchmarks/solver_noise.py --more 5 --noise 0.01    # with five columns more that say nothing, and noise

*Lost* are equations with an input that is not among the columns that tell of the target: only waves are then found.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from regression_lists import Equation, equations

from nalm.solver.data.problem import Problem, checked
from nalm.solver.verdict.learning import telling


def table(equation: Equation, rows: int, more: int, noise: float) -> Problem:
    """Rows of an equation, more columns from the same ranges, and noise in deviations of the target."""
    rng = np.random.default_rng(7)
    X, y = equation.table(rows)
    low, high = np.resize(equation.ranges, (more, 2)).T
    beside = rng.uniform(low, high, (len(X), more))
    return checked(np.hstack([X, beside]), y + noise * np.std(y) * rng.normal(size=len(y)))


def main() -> None:
    """Counts, and the names of those that were taken for noise without any, or lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=float, default=0.0, help="share of the target's deviation")
    parser.add_argument("--more", type=int, default=0, help="columns that say nothing")
    parser.add_argument("--rows", type=int, default=750)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th equation")
    options = parser.parse_args()
    seen, lost, narrower, chosen = 0, 0, 0, equations()[:: options.every]
    for equation in chosen:
        problem = table(equation, options.rows, options.more, options.noise)
        with np.errstate(all="ignore"):
            columns = telling(problem)
        if columns is None:
            continue
        own = range(len(equation.ranges))
        missed = not set(own) <= set(columns)
        seen, lost, narrower = seen + 1, lost + missed, narrower + (len(columns) < problem.columns)
        if missed or not options.noise:
            print(f"{equation.list}, {equation.law.name}: columns {columns} of {len(own)}", flush=True)
    print(f"{len(chosen)} equations: noise seen in {seen}, fewer columns in {narrower}, lost {lost}")


if __name__ == "__main__":
    main()
