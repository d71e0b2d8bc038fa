"""Evaluation curves in tests."""

import numpy as np

from nalm.bench.results.columns import Curve


def same_curve(one: Curve, other: Curve) -> bool:
    """Whether two curves agree bit for bit, in names and values."""
    return list(one) == list(other) and all(np.array_equal(one[n], other[n], equal_nan=True) for n in one)
