"""The published tasks solved from one batch: single units, the two-layer task, compositions, random trees, printed
tables, refusals.

    python benchmarks/solver_tables.py            # runs what is missing and writes results/solver-tasks.csv

One row for each cell: runs, exact ones, wrong claims, median processor seconds.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from solver_data import COMPOSITIONS, DISTRIBUTIONS, NINE_RANGES, OPERATIONS, Binary, float32, random_tree, two_layer
from solver_targets import KINDS, RANGES, irrational_powers, named, network, rational, waves
from solver_targets import right as claim_is_right

from nalm.solver import Status, solve

RESULTS = Path(__file__).parents[1] / "results" / "solver-tasks.csv"
FIELDS = ("task", "cell", "runs", "exact", "wrong", "seconds")
SEEDS = 20
Truth = Callable[[np.ndarray], np.ndarray]
Data = tuple[np.ndarray, np.ndarray, Truth | None]


def _pair(operation: Binary, first: int, Z: np.ndarray) -> np.ndarray:
    return operation(Z[:, first], Z[:, first + 1])


def _of_three(formula: Callable[..., np.ndarray], Z: np.ndarray) -> np.ndarray:
    return formula(*Z.T[:3])


def _scaled(formula: Truth, factor: float, Z: np.ndarray) -> np.ndarray:
    return factor * formula(Z)


def single(name: str, inputs: int, operation: str) -> Iterator[Data]:
    """Two of `inputs` columns, one operation; 128 rows (256 for 100 columns)."""
    for seed in range(SEEDS):
        rng = np.random.RandomState(seed)
        offset = rng.randint(0, inputs - 1)
        X = float32(DISTRIBUTIONS[name](rng, (128 if inputs < 100 else 256, inputs)))
        apply = OPERATIONS[operation]
        yield X, float32(apply(X[:, offset], X[:, offset + 1])), partial(_pair, apply, offset)


def pairs_of_sums(bounds: tuple[float, float], operation: str) -> Iterator[Data]:
    """The Arithmetic Dataset Task: 100 columns, two overlapping sums of 25; 1024 rows."""
    for seed in range(SEEDS):
        X, a, b = two_layer(*bounds, seed=seed, rows=1024)
        first = np.random.RandomState(seed).randint(0, 63)

        def truth(Z: np.ndarray, o: int = first) -> np.ndarray:
            return OPERATIONS[operation](Z[:, o : o + 25].sum(1), Z[:, o + 13 : o + 38].sum(1))

        yield float32(X), float32(OPERATIONS[operation](a, b)), truth


def compositions(bounds: tuple[float, float], columns: int) -> Iterator[Data]:
    for seed in range(2):
        X = np.random.default_rng([seed, columns]).uniform(*bounds, (256, columns))
        for formula in COMPOSITIONS.values():
            yield float32(X), float32(formula(*X.T[:3])), partial(_of_three, formula)


def trees(leaves: int, scaled: bool) -> Iterator[Data]:
    """Random trees over six columns, ranges in turn; a real factor in front if `scaled`."""
    for seed in range(27):
        rng = np.random.default_rng([seed, leaves, scaled, 2026])
        while True:
            X = rng.uniform(*NINE_RANGES[seed % 9], (256, 6))
            formula, factor = random_tree(rng, leaves, 6), rng.uniform(0.5, 5) if scaled else 1.0
            with np.errstate(all="ignore"):
                y = factor * formula(X)
            if np.isfinite(y).all() and np.ptp(y) > 1e-6 * np.max(np.abs(y)):
                break
        yield float32(X), float32(y), partial(_scaled, formula, factor)


def refusals(kind: Callable[..., tuple[np.ndarray, Truth | None]]) -> Iterator[Data]:
    """Targets that are no arithmetic, or noisy; three columns, 128 rows."""
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 7])
        X = float32(rng.uniform(*RANGES[seed % len(RANGES)], (128, 3)))
        y, truth = kind(rng, X)
        yield X, float32(y), truth


def printed_laws(digits: int) -> Iterator[Data]:
    """The compositions over U[1,9), four columns, 128 rows, every number with a few decimals."""
    for seed in range(2):
        X = np.random.default_rng([seed, digits]).uniform(1, 9, (128, 4))
        for formula in COMPOSITIONS.values():
            yield X.round(digits), formula(*X.T[:3]).round(digits), partial(_of_three, formula)


def printed_refusals(digits: int) -> Iterator[Data]:
    """Targets that are no arithmetic with a few decimals, kinds and ranges in turn."""
    kinds = (network, waves, irrational_powers, named, rational)
    for seed in range(2 * SEEDS):
        rng = np.random.default_rng([seed, digits, 11])
        X = rng.uniform(*RANGES[seed % len(RANGES)], (128, 3))
        y, truth = kinds[seed % len(kinds)](rng, X)
        if np.ptp(y.round(digits)) > 0:
            yield X.round(digits), y.round(digits), truth


def cells() -> Iterator[tuple[str, str, Callable[[], Iterator[Data]]]]:
    for inputs in (2, 10, 100):
        for name in DISTRIBUTIONS:
            for operation in OPERATIONS:
                yield f"single unit, I={inputs}", f"{name} {operation}", partial(single, name, inputs, operation)
    for bounds in NINE_RANGES:
        for operation in ("mul", "div"):
            cell = f"U[{bounds[0]:g},{bounds[1]:g}) {operation}"
            yield "two-layer task", cell, partial(pairs_of_sums, bounds, operation)
    for leaves in (4, 5, 6, 7):
        for scaled in (False, True):
            cell = f"{leaves} leaves" + (", real factor" if scaled else "")
            yield "random trees, 6 inputs", cell, partial(trees, leaves, scaled)
    for columns in (4, 8):
        for bounds in NINE_RANGES:
            cell = f"U[{bounds[0]:g},{bounds[1]:g}), {columns} inputs"
            yield "16 compositions", cell, partial(compositions, bounds, columns)
    for digits in (2, 3, 4, 5):
        yield "printed tables", f"16 compositions, {digits} decimals", partial(printed_laws, digits)
        yield "printed refusals", f"{digits} decimals", partial(printed_refusals, digits)
    for kind in KINDS:
        yield "refusals", kind.__name__.replace("_", " "), partial(refusals, kind)


def measured(task: str, cell: str, data: Iterator[Data]) -> dict[str, object]:
    runs, exact, wrong, seconds = 0, 0, 0, []
    for X, y, truth in data:
        began = time.process_time()
        solution = solve(X, y)
        seconds.append(time.process_time() - began)
        right = claim_is_right(solution.predict, truth, X, solution.evidence.noise)
        claimed = solution.status in (Status.EXACT, Status.REAL)
        runs, exact, wrong = runs + 1, exact + (claimed and right), wrong + (claimed and not right)
    middle = f"{np.median(seconds):.4f}"
    return dict(zip(FIELDS, (task, cell, runs, exact, wrong, middle), strict=True))


def main() -> None:
    finished = set()
    if RESULTS.exists():
        with RESULTS.open(newline="") as stream:
            finished = {(row["task"], row["cell"]) for row in csv.DictReader(stream)}
    with RESULTS.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if not finished:
            writer.writeheader()
        for task, cell, data in cells():
            if (task, cell) not in finished:
                writer.writerow(measured(task, cell, data()))
                stream.flush()


if __name__ == "__main__":
    main()
