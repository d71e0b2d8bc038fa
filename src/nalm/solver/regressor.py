"""A scikit-learn regressor that hands back the exact formula."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nalm.solver.data.columns import column_names
from nalm.solver.settings import SETTINGS
from nalm.solver.show import candidate_text
from nalm.solver.solution import Solution
from nalm.solver.solve import solve


class NotExactWarning(UserWarning):
    """No exact formula was found; the regressor predicts with its best approximation."""


class ArithmeticRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the formula behind a table, exact where there is one, and extrapolates with it.

    Args:
        noise: relative noise of y, if known.
        effort: "quick", "normal" or "high".
        strict: raise instead of predicting with an approximation.
        random_state: the same number gives the same answer.

    Fitted: `expression_`, `solution_` (see `nalm.solve`), `candidates_` (a list of rows), `exact_`. With several
    targets the first three are lists, one entry for each.

    >>> X = np.random.default_rng(0).uniform(1, 2, (64, 3))
    >>> model = ArithmeticRegressor().fit(X, X[:, 0] / (X[:, 1] + X[:, 2]))
    >>> print(model.expression_, model.exact_)
    x0/(x1 + x2) True
    """

    def __init__(
        self, noise: float | None = None, effort: str = "normal", strict: bool = False, random_state: int = 0
    ) -> None:
        self.noise = noise
        self.effort = effort
        self.strict = strict
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Searches for the formula of y, one for each target column."""
        if unsupported:
            given = ", ".join(unsupported)
            raise TypeError(f"ArithmeticRegressor takes no {given}: an exact formula holds at every row alike")
        named = getattr(X, "columns", None)
        names = None if named is None else column_names(X, None, len(named))
        table, target = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=SETTINGS.fewest_rows,
            ensure_all_finite=False,
        )  # fmt: skip
        columns = np.asarray(target, dtype=np.float64).reshape(len(target), -1)
        self._several = np.ndim(target) == 2
        self._solutions = [
            solve(table, column, names=names, noise=self.noise, effort=self.effort, seed=int(self.random_state or 0))
            for column in columns.T
        ]
        self.solution_ = self._each(self._solutions)
        self.expression_ = self._each([solution.expression for solution in self._solutions])
        self.candidates_ = self._each([solution.candidates for solution in self._solutions])
        self.exact_ = all(solution.exact for solution in self._solutions)
        self._say_if_not_found()
        return self

    def _each(self, values: list[Any]) -> Any:
        return values if self._several else values[0]

    def _say_if_not_found(self) -> None:
        missed = [s for s in self._solutions if s.status not in ("exact", "real coefficient")]
        if not missed:
            return
        message = f"no exact formula was found ({missed[0].status}); the best approximation is {missed[0].expression}"
        if self.strict:
            raise ValueError(message)
        warnings.warn(message, NotExactWarning, stacklevel=3)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Values of the formula at new rows."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        values = np.stack([solution.predict(table) for solution in self._solutions], axis=1)
        return values if self._several else values[:, 0]

    def sympy(self) -> Any:
        """The formula as a SymPy expression."""
        check_is_fitted(self)
        return self._each([solution.expression.sympy for solution in self._solutions])

    def latex(self) -> Any:
        """The formula as LaTeX source."""
        check_is_fitted(self)
        return self._each([solution.expression.latex() for solution in self._solutions])

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
