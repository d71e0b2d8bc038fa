"""How well tables without a law are predicted: R^2 on rows that nobody has seen, beside the usual methods.

    python benchmarks/approximation.py [--effort quick] [--only NAME ...]

Half of the rows are given, half are predicted. pyoperon takes part if it is installed (`pip install
'nalm[baselines]'`), with as much time as `ArithmeticRegressor` took, at least one second. No setting of the
approximation was chosen by `friedman2` or `wine`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_wine, make_friedman1, make_friedman2, make_friedman3
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from nalm.solver.regressor import ArithmeticRegressor

Array = NDArray[np.float64]


def wave(seed: int) -> tuple[Array, Array]:
    """sin x + y^2/4 and noise of 0.1, with an idle third column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (1000, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 / 4 + 0.1 * rng.normal(size=1000)


def alcohol(_: int) -> tuple[Array, Array]:
    """The alcohol of 178 wines from twelve other measurements."""
    table = load_wine().data
    return table[:, 1:], table[:, 0]


TABLES: dict[str, Callable[[int], tuple[Array, Array]]] = {
    "wave": wave,
    "friedman1": lambda seed: make_friedman1(1000, 10, noise=1.0, random_state=seed),
    "friedman3": lambda seed: make_friedman3(1000, noise=0.1, random_state=seed),
    "diabetes": lambda _: load_diabetes(return_X_y=True),
    "friedman2": lambda seed: make_friedman2(1000, noise=100.0, random_state=seed),
    "wine": alcohol,
}


def ridge() -> Any:
    """Ridge regression on all monomials to the third degree, its strength chosen by leave-one-out."""
    return make_pipeline(StandardScaler(), PolynomialFeatures(3), StandardScaler(), RidgeCV(np.logspace(-3, 4, 15)))


def operon(seconds: float) -> Any:
    from pyoperon.sklearn import SymbolicRegressor

    return SymbolicRegressor(
        allowed_symbols="add,sub,mul,aq,sin,cos,exp,log,sqrt,constant,variable",
        n_threads=1, max_time=max(1, round(seconds)), max_evaluations=10**9, generations=10**6, optimizer_iterations=5,
        random_state=0,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--without-operon", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only:
        X, y = TABLES[name](0)
        given, asked, target, truth = train_test_split(X, y, test_size=0.5, random_state=0)
        began, used = time.perf_counter(), time.process_time()
        model = ArithmeticRegressor(effort=options.effort).fit(given, target)
        seconds, processor = time.perf_counter() - began, time.process_time() - used
        row = {
            "table": name,
            "rows": len(given),
            "columns": given.shape[1],
            "linear": r2_score(truth, LinearRegression().fit(given, target).predict(asked)),
            "ridge_cubic": r2_score(truth, ridge().fit(given, target).predict(asked)),
            "nalm": r2_score(truth, model.predict(asked)),
            "seconds": seconds,
            "processor_seconds": processor,
            "status": str(model.solution_.status),
            "formula": str(model.expression_),
        }
        if not options.without_operon:
            row["pyoperon"] = r2_score(truth, operon(seconds).fit(given, target).predict(asked))
        print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}), flush=True)


if __name__ == "__main__":
    main()
