"""The checked data of one search, and what "equal" means for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from nalm.core.arguments import shown
from nalm.solver.data.digits import exact_settings, full
from nalm.solver.data.dimensions import Dimensions
from nalm.solver.formula.algebra import Formula
from nalm.solver.formula.calculus import Array, Indices, evaluate, gradients
from nalm.solver.settings import SETTINGS

P = ParamSpec("P")
R = TypeVar("R")


def once_for_table(most: int) -> Callable[[Callable[Concatenate[Array, P], R]], Callable[Concatenate[Array, P], R]]:
    """Keeps the last `most` results of a function of a table and of other arguments, which can be hashed.

    A table is known by its identity, as nobody writes to that of a `Problem`; it is kept with its result, so that no
    other takes its place in memory.

    >>> calls = []
    >>> heights = once_for_table(2)(lambda X, power: calls.append(power) or float(np.max(X)) ** power)
    >>> X = np.array([[1.0], [3.0]])
    >>> heights(X, 2), heights(X, 2), heights(X.copy(), 2), len(calls)
    (9.0, 9.0, 9.0, 2)
    """

    def wrap(function: Callable[Concatenate[Array, P], R]) -> Callable[Concatenate[Array, P], R]:
        kept: OrderedDict[Any, tuple[Array, R]] = OrderedDict()

        def call(X: Array, /, *args: P.args, **kwargs: P.kwargs) -> R:
            key = (id(X), args, tuple(kwargs.items()))
            found = kept.pop(key, None)
            if found is None:
                found = X, function(X, *args, **kwargs)
            kept[key] = found
            while len(kept) > most:
                kept.popitem(last=False)
            return found[1]

        return call

    return wrap


_full = once_for_table(most=4)(full)  # the same for every size of the noise


@once_for_table(most=4)
def _have_all_digits(X: Array) -> bool:
    return all(full(column) or exact_settings(column) for column in X.T)


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs `X` `(n, d)`, target `y` `(n,)`, both float64, and the noise of `y` (none: rounding only).

    `noise` is relative to each target, `additive` a standard deviation in the unit of the target, the same for all.

    `printed`, `(n, d + 1)`, is half a unit of the last printed digit of every input and of the target, where a table
    holds fewer digits than float32 does. `dimensions` are the physical units of inputs and target, if given.
    """

    X: Array
    y: Array
    noise: float = 0.0
    seed: int = 0
    printed: Array | None = None
    additive: float = 0.0
    dimensions: Dimensions | None = None

    @property
    def noisy(self) -> bool:
        """Is there noise, given or estimated?"""
        return self.noise > 0 or self.additive > 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.y)

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return int(self.X.shape[1])

    @property
    def limit(self) -> float:
        """The largest error, in units of `tolerance`, that still counts as equal."""
        if self.printed is not None:
            return SETTINGS.printed_limit
        return SETTINGS.noise_limit if self.noisy else SETTINGS.exact_limit

    @property
    def blur(self) -> float:
        """The relative error of the target that a search has to expect beyond rounding."""
        noise = self.noise + self.additive / self._typical
        if self.printed is None:
            return noise
        sizes = np.append(np.max(np.abs(self.X), axis=0), np.max(np.abs(self.y)))
        inputs, target = np.split(np.max(self.printed, axis=0) / sizes, [-1])
        return float(noise + np.max(inputs, initial=0.0) + target[0])

    def reach(self, close: float) -> float:
        """The relative error that a fit may leave: what is close without noise, or what the noise explains."""
        return max(close, SETTINGS.blur_reach * self.blur)

    @cached_property
    def rounding(self) -> float:
        """The relative error of a stored number: that of float32, unless all digits of float64 are there."""
        fine = _full(self.y) and _have_all_digits(self.X)
        return SETTINGS.fine_rounding if fine else SETTINGS.rounding

    @cached_property
    def _typical(self) -> float:
        """Root mean square of the target."""
        height = float(np.max(np.abs(self.y))) or 1.0
        return height * float(np.sqrt(np.mean((self.y / height) ** 2))) or 1.0

    @cached_property
    def _most_carried(self) -> Array:
        """The largest error of a target, `(n,)`, that rounding of the inputs may explain: a share of the target."""
        return np.asarray(SETTINGS.most_carried * np.maximum(np.abs(self.y), np.median(np.abs(self.y))))

    @property
    def log_weights(self) -> Array:
        """How much the logarithm of each target tells, at most 1, `(n,)`: nothing where noise may be as large as it."""
        size = np.abs(self.y)
        with np.errstate(all="ignore"):
            return np.where(size > self.additive, size / (size + self.additive), 0.0)

    def tolerance(self, by_input: Array) -> Array:
        """What rounding of inputs and target (float32 or printed), and the noise, may change in the target: `(n,)`.

        This makes the test a componentwise backward error: scale-free, right for tiny magnitudes, near poles and under
        cancellation, where the relative error of the target alone would be useless.
        """
        with np.errstate(all="ignore"):
            carried = self.rounding * np.sum(np.abs(self.X * by_input), axis=1)
            # Where terms cancel, what the inputs carry may swallow the target, and then anything would fit.
            allowed = self.rounding * np.abs(self.y) + np.minimum(carried, self._most_carried)
            allowed = allowed + self.noise * np.abs(self.y) + self.additive
            if self.printed is not None:
                allowed = allowed + np.sum(np.abs(self.printed[:, :-1] * by_input), axis=1) + self.printed[:, -1]
            # Where a target is 0 and no input moves it, as of max(0, 18 - T) on a warm day, only float64 errs.
            zero = SETTINGS.most_carried * self.rounding * float(np.max(np.abs(self.y)))
            least = np.where(self.y == 0, zero, 0.0)
            return np.asarray(np.maximum(allowed, least))

    def errors(self, formula: Formula) -> Array:
        """Signed errors of a formula in units of `tolerance`, `(n,)`; infinite where it has no value."""
        value, by_input, _ = gradients(formula, self.X)
        with np.errstate(all="ignore"):
            difference = value - self.y
            scaled = np.where(difference == 0, 0.0, difference / self.tolerance(by_input))
        return np.where(np.isfinite(scaled), scaled, np.inf)

    def backward_error(self, formula: Formula) -> float:
        """The largest of `errors` in size: about 0.5 for a true law on float32 data."""
        return float(np.max(np.abs(self.errors(formula))))

    def holds(self, formula: Formula) -> bool:
        """Is the formula exact for inputs and targets perturbed by a few roundings (and the known noise)?"""
        errors = self.errors(formula)
        if not np.max(np.abs(errors)) < self.limit:
            return False
        # Known noise: six sigma at every row is loose, so the mean square must fit as well.
        return not self.noisy or float(np.mean(errors**2)) <= 1 + 4 * np.sqrt(2 / self.rows)

    def relative_rms(self, formula: Formula) -> float:
        """Root mean square of the error over root mean square of the target."""
        with np.errstate(all="ignore"):
            difference = evaluate(formula, self.X) - self.y
            scale = np.max(np.abs(self.y)) or 1.0
            ratio = np.sqrt(np.mean((difference / scale) ** 2) / np.mean((self.y / scale) ** 2))
        return float(ratio) if np.isfinite(ratio) else float("inf")

    def balances(self, formula: Formula) -> bool:
        """May the formula have the dimension of the target? Always, where no units are given."""
        return self.dimensions is None or self.dimensions.balance(formula)

    def spread_rows(self, most: int) -> Indices:
        """So many rows, in their order; all if there are fewer.

        They are drawn, as tables may be sorted, and waves may turn as often as every so many-th row is taken.
        """
        return spread(self.rows, most, self.seed)

    def of_target(self, y: Array) -> Problem:
        """The same inputs with another target."""
        return replace(self, y=y)

    def of_columns(self, kept: Sequence[int]) -> Problem:
        """Some of the columns."""
        X = np.ascontiguousarray(self.X[:, kept])
        printed = None if self.printed is None else self.printed[:, [*kept, -1]]
        return replace(self, X=X, printed=printed, dimensions=self.dimensions and self.dimensions.of_columns(kept))

    def of_rows(self, kept: Any) -> Problem:
        """Some of the rows."""
        printed = None if self.printed is None else self.printed[kept]
        return replace(self, X=self.X[kept], y=self.y[kept], printed=printed)


def spread(rows: int, most: int, seed: int) -> Indices:
    """Positions of so many rows, drawn at random, in their order; all if there are fewer."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, size=most, replace=False))


def checked(X: Any, y: Any, *, noise: Any = None, seed: int = 0, names: Sequence[str] | None = None) -> Problem:
    """A `Problem` from anything array-like; bad data get an error that names the culprit and the remedy.

    Args:
        X, y: the table and its target.
        noise: relative noise of the target, if known.
        seed: of what is drawn later.
        names: what errors call the columns, for those of a table without names of its own.

    >>> checked([[1, 2], [3, 4], [5, 6], [7, 8], [9, 1]], [3, 7, 11, 15, 10]).rows
    5
    """
    require_same_order(X, y)
    table, target = _numbers(X, "X").view(), _numbers(y, "y")  # a view: the caller may write to X between two calls
    if table.ndim != 2:
        raise ValueError(
            f"X must be a table (rows, columns), but has {table.ndim} dimension(s); for one column: X[:, None]"
        )
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise ValueError(f"y must be one column, but has shape {target.shape}; solve one target at a time")
    if len(table) != len(target):
        raise ValueError(f"X has {len(table)} rows but y has {len(target)}; they must match")
    if len(table) < SETTINGS.fewest_rows:
        raise ValueError(f"{len(table)} rows are too few: give at least {SETTINGS.fewest_rows}")
    if table.shape[1] == 0:
        raise ValueError("X has no columns")
    _require_finite(table, target, _labels(X) if names is None else names)
    if noise is not None and not (isinstance(noise, Real) and 0 <= float(noise) < 1):
        raise ValueError(f"noise is the relative noise of y, a number at least 0 and below 1; got {noise!r}")
    return Problem(table, target, float(noise or 0.0), int(seed))


def require_same_order(X: Any, y: Any) -> None:
    """An error where two pandas tables name the same rows in another order: rows go together by place, not by name."""
    one: Any = getattr(X, "index", None)
    other: Any = getattr(y, "index", None)
    if not (hasattr(one, "equals") and hasattr(other, "equals")) or one.equals(other):  # lists have an index, too
        return
    if len(one) == len(other) and set(one) == set(other):
        raise ValueError("X and y have the same row labels in another order; give y.loc[X.index], or y.to_numpy()")


def _labels(values: Any) -> list[str]:
    """The names of the columns of a DataFrame; of anything else none."""
    columns = getattr(values, "columns", None)
    return [] if columns is None else [str(name) for name in columns]


def _numbers(values: Any, what: str) -> Array:
    if hasattr(values, "toarray"):
        raise ValueError(f"{what} is a sparse matrix; give {what}.toarray()")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "OSU":
            array = array.astype(object).astype(np.float64)
        if array.dtype.kind == "c":
            raise ValueError("complex numbers are not supported")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"values of type {array.dtype} are not numbers")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what} must hold numbers only: {error}{_first_text(values)}") from None


def _first_text(values: Any) -> str:
    """Where the first entry that is no number sits, for the message."""
    array = np.asarray(values, dtype=object)
    for position, entry in np.ndenumerate(array):
        try:
            float(entry)
        except (TypeError, ValueError, OverflowError):
            place, labels = tuple(int(i) for i in position), _labels(values)
            column = f", in column {labels[place[1]]}" if labels and len(place) == 2 else ""
            return f"; first such entry {shown(entry)} at {place}{column}"
    return ""


def _require_finite(X: Array, y: Array, names: Sequence[str]) -> None:
    rows, columns = np.nonzero(~np.isfinite(X))
    remedy = "drop or repair those rows (the first is 0)"
    if len(rows):
        where = f"rows {_listed(rows)} of columns {_listed(columns, names)}"
        raise ValueError(f"X has NaN or inf in {where}; {remedy}")
    (bad,) = np.nonzero(~np.isfinite(y))
    if len(bad):
        raise ValueError(f"y has NaN or inf in rows {_listed(bad)}; {remedy}")


def _listed(positions: Any, names: Sequence[str] = (), most: int = 8) -> str:
    distinct = sorted({int(i) for i in positions})
    return ", ".join(str(names[i]) if i < len(names) else str(i) for i in distinct[:most]) + (
        f" and {len(distinct) - most} more" if len(distinct) > most else ""
    )
