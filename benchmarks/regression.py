"""Our regressor, gplearn and pyoperon on laws of physics: same data, one thread.

    python benchmarks/regression.py --methods nalm --redundant 2 --noise 0     # adds rows to the results file
    python -m pages.build solver                                               # writes the results page from it

A fit that is already in the results file is not run again, so the whole grid can be filled bit by bit. Peers stop at
`--seconds` of processor time. A law counts as recovered when the median relative error on the range from the upper end
of the data to twice that is below 1e-5, or below the noise where that is larger.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from regression_laws import FEYNMAN, LAWS, Array, Law, sample

RESULTS = Path(__file__).parents[1] / "results" / "solver-regression.csv"
FIELDS = (
    "method set law low high redundant noise recovered claimed exact error seconds formula".split()  # noqa: SIM905
)
RANGES = ((1.0, 2.0), (1.1, 1.2), (1.0, 5.0))
ROWS = 256
Predict = Callable[[Array], Array]
Fitted = tuple[Predict, str, str]


def fit_nalm(X: Array, y: Array, seconds: float) -> Fitted:
    """Ours; it needs no cap."""
    del seconds
    from nalm.solver import solve

    solution = solve(X, y)
    return solution.predict, str(solution.expression), str(solution.status)


def fit_gplearn(X: Array, y: Array, seconds: float, functions: Sequence[str] = ()) -> Fitted:
    """gplearn 0.4, population 1000, one generation at a time until the cap."""
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    exponential = make_function(function=lambda x: np.exp(np.clip(x, -50, 50)), name="exp", arity=1)  # it has none
    began = time.process_time()
    model = SymbolicRegressor(
        population_size=1000,
        generations=1,
        function_set=("add", "sub", "mul", "div", "sqrt", *(exponential if f == "exp" else f for f in functions)),
        const_range=(-10.0, 10.0),
        metric="mse",
        parsimony_coefficient=1e-4,
        random_state=0,
        warm_start=True,
    )
    while True:
        model.fit(X, y)
        if time.process_time() - began > seconds or model._program.raw_fitness_ < 1e-14:
            return model.predict, str(model._program), ""
        model.set_params(generations=model.generations + 1)


def fit_pyoperon(X: Array, y: Array, seconds: float, functions: Sequence[str] = ()) -> Fitted:
    """pyoperon 0.6 with its default population, constants optimised, one thread."""
    from pyoperon.sklearn import SymbolicRegressor

    model = SymbolicRegressor(
        allowed_symbols=",".join(["add,sub,mul,div,sqrt,square,constant,variable", *functions]),
        generations=100_000,
        max_evaluations=100_000_000,
        max_time=int(max(1, seconds)),
        optimizer_iterations=5,
        n_threads=1,
        random_state=0,
    )
    model.fit(X, y)
    return model.predict, model.get_model_string(model.model_, 6), ""


def fit_rils_rols(X: Array, y: Array, seconds: float, _functions: Sequence[str] = ()) -> Fitted:
    """RILS-ROLS 1.3 as it comes: it always has sin, cos, exp, ln, sqrt and squares, and prints as it goes."""
    from rils_rols.rils_rols import RILSROLSRegressor

    model = RILSROLSRegressor(max_fit_calls=10**9, max_seconds=seconds, random_state=0)
    with redirect_stdout(StringIO()):
        model.fit(X, y)
    return model.predict, str(model.model), ""


def _no_value(X: Array) -> Array:
    return np.full(len(X), np.nan)


METHODS = {"nalm": fit_nalm, "gplearn": fit_gplearn, "pyoperon": fit_pyoperon}


def run(
    method: str, kind: str, law: Law, bounds: tuple[float, float], redundant: int, noise: float, cap: float
) -> dict[str, object]:
    """One fit and its row of results."""
    low, high = bounds
    X, y = sample(law, low, high, ROWS, redundant, seed=0)
    if noise:
        y = (y * (1 + noise * np.random.default_rng(1).normal(size=ROWS))).astype(np.float32).astype(np.float64)
    beyond, truth = sample(law, high, 2 * high, 1000, redundant, seed=1)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            predict, formula, status = METHODS[method](X, y, cap)
        except ValueError as failure:  # pyoperon stops on front members without a finite value
            predict, formula, status = _no_value, f"failed: {failure}", ""
        seconds = time.process_time() - began
        with np.errstate(all="ignore"):
            error = float(np.nan_to_num(np.median(np.abs(predict(beyond) / truth - 1)), nan=np.inf))
    return {
        "method": method,
        "set": kind,
        "law": law.name,
        "low": low,
        "high": high,
        "redundant": redundant,
        "noise": noise,
        "recovered": int(error < max(1e-5, noise)),
        "claimed": int(status in ("exact", "real coefficient")),
        "exact": int(status == "exact"),
        "error": f"{error:.3g}",
        "seconds": f"{seconds:.3f}",
        "formula": formula[:160],
    }


def done() -> set[tuple[str, ...]]:
    """The fits that the results file already holds."""
    if not RESULTS.exists():
        return set()
    with RESULTS.open(newline="") as stream:
        return {tuple(row[name] for name in FIELDS[:7]) for row in csv.DictReader(stream)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--redundant", nargs="+", type=int, default=[0, 2, 5])
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 1e-6, 1e-3])
    parser.add_argument("--ranges", nargs="+", type=int, default=[0, 1, 2], help="which of U[1,2), U[1.1,1.2), U[1,5)")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th law")
    parser.add_argument("--seconds", type=float, default=20.0, help="processor seconds a peer gets for one fit")
    options = parser.parse_args()
    laws = [("29 laws", law) for law in LAWS] + [("Feynman I", law) for law in FEYNMAN]
    ranges = [RANGES[i] for i in options.ranges]
    finished = done()
    for method in options.methods:  # imports and first calls are not timed
        run(method, "", LAWS[0], RANGES[0], 0, 0.0, 1.0)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if not finished:
            writer.writeheader()
        grid = product(options.noise, options.redundant, ranges, laws[:: options.every], options.methods)
        for noise, redundant, bounds, (kind, law), method in grid:
            key = (method, kind, law.name, str(bounds[0]), str(bounds[1]), str(redundant), str(noise))
            if key not in finished:
                writer.writerow(run(method, kind, law, bounds, redundant, noise, options.seconds))
                stream.flush()


if __name__ == "__main__":
    main()
