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
class Definition:
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


DEFINITIONS = {
    Function.EXP: Definition(np.exp, np.exp, np.log, "Exp"),
    Function.LOG: Definition(np.log, lambda a: 1 / a, np.exp, "Log"),
    Function.SIN: Definition(np.sin, np.cos, np.arcsin, "Sin"),
    Function.COS: Definition(np.cos, lambda a: -np.sin(a), np.arccos, "Cos"),
    Function.TAN: Definition(np.tan, lambda a: 1 / np.cos(a) ** 2, np.arctan, "Tan"),
    Function.TANH: Definition(np.tanh, lambda a: 1 - np.tanh(a) ** 2, np.arctanh, "Tanh"),
    Function.ASIN: Definition(np.arcsin, lambda a: 1 / np.sqrt(1 - a**2), np.sin, "Asin"),
    Function.ACOS: Definition(np.arccos, lambda a: -1 / np.sqrt(1 - a**2), np.cos, "Acos"),
    Function.ATAN: Definition(np.arctan, lambda a: 1 / (1 + a**2), np.tan, "Atan"),
    Function.ABS: Definition(np.abs, np.sign, None, "Abs"),
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
        return np.asarray(DEFINITIONS[function].value(argument))


def slope_of(function: Function, argument: Values) -> Values:
    """Its derivative."""
    with np.errstate(all="ignore"):
        return np.asarray(DEFINITIONS[function].slope(argument))


def inverse_of(function: Function, values: Values) -> Values:
    """The arguments that give these values, on the branch of small numbers; NaN where there are none."""
    inverse = DEFINITIONS[function].inverse
    with np.errstate(all="ignore"):
        return np.full(len(values), np.nan) if inverse is None else np.asarray(inverse(values))
