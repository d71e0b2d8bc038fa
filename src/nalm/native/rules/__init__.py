"""One small rule per ATen operation: what it means for arrays of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nalm.native.rules.pointwise import POINTWISE
from nalm.native.rules.sums import SUMS
from nalm.native.rules.views import VIEWS

RULES: dict[str, Callable[..., Any]] = {**POINTWISE, **VIEWS, **SUMS}
