"""One small rule per ATen operation: what it means for arrays of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .pointwise import POINTWISE
from .sums import SUMS
from .views import VIEWS

RULES: dict[str, Callable[..., Any]] = {**POINTWISE, **VIEWS, **SUMS}
