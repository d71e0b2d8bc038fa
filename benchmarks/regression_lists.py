"""The lists of equations that symbolic regression is measured on, by one command that can be stopped and resumed.

    python benchmarks/regression_lists.py                                    # ours, no noise: what is not there yet
    python benchmarks/regression_lists.py --noise 0.001 0.01 0.1             # the noise levels of SRBench
    python benchmarks/regression_lists.py --rows 256                         # fewer rows
    python benchmarks/regression_lists.py --methods gplearn pyoperon rils-rols --lists Feynman --seconds 10
    python benchmarks/regression_lists.py --match "^I\\.6" --print            # some again, shown and not stored

Results go to `results/solver-lists.csv`, from which `python -m pages.build solver` writes the page.

The equations stand in `regression_lists.csv` with the range of each input. Sources: "Feynman" (100) and "Feynman bonus"
(20) are those of Udrescu and Tegmark, AI Feynman (2020), from the Feynman Lectures and other textbooks; "Strogatz" are
the right-hand sides of seven systems of differential equations in Strogatz, Nonlinear Dynamics and Chaos (La Cava,
Danai and Spector, 2016); "classic" are the sets of Koza, Keijzer, Korns, Vladislavleva, Nguyen (Uy), Pagie, Jin, R,
Neat, Livermore, Constant and others as collected for deep symbolic regression (Petersen, Landajuela). "SI units" are
laws of textbooks with their numbers in SI units: inputs as small as atoms and as large as stars. "everyday" are
formulas that students and engineers meet, most of them with every quantity as a column. A formula is a fact; no code or
data of these projects is used.

Data: rows drawn uniformly from the range of each input (also where a list asks for an even grid or for trajectories),
without rows at which the law has no value; three quarters are seen, one quarter is held out; normal noise of a share of
the target's deviation is added to the rows that are seen, as in SRBench (La Cava et al., 2021).

Recovered: the formula, its fitted numbers fitted again to the same rows without noise, differs from the law by less
than 1e-6, both on the rows held out (in units of the deviation) and in a box of twice the width (relative, in the
median): it is the law, not a likeness of it, whatever the solver says of it. Claimed: the solver says that it is the
law (`exact`, `real coefficient`), and not that it is `ambiguous` or an `approximation`. Of a peer, which shows
no formula to fit again, it is only asked that the predictions of the rows held out differ by less than 1e-4. Wrong:
claimed, and not recovered. Seconds are those of one processor; a limit of time (`--seconds`) is by the clock.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from regression import fit_gplearn, fit_pyoperon, fit_rils_rols
from regression_laws import Array, Law

HERE = Path(__file__).parent
EQUATIONS = HERE / "regression_lists.csv"
RESULTS = HERE.parent / "results" / "solver-lists.csv"
KEYS = ("method", "list", "name", "rows", "noise")
FIELDS = (*KEYS, "status", "recovered", "claimed", "error", "cpu", "seconds", "formula")
ROWS = 1000
SAME_LAW = 1e-6
SAME_PREDICTIONS = 1e-4


@dataclass(frozen=True)
class Equation:
    """A law of a list, and the range of each of its inputs."""

    list: str
    law: Law
    ranges: tuple[tuple[float, float], ...]

    def table(self, rows: int, seed: int = 0) -> tuple[Array, Array]:
        """Rows from the ranges at which the law has a value."""
        rng = np.random.default_rng(seed)
        low, high = np.array(self.ranges).T
        X, y = np.zeros((0, len(low))), np.zeros(0)
        for _ in range(20):
            more = rng.uniform(low, high, (rows, len(low)))
            values = self.law(more) * np.ones(rows)
            X, y = (
                np.concatenate([X, more[np.isfinite(values)]])[:rows],
                np.concatenate([y, values[np.isfinite(values)]])[:rows],
            )
            if len(y) == rows:
                break
        return X, y


def equations() -> list[Equation]:
    """Every equation of every list."""
    found = []
    with EQUATIONS.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            inputs = [entry.split(":") for entry in row["inputs"].split()]
            law = Law(row["name"], tuple(name for name, _, _ in inputs), row["formula"])
            found.append(Equation(row["list"], law, tuple((float(low), float(high)) for _, low, high in inputs)))
    return found


@dataclass(frozen=True)
class Seen:
    """What a method is given, the same rows without noise, and the rows held out."""

    X: Array
    y: Array
    clean: Array
    X_out: Array
    y_out: Array


def split(equation: Equation, rows: int, noise: float) -> Seen:
    X, clean = equation.table(rows)
    y = clean + noise * np.std(clean) * np.random.default_rng(1).normal(size=len(clean))
    cut = 3 * len(y) // 4
    return Seen(X[:cut], y[:cut], clean[:cut], X[cut:], clean[cut:])


@dataclass(frozen=True)
class Outcome:
    """What a method says, and whether it is the law."""

    status: str
    error: float
    recovered: bool
    formula: str


def ours(seen: Seen, equation: Equation, seconds: float | None) -> Outcome:
    from nalm.solver import solve
    from nalm.solver.data.problem import checked
    from nalm.solver.formula.calculus import evaluate
    from nalm.solver.verdict.refine import refine

    solution = solve(seen.X, seen.y, names=equation.law.inputs, max_seconds=seconds)
    again = refine(checked(seen.X, seen.clean), solution.chosen.formula, rounds=8)[0]
    same = distance(evaluate(again, seen.X_out), seen.y_out) < SAME_LAW
    wide, truth = beyond(equation)
    with np.errstate(all="ignore"):
        gap = np.abs(evaluate(again, wide) - truth)
        same = same and bool(np.nanmedian(gap / np.abs(truth)) < SAME_LAW)
    error = distance(solution.predict(seen.X_out), seen.y_out)
    return Outcome(str(solution.status), error, same, str(solution.expression))


def beyond(equation: Equation) -> tuple[Array, Array]:
    """Rows from ranges of twice the width, where a likeness of a law parts from it."""
    wider = tuple((1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low) for low, high in equation.ranges)
    return Equation(equation.list, equation.law, wider).table(400, seed=2)


Fit = Callable[[Array, Array, float, tuple[str, ...]], tuple[Callable[[Array], Array], str, str]]
FUNCTIONS = ("sin", "cos", "exp", "log")
"""What peers may use beside arithmetic and roots: all but three laws of Feynman's list need no more."""


def peer(fit: Fit, seen: Seen, seconds: float) -> Outcome:
    try:
        predict, formula, _ = fit(seen.X, seen.y, seconds, FUNCTIONS)
        error = distance(predict(seen.X_out), seen.y_out)
    except ValueError as failure:  # pyoperon stops on front members without a finite value
        return Outcome("failed", float("inf"), False, str(failure))
    return Outcome("", error, error < SAME_PREDICTIONS, formula)


def distance(values: Array, truth: Array) -> float:
    """Root mean square of the difference, as a share of the deviation."""
    with np.errstate(all="ignore"):
        size = float(np.sqrt(np.mean((values - truth) ** 2)) / np.std(truth))
    return size if np.isfinite(size) else float("inf")


PEERS: dict[str, Fit] = {"gplearn": fit_gplearn, "pyoperon": fit_pyoperon, "rils-rols": fit_rils_rols}


def run(method: str, equation: Equation, rows: int, noise: float, seconds: float | None) -> dict[str, str]:
    """One fit as a row of results."""
    seen = split(equation, rows, noise)
    cpu, began = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = ours(seen, equation, seconds) if method == "nalm" else peer(PEERS[method], seen, seconds or 10.0)
    claimed = outcome.status in ("exact", "real coefficient")
    values = (
        method, equation.list, equation.law.name, rows, noise, outcome.status, int(outcome.recovered), int(claimed),
        f"{outcome.error:.3g}", f"{time.process_time() - cpu:.2f}", f"{time.perf_counter() - began:.2f}",
        outcome.formula[:200],
    )  # fmt: skip
    return dict(zip(FIELDS, map(str, values), strict=True))


def stored() -> list[dict[str, str]]:
    """The fits that the results file holds."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def runs(options: argparse.Namespace) -> Iterator[tuple[str, Equation, int, float]]:
    """What is asked for and not there yet."""
    done = {tuple(row[key] for key in KEYS) for row in stored()}
    chosen = equations()[:: options.every]
    for noise, rows, method, equation in product(options.noise, options.rows, options.methods, chosen):
        wanted = (not options.lists or equation.list in options.lists) and re.search(options.match, equation.law.name)
        if wanted and (options.print or (method, equation.list, equation.law.name, str(rows), str(noise)) not in done):
            yield method, equation, rows, noise


def shown(row: dict[str, str]) -> str:
    """A row on one line."""
    mark = "ok   " if row["recovered"] == "1" else "WRONG" if row["claimed"] == "1" else "--   "
    return f"{row['name']:16} {mark} {row['status']:17} {row['cpu']:>6}s {row['error']:>9} {row['formula'][:90]}"


def keep(rows: Iterable[dict[str, str]]) -> None:
    """Adds rows to the results as they come."""
    RESULTS.parent.mkdir(exist_ok=True)
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        for row in rows:
            writer.writerow(row)
            stream.flush()
            print(shown(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["nalm"], choices=["nalm", *PEERS])
    parser.add_argument("--lists", nargs="+", default=[], help="which lists; all if none is named")
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0], help="shares of the target's deviation")
    parser.add_argument("--rows", nargs="+", type=int, default=[ROWS], help="rows, of which a quarter is held out")
    parser.add_argument("--seconds", type=float, help="seconds for one fit; peers need it, ours has no limit without")
    parser.add_argument("--match", default="", help="a regular expression that the name of an equation must match")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th equation of the whole file")
    parser.add_argument("--print", action="store_true", help="show the fits and store nothing")
    options = parser.parse_args()
    made = (run(*chosen, options.seconds) for chosen in runs(options))
    if options.print:
        for row in made:
            print(shown(row), flush=True)
    else:
        keep(made)


if __name__ == "__main__":
    main()
