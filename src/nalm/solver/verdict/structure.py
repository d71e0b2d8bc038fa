"""Whether errors look like noise, or like something a formula has missed."""

from __future__ import annotations

from itertools import chain, combinations_with_replacement, islice

import numpy as np
from scipy import stats

from nalm.solver.data.problem import Problem
from nalm.solver.formula.algebra import Formula, inputs, real_constants
from nalm.solver.formula.calculus import Array
from nalm.solver.settings import SETTINGS


def structured(problem: Problem, formula: Formula, level: float = SETTINGS.structure_level) -> bool:
    """Do the errors follow the inputs? True marks an approximation (or a missing term), not a law.

    The errors, and the errors in the direction of the target, are tested against a cubic in the inputs that the formula
    reads (an F test), and against each other (can a row be predicted from the others?).
    """
    errors = problem.errors(formula)
    if not np.all(np.isfinite(errors)):
        return True
    if np.sqrt(np.mean(errors**2)) < 1e-6:
        return False
    basis = np.linalg.qr(_cubic(problem, sorted(inputs(formula))))[0]
    # A target that changes sign would hide a missing factor, so its sign is taken out as well.
    both = (errors, errors * np.where(problem.y < 0, -1, 1))
    strength = SETTINGS.predictable if real_constants(formula) else SETTINGS.predictable_without_fits
    return any(_explained(basis, e) < level for e in both) or _predictable(problem.X, np.stack(both, axis=1), strength)


def _explained(basis: Array, errors: Array) -> float:
    """The chance that pure noise is explained this well by the columns of the basis."""
    rows, terms = basis.shape
    if terms < 2 or rows < terms + 4:
        return 1.0
    explained = float(np.sum((basis.T @ errors) ** 2))
    left = max(float(np.sum(errors**2)) - explained, 1e-300)
    return float(stats.f.sf((explained / terms) / (left / (rows - terms)), terms, rows - terms))


def _predictable(X: Array, errors: Array, strength: float) -> bool:
    """Does a smooth function of all inputs, fitted to the other rows, foretell a row's error? Columns are tested apart.

    What is real shows in every block of rows; what one block shows by chance, the next does not.

    Left-out predictions of kernel ridge regression, which sees what no list of terms names, correlate with white errors
    by chance only.
    """
    blocks = [
        slice(start, start + SETTINGS.kernel_rows)
        for start in range(0, max(1, len(X) - SETTINGS.kernel_rows + 1), SETTINGS.kernel_rows)
    ]
    return all(np.max(_foretold(X[block], errors[block])) > strength for block in blocks)


def _foretold(X: Array, errors: Array) -> Array:
    """How well the errors of each column are foretold: the correlation times the root of the rows."""
    spread = X.std(axis=0)
    z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    errors = errors - errors.mean(axis=0)
    distance = np.sum(z**2, axis=1)[:, None] + np.sum(z**2, axis=1) - 2 * z @ z.T
    kernel = np.exp(-distance / (4 * z.shape[1]))
    smoother = kernel @ np.linalg.inv(kernel + 0.1 * np.eye(len(z)))
    own = np.diag(smoother)[:, None]
    foretold = (smoother @ errors - own * errors) / (1 - own)
    size = np.linalg.norm(foretold, axis=0) * np.linalg.norm(errors, axis=0)
    return np.asarray(np.sqrt(len(z)) * np.sum(foretold * errors, axis=0) / np.maximum(size, 1e-300))


def _cubic(problem: Problem, used: list[int]) -> Array:
    """All terms to the third degree in the inputs read, the other inputs, products of two; a third as many as rows."""
    spread = problem.X.std(axis=0)
    standard = (problem.X - problem.X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    others = [i for i in range(problem.columns) if i not in used]
    read = [i for i in used if spread[i] > 0]
    terms = chain(
        chain.from_iterable(combinations_with_replacement(read, degree) for degree in range(4)),
        ((i,) for i in others),
        ((i, j) for j in others for i in (*read, *others) if i < j or i in read),
    )
    kept = list(islice(terms, max(1, problem.rows // 3)))
    return np.stack([np.prod(standard[:, term], axis=1) for term in kept], axis=1)
