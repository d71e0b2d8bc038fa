"""What tasks share whose operation is chosen by a name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from nalm.bench.find import nearest
from nalm.bench.task import SampledTask, kind


@dataclass(frozen=True)
class NamedTask(SampledTask):
    """One operation of several. A subclass says which there are and gives `name` a default."""

    names: ClassVar[Collection[str]]
    what: ClassVar[str] = "operation"  # that a name stands for, in errors
    name: str

    def __post_init__(self) -> None:
        if self.name not in self.names:
            raise ValueError(f"There is no {self.what} {self.name!r}. {nearest(self.name, self.names)}")

    @property
    def operation(self) -> str:
        return self.name

    @property
    def structure(self) -> tuple[object, ...]:
        return (type(self).__name__, self.name, self.in_features, *kind(self))


@dataclass(frozen=True)
class WideTask(NamedTask):
    """The same on as many inputs as one likes."""

    inputs: int = 2

    @property
    def in_features(self) -> int:
        return self.inputs
