"""Numbers that have a name: 6.2831853 is two pi, where that is hardly by chance."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from nalm.solver.settings import SETTINGS

NAMED = {
    "pi": math.pi, "1/pi": 1 / math.pi, "E": math.e, "sqrt(2)": math.sqrt(2), "pi**2": math.pi**2,
    "sqrt(pi)": math.sqrt(math.pi), "1/sqrt(pi)": 1 / math.sqrt(math.pi), "1/pi**2": math.pi**-2,
    "sqrt(3)": math.sqrt(3), "log(2)": math.log(2), "1/log(2)": 1 / math.log(2), "log(10)": math.log(10),
    "1/log(10)": 1 / math.log(10), "sqrt(2*pi)": math.sqrt(2 * math.pi), "1/sqrt(2*pi)": 1 / math.sqrt(2 * math.pi),
    "1/E": 1 / math.e,
}  # fmt: skip
"""As SymPy writes them, the usual ones first."""


def recognised(value: float, deviation: float) -> str:
    """A number as a small fraction of one with a name, in SymPy's words; empty if it is none, or may be one by chance.

    Simple ones are asked first. The chance that a number lies within reach of any of those asked so far is at most the
    number of them times the reach, to both sides.

    >>> recognised(6.2831853072, 1e-10), recognised(-0.0795774715, 1e-9), recognised(3.14, 0.01), recognised(9.81, 1e-9)
    ('2*pi', '-1/(4*pi)', '', '')
    """
    reach = max(SETTINGS.fraction_reach * deviation, SETTINGS.named_reach * abs(value))
    for asked, (number, text) in enumerate(_simplest_first(), start=1):
        if 2 * asked * reach > SETTINGS.named_chance * abs(value):
            return ""
        if abs(abs(value) - number) <= reach:
            return text if value > 0 else f"-{text}"
    return ""


@cache
def _simplest_first() -> list[tuple[float, str]]:
    """Fractions of the numbers with a name; a fraction is simple if its numerator times its denominator is small."""
    most = SETTINGS.largest_denominator
    fractions = {Fraction(p, q) for p in range(1, most + 1) for q in range(1, most + 1)}
    listed = [
        (fraction.numerator * fraction.denominator + place, float(fraction) * number, _written(fraction, name))
        for place, (name, number) in enumerate(NAMED.items())
        for fraction in fractions
    ]
    return [(number, text) for _, number, text in sorted(listed)]


def _written(fraction: Fraction, name: str) -> str:
    """A fraction of a number with a name.

    >>> _written(Fraction(4, 3), "pi"), _written(Fraction(1, 4), "1/pi"), _written(Fraction(1), "E")
    ('4*pi/3', '1/(4*pi)', 'E')
    """
    top, bottom = fraction.numerator, fraction.denominator
    if name.startswith("1/"):
        below = name.removeprefix("1/")
        return f"{top}/{below}" if bottom == 1 else f"{top}/({bottom}*{below})"
    return ("" if top == 1 else f"{top}*") + name + ("" if bottom == 1 else f"/{bottom}")
