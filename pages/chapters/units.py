"""The page of units, from the units themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from nalm.core.unit import Unit
from nalm.core.weight import Weight
from nalm.units import catalogue
from pages.markdown import markdown_table

COLUMNS = ("unit", "operations", "negative inputs", "grid", "parameters", "paper")


def order(cls: type[Unit]) -> tuple[bool, int, str, int]:
    """By year of the paper; baselines last."""
    year = max(map(int, re.findall(r"\b(?:19|20)\d\d\b", cls.paper)))
    return cls.operations == "baseline", year, cls.__module__, inspect.getsourcelines(cls)[1]


def row(cls: type[Unit]) -> tuple[str, ...]:
    """One line of the table."""
    unit = _smallest(cls)
    grids = [f"{w.name}: {', '.join(map(str, w.grid))}" for w in unit.weights.values() if w.grid]
    inner = [f"{name}: {', '.join(map(str, w.grid))}" for name, w in _inner_weights(unit) if w.grid]
    return (
        f"[{cls.__name__}](#{cls.__name__.lower()})",
        f"`{cls.operations}`",
        "kept" if cls.negatives else "lost",
        "; ".join([*grids, *inner]) or "none",
        str(sum(p.numel() for p in unit.parameters())),
        _authors_and_year(cls.paper),
    )


def _authors_and_year(paper: str) -> str:
    """A citation short enough for a column; the page's list of papers has all of it.

    >>> _authors_and_year("Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018")
    'Trask et al. 2018'
    >>> _authors_and_year("Rana, Malhi and Främling, Exploring Numerical Calculations with CalcNet, ICTAI 2019")
    'Rana, Malhi and Främling 2019'
    """
    authors = re.match(r"(?:\w+, )*\w+ and \w+(?=,)|[^,]+", paper)
    assert authors is not None, "a citation begins with its authors"
    years = re.findall(r"\b(?:19|20)\d\d\b", authors.string)
    return f"{authors[0].removesuffix(years[-1]).strip()} {years[-1]}"


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


def table() -> str:
    """Every unit in a line."""
    return markdown_table(COLUMNS, map(row, _units()))


def sections() -> str:
    """Every unit in a section."""
    return "\n\n".join(map(section, _units()))


def papers() -> str:
    """The papers of all units in full, but for the library's own units and what is a baseline of another paper."""
    full = {cls.paper for cls in _units() if not cls.paper.startswith(("nalm", "Baseline of"))}
    return "\n".join(f"- {paper}" for paper in sorted(full))


def _units() -> list[type[Unit]]:
    return sorted(catalogue().values(), key=order)
