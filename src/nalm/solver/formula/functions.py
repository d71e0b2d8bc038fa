"""The elementary functions a formula may apply: their values, slopes and names elsewhere, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]


class Function(StrEnum):
    """An elementary function, by its usual name, which is also its name in SymPy."""

    EXP = "exp"
    LOG = "log"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    TANH = "tanh"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ABS = "Abs"


@dataclass(frozen=True)
class Rule:
    """How a function is computed.

    Attributes:
        value, slope: of numbers; NaN outside the domain.
        inverse: which function undoes it on the branch that contains small numbers, if one does.
        operator: its name in ONNX.
    """

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    inverse: Callable[[Any], Any] | None
    operator: str


RULES = {
    Function.EXP: Rule(np.exp, np.exp, np.log, "Exp"),
    Function.LOG: Rule(np.log, lambda a: 1 / a, np.exp, "Log"),
    Function.SIN: Rule(np.sin, np.cos, np.arcsin, "Sin"),
    Function.COS: Rule(np.cos, lambda a: -np.sin(a), np.arccos, "Cos"),
    Function.TAN: Rule(np.tan, lambda a: 1 / np.cos(a) ** 2, np.arctan, "Tan"),
    Function.TANH: Rule(np.tanh, lambda a: 1 - np.tanh(a) ** 2, np.arctanh, "Tanh"),
    Function.ASIN: Rule(np.arcsin, lambda a: 1 / np.sqrt(1 - a**2), np.sin, "Asin"),
    Function.ACOS: Rule(np.arccos, lambda a: -1 / np.sqrt(1 - a**2), np.cos, "Acos"),
    Function.ATAN: Rule(np.arctan, lambda a: 1 / (1 + a**2), np.tan, "Atan"),
    Function.ABS: Rule(np.abs, np.sign, None, "Abs"),
}


def named(names: Iterable[str] | None) -> tuple[Function, ...]:
    """Functions by name; None for all. The error lists them.

    >>> named(["sin", "exp"])
    (<Function.SIN: 'sin'>, <Function.EXP: 'exp'>)
    """
    if names is None:
        return tuple(Function)
    known = {function.value.lower(): function for function in Function}
    if isinstance(names, str) or (unknown := [name for name in names if str(name).lower() not in known]):
        wrong = names if isinstance(names, str) else ", ".join(map(repr, unknown))
        raise ValueError(f"functions must be a list of {', '.join(known)}; got {wrong}")
    return tuple(known[str(name).lower()] for name in names)


def value_of(function: Function, argument: Values) -> Values:
    """The function's values; NaN outside its domain."""
    with np.errstate(all="ignore"):
        return np.asarray(RULES[function].value(argument))


def slope_of(function: Function, argument: Values) -> Values:
    """Its derivative."""
    with np.errstate(all="ignore"):
        return np.asarray(RULES[function].slope(argument))


def undone(function: Function, values: Values) -> Values | None:
    """The arguments that give these values, on the branch of small numbers; None where there are none."""
    inverse = RULES[function].inverse
    if inverse is None:
        return None
    with np.errstate(all="ignore"):
        found = np.asarray(inverse(values))
    return found if np.all(np.isfinite(found)) else None
