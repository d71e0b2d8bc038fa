"""Named tensors that a mode remembers: changed in some runs, saved, loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor


def aligned(runs: Tensor, like: Tensor) -> Tensor:
    """A tensor of shape `runs` with as many axes as `like`."""
    return runs.reshape((*runs.shape, *[1] * (like.dim() - runs.dim())))


@dataclass
class State:
    """A dataclass whose fields are all tensors, the runs axes in front; a field may be None until it is first known."""

    def keep(self, ok: Tensor, **values: Tensor) -> None:
        """Set fields in the runs (or rows) that are `ok`: nearly always all of them or none, which costs nothing."""
        everywhere = bool(ok.all())
        if not everywhere and not bool(ok.any()):
            return
        for name, value in values.items():
            old = getattr(self, name)
            alike = value.shape == old.shape and value.dtype == old.dtype
            setattr(self, name, value if everywhere and alike else torch.where(aligned(ok, old), value, old))

    def saved(self) -> dict[str, Tensor | None]:
        """Copies by name."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: None if value is None else value.clone() for name, value in named.items()}

    def loaded(self, saved: Mapping[str, Any], label: str) -> Self:
        """The same state with saved values; what is not None here has to have their shapes.

        Args:
            label: whose state it is, for the error.
        """
        missing = {f.name for f in fields(self)} ^ set(saved)
        if missing:
            raise ValueError(f"{label}: the saved state differs from this version's in {sorted(missing)}.")
        for name, new in saved.items():
            old = getattr(self, name)
            if old is not None and new is not None and old.shape != new.shape:
                raise ValueError(f"{label}, {name}: saved {tuple(new.shape)}, this model needs {tuple(old.shape)}.")
            setattr(self, name, None if new is None else new.clone() if old is None else new.to(old).clone())
        return self
