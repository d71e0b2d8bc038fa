"""A user's own table of numbers as a task: rows are drawn with replacement."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from nalm.bench.distribution import Distribution
from nalm.bench.task import SampledTask
from nalm.core.scalar import Scalar


@dataclass(frozen=True)
class Rows(Distribution):
    """Rows of a table, each equally likely. The last columns are the targets.

    Args:
        digest: names the content, so that a run's id depends on the data and not on where it lies.
    """

    digest: str
    values: Tensor = field(repr=False, compare=False)  # (columns, rows)

    @classmethod
    def of(cls, inputs: ArrayLike, targets: ArrayLike) -> Rows:
        """From X `(rows, in)` and y `(rows,)` or `(rows, out)`."""
        x, y = np.asarray(inputs, dtype=np.float64), np.asarray(targets, dtype=np.float64)
        y = y.reshape(len(y), -1)
        if x.ndim != 2 or len(x) != len(y) or not len(x):
            raise ValueError(f"A table needs X (rows, inputs) and y with as many rows; got {x.shape} and {y.shape}.")
        table = np.concatenate([x, y], 1)
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            row, column = bad[0]
            raise ValueError(f"Row {row}, column {column} of the table is not a finite number.")
        digest = hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()[:16]
        return cls(digest, torch.from_numpy(table.T.copy()))

    def numbers(self, features: int) -> Tensor:
        return self.values.unsqueeze(0)

    @staticmethod
    def quantile(u: Tensor, numbers: Tensor) -> Tensor:
        table = numbers[..., 0, :, :]  # (*runs, columns, rows)
        count = table.shape[-1]
        index = (u[..., :1, :] * count).long().clamp(max=count - 1)
        return torch.take_along_dim(table, index, -1)

    def __str__(self) -> str:
        return f"table:{self.digest}"


@dataclass(frozen=True)
class Table(SampledTask):
    """Learn y from X.

    Args:
        train: rows to learn from; validation uses them too.
        test: rows that decide whether a run is solved, best from outside the training range.
        below: the mean squared test error that counts as solved.

    >>> x = [[1.0, 2.0], [3.0, 4.0]]
    >>> Table(Rows.of(x, [2.0, 12.0]), Rows.of([[5.0, 6.0]], [30.0])).in_features
    2
    """

    train: Rows
    test: Rows
    outputs: int = 1
    below: float = 1e-5

    @property
    def in_features(self) -> int:
        return self.train.values.shape[0] - self.outputs

    @property
    def out_features(self) -> int:
        return self.outputs

    @property
    def draws(self) -> int:
        return 1

    @property
    def operation(self) -> str:
        return "table"

    @property
    def structure(self) -> tuple[object, ...]:
        return (type(self).__name__, self.outputs, tuple(self.train.values.shape))

    def sample(self, u: Tensor, numbers: Tensor, selection: Tensor, part: Distribution) -> tuple[Tensor, Tensor]:
        rows = part.quantile(u, numbers)
        return rows[..., : self.in_features, :], rows[..., self.in_features :, :]

    def target(self, x: Tensor, selection: Tensor) -> Tensor:
        raise TypeError("A table has no target function; its targets are sampled with its inputs.")

    def formula(self, x: Sequence[Scalar], seed: int) -> list[Scalar]:
        raise TypeError("A table has no formula: that is what is to be found.")

    def threshold(self) -> float:
        return self.below
