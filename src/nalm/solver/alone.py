"""One shape of the catalogue on its own: its best formula, judged like any other."""

from __future__ import annotations

from typing import Any

import numpy as np

from nalm.solver.data.problem import checked
from nalm.solver.search import climb
from nalm.solver.shapes.catalogue import ALONE, shape_named
from nalm.solver.shapes.shape import Scope
from nalm.solver.solve import one_thread
from nalm.solver.verdict.candidate import Verdict


def alone(shape: str, X: Any, y: Any, noise: float | None = None, seed: int = 0) -> Verdict | None:
    """The best formula of one shape over all columns, or None if nothing of that shape comes near.

    >>> X = np.random.default_rng(0).uniform(1, 2, (200, 8))
    >>> str(alone("sum", X, X[:, 0] - 2 * X[:, 3]).status)
    'exact'
    >>> str(alone("product of 2 sums", X, X[:, :3].sum(1) * X[:, 2:6].sum(1)).status)
    'exact'
    """
    scope = Scope(checked(X, y, noise=noise, seed=seed), ALONE)
    with one_thread(), np.errstate(all="ignore"):
        tried = climb(scope, [shape_named(shape)])
    return min(tried, key=_preference, default=None)


def _preference(verdict: Verdict) -> tuple[bool, int, float]:
    return not verdict.found, len(verdict.candidate.constants), verdict.candidate.relative_error
