"""Every threshold of the solver, with its unit and the derivation or experiment that fixed it.

"Laws" in this package are the 65 laws of `benchmarks/regression_laws.py`, "approximations" what fits the targets of
`benchmarks/solver_targets.py`, functions that no formula of the solver equals.
"""

from __future__ import annotations

from dataclasses import dataclass

from nalm.solver.settings.arithmetic import Arithmetic
from nalm.solver.settings.claims import Claims
from nalm.solver.settings.errors import Errors
from nalm.solver.settings.functions import Functions
from nalm.solver.settings.tables import Tables


@dataclass(frozen=True)
class Settings(Claims, Errors, Arithmetic, Functions, Tables):
    """One number for each decision; nothing else in the solver holds a threshold of its own."""


SETTINGS = Settings()
