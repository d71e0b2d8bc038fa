"""How much the rows of a table can tell of a smooth function, whatever function it is.

A thousand rows of one input between 1.1 and 1.2 are no thousand facts: any smooth function of it is a polynomial of
degree six for all that float64 can tell, so seven numbers say all. A formula with five fitted numbers meets the first
five by being fitted, and the other two by being the best of thousands.
"""

from __future__ import annotations

import numpy as np

from nalm.solver.data.problem import Problem, once_for_table
from nalm.solver.formula.algebra import Formula, inputs, real_constants
from nalm.solver.formula.calculus import Array, gradients
from nalm.solver.settings import SETTINGS


def unfitted_bits(problem: Problem, formula: Formula) -> float:
    """The bits of information about a smooth function that a formula has met without being fitted to them.

    They are those that the rows have in common with a Gaussian process of the inputs the formula reads, without its
    best known directions, as many as the formula has fitted numbers: half the logarithm of one plus the signal over the
    noise in each, where the noise is what rounding leaves open.
    """
    read = tuple(sorted(inputs(formula)))
    if not read:
        return np.inf
    _, by_input, _ = gradients(formula, problem.X)
    height = float(np.max(np.abs(problem.y))) or 1.0
    signal = float(np.sqrt(np.mean((problem.y / height) ** 2)))
    noise = max(float(np.median(problem.tolerance(by_input) / height)), problem.rounding * signal)  # 0 for most y at 0
    shares = _directions(problem.X, read, tuple(_length(problem, formula, i, by_input) for i in read))
    bits = 0.5 * np.log2(1 + shares * (signal / noise) ** 2)
    return float(np.sum(bits[len(real_constants(formula)) :]))


def _length(problem: Problem, formula: Formula, column: int, by_input: Array) -> float:
    """How far an input has to move until the slope is another one: at most by its own size, less where a wave turns.

    A power of two, so that formulas that are alike share their directions.
    """
    x = problem.X[:, column]
    own = float(np.median(np.abs(x))) or float(np.std(x)) or 1.0
    step = SETTINGS.slope_step * (float(np.std(x)) or own)
    moved = problem.X.copy()
    moved[:, column] += step
    slope = by_input[:, column]
    with np.errstate(all="ignore"):
        change = np.abs(gradients(formula, moved)[1][:, column] - slope) / step
        turns = np.abs(slope) / change
    turns = turns[np.isfinite(turns) & (turns > 0)]
    return float(2.0 ** np.round(np.log2(min(own, float(np.median(turns))) if len(turns) else own)))


@once_for_table(most=8)  # of the last formulas judged, which mostly read the same inputs
def _directions(X: Array, columns: tuple[int, ...], lengths: tuple[float, ...]) -> Array:
    """The variances of a smooth function of variance 1 along its principal directions at the distinct rows, largest
    first: the eigenvalues of a Gaussian kernel."""
    distinct = np.unique(X[:, columns], axis=0)
    some = distinct[np.random.default_rng(0).permutation(len(distinct))[: SETTINGS.kernel_rows]]
    z = some / np.array(lengths)
    squares = np.sum(z**2, axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * z @ z.T, 0.0)
    variances = np.linalg.eigvalsh(np.exp(-distance / 2))[::-1]
    known = variances > SETTINGS.smallest_direction * variances[0]
    return np.asarray(variances[known] * len(distinct) / len(some))
