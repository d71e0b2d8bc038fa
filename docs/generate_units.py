"""Writes docs/units.md from the units themselves: `make docs`. A test fails when the page is out of date."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from nalm.core.unit import Unit
from nalm.core.weight import Weight
from nalm.units import catalogue

PAGE = Path(__file__).with_name("units.md")
HEAD = """# The units

Generated from the code by `make docs`; do not edit. Every unit is built as `nalm.NMU(in_features, out_features)` and is
an ordinary `torch.nn.Module`; baselines are in `nalm.baselines`.

- *negative inputs*: whether the sign of an input reaches the output;
- *grid*: the values each weight should end on; weights without one may end anywhere, so a formula keeps their decimals;
- *parameters*: how many numbers are trained for two inputs and one output (two outputs where they come in pairs, one
  input where it is an angle).
"""
COLUMNS = ("unit", "operations", "negative inputs", "grid", "parameters", "paper")


def order(cls: type[Unit]) -> tuple[bool, int, str, int]:
    """By year of the paper; baselines last."""
    year = max(map(int, re.findall(r"\b(?:19|20)\d\d\b", cls.paper)))
    return cls.operations == "baseline", year, cls.__module__, inspect.getsourcelines(cls)[1]


def row(cls: type[Unit]) -> str:
    """One line of the table."""
    unit = _smallest(cls)
    grids = [f"{w.name}: {', '.join(map(str, w.grid))}" for w in unit.weights.values() if w.grid]
    inner = [f"{name}: {', '.join(map(str, w.grid))}" for name, w in _inner_weights(unit) if w.grid]
    cells = (
        f"[{cls.__name__}](#{cls.__name__.lower()})",
        f"`{cls.operations}`",
        "kept" if cls.negatives else "lost",
        "; ".join([*grids, *inner]) or "none",
        str(sum(p.numel() for p in unit.parameters())),
        cls.paper,
    )
    return "| " + " | ".join(cells) + " |"


def _smallest(cls: type[Unit]) -> Unit:
    """Two inputs and one output, or the nearest sizes that the unit can have."""
    for sizes in ((2, 1), (2, 2), (1, 1)):
        try:
            return cls(*sizes)
        except ValueError:
            continue
    raise ValueError(f"{cls.__name__} can be built with none of the sizes tried.")


def _inner_weights(unit: Unit) -> Iterator[tuple[str, Weight]]:
    for path, module in unit.named_modules():
        if path and isinstance(module, Unit):
            yield from ((f"{path}.{name}", weight) for name, weight in module.weights.items())


def section(cls: type[Unit]) -> str:
    """A unit's docstring as Markdown: its headings become a list, its example is left to the code."""
    prose, _, _ = (inspect.getdoc(cls) or "").partition(">>> ")
    prose = re.sub(r"^(Formula|Reads as|Trained as|Paper): ", r"- **\1**: ", prose.strip(), flags=re.M)
    prose = re.sub(r"\n(?!- |\n)", "\n  ", prose)
    return f"## {cls.__name__}\n\n{prose.strip()}"


def page() -> str:
    """The whole page."""
    units = sorted(catalogue().values(), key=order)
    table = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS), *map(row, units)]
    return "\n\n".join([HEAD.strip(), "\n".join(table), *map(section, units)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
