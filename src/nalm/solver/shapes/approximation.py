"""What is left to predict with when nothing else fits: the mean and the straight line, in numbers of few digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import ONE, Constant, Formula, Input, total
from nalm.solver.formula.calculus import Array, evaluate
from nalm.solver.settings import SETTINGS
from nalm.solver.shapes.linear import least_squares


def approximations(problem: Problem) -> Iterator[Formula]:
    """The mean, and the line with the least squared error."""
    mean, deviation = float(np.mean(problem.y)), float(np.std(problem.y))
    yield Constant(rounded(mean, deviation / np.sqrt(problem.rows)))
    columns = [Input(i) for i in range(problem.columns) if np.any(problem.X[:, i])]
    if SETTINGS.rows_per_refused_number * (len(columns) + 1) > problem.rows:
        return
    line = fitted_sum(problem, columns, np.ones(problem.rows))
    if np.all(np.isfinite(evaluate(line, problem.X))):
        yield line


def fitted_sum(problem: Problem, terms: Sequence[Formula], weights: Array) -> Formula:
    """The sum of the terms with fitted weights, each rounded to its own accuracy before the others are fitted again.

    Its own accuracy is what the rows determine while the weights behind it are free: where terms cancel, the last ones
    need many digits.
    """
    features = [*terms, ONE]
    root = np.sqrt(weights / np.sum(weights))
    design = np.stack([evaluate(feature, problem.X) for feature in features], axis=1) * root[:, None]
    left = problem.y * root
    fitted = least_squares(design, left)
    scale = np.max(np.abs(design), axis=0)
    rows = 1 / float(np.sum((root**2) ** 2))
    noise = float(np.linalg.norm(left - design @ fitted)) / np.sqrt(max(rows - len(features), 1.0))
    # Behind the others, a column's own part of the basis gives its weight beside them: no need to fit them again.
    basis, triangle = np.linalg.qr((design / scale)[:, ::-1])
    numbers: list[float] = []
    for k, own in enumerate(np.diag(triangle)[::-1]):
        if abs(own) > SETTINGS.rank_cutoff:
            weight, deviation = basis[:, -1 - k] @ left / (own * scale[k]), noise / (abs(own) * scale[k])
            numbers.append(rounded(float(weight), float(deviation)))
        else:
            numbers.append(0.0)
        left = left - design[:, k] * numbers[-1]
    return total((number, feature) for number, feature in zip(numbers, features, strict=True))


def rounded(value: float, deviation: float) -> float:
    """The number with one digit more than its standard deviation lets one know.

    >>> rounded(3.14159, 0.02), rounded(1234.5, 30.0), rounded(0.0012, 0.5)
    (3.142, 1234.0, 0.0)
    """
    if not 0 < deviation < np.inf:
        return value
    decimals = 1 - int(np.floor(np.log10(deviation)))
    return float(round(value, decimals)) if abs(decimals) < 300 else value
