"""Physical units: which formulas balance, and in which unit their numbers are.

Columns without a unit may have any. A fitted number may carry whatever unit makes its term fit, and so may an exact
number (other than 1) that stands in front of the whole formula, or is its offset. Every other exact number is a pure
number: kilograms plus twice metres do not balance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from nalm.solver.formula.algebra import ONE, Applied, Constant, Formula, Input, Number, PowerProduct, WeightedSum
from nalm.solver.formula.functions import Function

Unit: TypeAlias = Any
"""A unit of pint; None where it may be any."""

TARGET = "y"
"""The name under which the unit of the target is given."""


class UnbalancedError(ValueError):
    """Two terms of different dimension are added, or a function is taken of something with a dimension."""


@dataclass(frozen=True, eq=False)
class Dimensions:
    """The unit of each column and of the target."""

    columns: tuple[Unit, ...]
    target: Unit = None

    def of_columns(self, kept: Sequence[int]) -> Dimensions:
        """The same for some of the columns."""
        return Dimensions(tuple(self.columns[i] for i in kept), self.target)

    def balance(self, formula: Formula) -> bool:
        """Can the formula have the dimension of the target?"""
        terms = formula.terms if isinstance(formula, WeightedSum) else ((Fraction(1), formula),)
        try:
            units = [(number, term, self._unit(term)) for number, term in terms]
        except UnbalancedError:
            return False
        return all(_free(number, term, alone=len(terms) == 1) or _same(u, self.target) for number, term, u in units)

    def said(self, formula: Formula) -> list[str]:
        """A sentence for each number of the formula that carries a unit."""
        return [f"the number {float(number):.6g} is in {unit}" for number, unit in self.of_numbers(formula)]

    def of_numbers(self, formula: Formula) -> Iterator[tuple[Number, str]]:
        """The numbers of the outermost sum that carry a unit, each with that unit."""
        if self.target is None:
            return
        terms = formula.terms if isinstance(formula, WeightedSum) else ((Fraction(1), formula),)
        for number, term in terms:
            unit = self._unit(term)
            if unit is not None and _free(number, term, alone=len(terms) == 1):
                carried = self.target / unit
                if carried.dimensionality:
                    yield number, f"{carried:~P}"

    def _unit(self, formula: Formula) -> Unit:
        match formula:
            case Input(index):
                return self.columns[index]
            case Constant(value):
                return None if isinstance(value, float) else _registry().Unit("")
            case WeightedSum(terms):
                added = [(number, self._unit(term)) for number, term in terms]
                known = [unit for number, unit in added if unit is not None and not isinstance(number, float)]
                if any(not _same(unit, known[0]) for unit in known):
                    raise UnbalancedError("terms of different dimension are added")
                return known[0] if known else None
            case PowerProduct(factors):
                units = [self._unit(factor) for factor, _ in factors]
                if any(unit is None for unit in units):
                    return None
                whole = _registry().Unit("")
                for unit, (_, exponent) in zip(units, factors, strict=True):
                    whole = whole * unit**exponent
                return whole
            case Applied(Function.ABS, argument):
                return self._unit(argument)
            case Applied(_, argument):
                if not _same(self._unit(argument), _registry().Unit("")):
                    raise UnbalancedError("a function is taken of something with a dimension")
                return _registry().Unit("")


def dimensions(units: Mapping[str, str] | None, names: Sequence[str]) -> Dimensions | None:
    """The units of a table, from `{"m": "kg", "y": "newton"}`; None if none are given.

    >>> table = dimensions({"m": "kg", "a": "m/s**2", "y": "N"}, ["m", "a"])
    >>> table.balance(PowerProduct(((Input(0), Fraction(1)), (Input(1), Fraction(1)))))
    True
    """
    if not units:
        return None
    unknown = [name for name in units if name not in (*names, TARGET)]
    if unknown:
        raise ValueError(
            f"units are given for {', '.join(map(repr, unknown))}, but the columns are {', '.join(names)}; "
            f"the target's unit goes under {TARGET!r}"
        )
    given = {name: _parsed(unit, name) for name, unit in units.items()}
    return Dimensions(tuple(given.get(name) for name in names), given.get(TARGET))


@cache
def _registry() -> Any:
    try:
        import pint
    except ImportError:
        raise ImportError("units need pint: pip install 'nalm[units]'") from None
    return pint.UnitRegistry()


def _parsed(unit: str, name: str) -> Unit:
    registry = _registry()
    import pint

    try:
        return registry.Unit(unit)
    except (pint.errors.PintError, ValueError, TypeError, AssertionError) as error:
        raise ValueError(f"the unit {unit!r} of {name!r} is not known: {error}") from None


def _same(unit: Unit, other: Unit) -> bool:
    return unit is None or other is None or unit.dimensionality == other.dimensionality


def _free(number: Number, term: Formula, alone: bool) -> bool:
    """May this number of the outermost sum carry a unit: fitted, or in front of the only term, or an offset?"""
    return isinstance(number, float) or (abs(number) != 1 and (alone or term == ONE))
