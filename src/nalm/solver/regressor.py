"""A scikit-learn regressor that hands back the exact formula."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nalm.core.arguments import Seed, check, need_of
from nalm.solver.data.columns import column_names
from nalm.solver.data.problem import require_same_order
from nalm.solver.settings import SETTINGS
from nalm.solver.show import candidate_text
from nalm.solver.solution import Solution
from nalm.solver.solve import solve

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("ArithmeticRegressor needs scikit-learn: pip install 'nalm[sklearn]'") from error


class NotExactWarning(UserWarning):
    """No exact formula was found; the regressor predicts with its best approximation."""


class ArithmeticRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the formula behind a table, exact where there is one, and extrapolates with it.

    Args:
        noise: relative noise of y, if known.
        effort: "quick", "normal" or "high".
        strict: raise instead of predicting with an approximation.
        functions, units: as in `nalm.solve`.
        max_seconds: each target's search ends after so long with the best it has.
        warm_start: a second `fit` tries the formulas of the first before it searches.
        verbose: show on the error stream what is being tried.
        random_state: the same number gives the same answer.

    Fitted: `equations_` (a DataFrame: complexity, error, score, formula, status, simplest first; the score is how much
    of the logarithm of the error each unit of complexity takes off), `expression_`, `solution_` (see `nalm.solve`),
    `candidates_` (a list of rows), `exact_`. With several targets all but the last are lists, one entry for each.

    >>> X = np.random.default_rng(0).uniform(1, 2, (64, 3))
    >>> model = ArithmeticRegressor().fit(X, X[:, 0] / (X[:, 1] + X[:, 2]))
    >>> print(model.expression_, model.exact_)
    x0/(x1 + x2) True
    """

    def __init__(
        self,
        noise: float | None = None,
        effort: str = "normal",
        strict: bool = False,
        functions: Iterable[str] | None = None,
        units: Mapping[str, str] | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: int = 0,
    ) -> None:
        self.noise = noise
        self.effort = effort
        self.strict = strict
        self.functions = functions
        self.units = units
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Searches for the formula of y, one for each target column.

        Args:
            X, y: the table and its target, or targets.
            sample_weight: how much each row counts in an approximation. A law holds at every row alike, so there only
                rows of weight 0 are left out.
        """
        for name, hint in (("random_state", Seed | None), ("strict", bool), ("warm_start", bool), ("verbose", bool)):
            check("ArithmeticRegressor", name, getattr(self, name), need_of(hint))
        require_same_order(X, y)
        named = getattr(X, "columns", None)
        names = None if named is None else column_names(X, None, len(named))
        earlier = self._earlier()
        table, target = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=SETTINGS.fewest_rows,
            ensure_all_finite=False, reset=not earlier,
        )  # fmt: skip
        columns = np.asarray(target, dtype=np.float64).reshape(len(target), -1)
        earlier = earlier or [None] * columns.shape[1]
        if len(earlier) != columns.shape[1]:
            raise ValueError(f"warm_start needs as many targets as before, {len(earlier)}; got {columns.shape[1]}")
        self._several = np.ndim(target) == 2
        with _progress(self.verbose) as report:
            self._solutions = [
                solve(
                    table, column, names=names, noise=self.noise, effort=self.effort, weights=sample_weight,
                    functions=self.functions, units=self.units,
                    max_seconds=self.max_seconds, before=before, seed=self.random_state or 0, report=report,
                )
                for column, before in zip(columns.T, earlier, strict=True)
            ]  # fmt: skip
        self.solution_ = self._each(self._solutions)
        self.expression_ = self._each([solution.expression for solution in self._solutions])
        self.candidates_ = self._each([solution.candidates for solution in self._solutions])
        self.equations_ = self._each([_equations(solution) for solution in self._solutions])
        self.exact_ = all(solution.exact for solution in self._solutions)
        self._say_if_not_found()
        return self

    def _earlier(self) -> Sequence[Solution | None]:
        """What an earlier fit has found, if this one is to begin with it."""
        return getattr(self, "_solutions", ()) if self.warm_start else ()

    def _each(self, values: list[Any]) -> Any:
        return values if self._several else values[0]

    def _say_if_not_found(self) -> None:
        missed = [s for s in self._solutions if s.status not in ("exact", "real coefficient")]
        if not missed:
            return
        message = f"no exact formula was found ({missed[0].status}); the formula used is {missed[0].expression}"
        if self.strict:
            raise ValueError(message)
        warnings.warn(message, NotExactWarning, stacklevel=3)

    def predict(self, X: Any, index: int | None = None) -> NDArray[np.float64]:
        """Values at new rows of the chosen formula, or of row `index` of `equations_`."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        values = np.stack([solution.predict(table, index) for solution in self._solutions], axis=1)
        return values if self._several else values[:, 0]

    def sympy(self, index: int | None = None) -> Any:
        """The chosen formula, or that of row `index` of `equations_`, as a SymPy expression."""
        check_is_fitted(self)
        return self._each([solution.expression_at(index).sympy for solution in self._solutions])

    def latex(self, index: int | None = None) -> Any:
        """The chosen formula, or that of row `index` of `equations_`, as LaTeX source."""
        check_is_fitted(self)
        return self._each([solution.expression_at(index).latex() for solution in self._solutions])

    def latex_table(self) -> Any:
        """All rows of `equations_` as the source of a LaTeX table."""
        check_is_fitted(self)
        return self._each([_latex_table(solution) for solution in self._solutions])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __str__(self) -> str:
        if not hasattr(self, "_solutions"):
            return repr(self)
        return "\n".join([repr(self), *(candidate_text(solution) for solution in self._solutions)])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if not hasattr(self, "_solutions"):
            return super()._repr_mimebundle_(**kwargs)
        latex = r" \\ ".join(_latex(solution) for solution in self._solutions)
        return {"text/plain": str(self), "text/latex": f"$\\displaystyle {latex}$"}


def _latex(solution: Solution) -> str:
    return solution.expression.latex()


def _equations(solution: Solution) -> Any:
    """The front as a DataFrame, simplest first."""
    import pandas as pd

    rows = solution.candidates
    errors = np.maximum([row["relative_error"] for row in rows], np.finfo(float).tiny)
    sizes = np.array([row["complexity"] for row in rows])
    gain = -np.diff(np.log(errors)) / np.maximum(np.diff(sizes), 1)
    return pd.DataFrame(
        {
            "complexity": sizes,
            "error": [row["relative_error"] for row in rows],
            "score": np.concatenate([[0.0], gain]),
            "formula": [row["formula"] for row in rows],
            "status": [row["status"] for row in rows],
            "chosen": [row["chosen"] for row in rows],
        }
    )


def _latex_table(solution: Solution) -> str:
    lines = [
        f"${solution.expression_at(index).latex()}$ & {row['complexity']} & ${_power_of_ten(row['relative_error'])}$ & "
        f"{row['status']} \\\\"
        for index, row in enumerate(solution.candidates)
    ]
    head = ["\\begin{tabular}{lrrl}", "formula & complexity & error & status \\\\", "\\hline"]
    return "\n".join([*head, *lines, "\\end{tabular}"])


def _power_of_ten(value: float) -> str:
    r"""A number with two digits as LaTeX.

    >>> _power_of_ten(0.0123)
    '1.2 \\cdot 10^{-2}'
    """
    digits, power = f"{value:.1e}".split("e")
    return f"{digits} \\cdot 10^{{{int(power)}}}"


@contextmanager
def _progress(shown: bool) -> Iterator[Callable[[str], None]]:
    """What is being tried, on the error stream, if it is to be shown."""
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda shape: status.update(f"trying: {shape}")
