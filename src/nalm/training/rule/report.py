"""What the rule says about itself: a table for people, numbers for a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nalm.core.notebook import paragraph, table
from nalm.core.reading import read
from nalm.training.rule.mode import Standing

WIDEST = 24  # characters of a formula in a table of 80 columns
HEAD = ("unit", "position", "state", "left", "formula")


@dataclass(frozen=True)
class Report:
    """How the training stands. Printed it is a table, in a notebook too; `numbers()` is for a log.

    Attributes:
        steps: made so far.
        refused: batches from which nothing was learned, because they or their loss were not finite.
        standings: one for each unit that was used.
        idle: units that are frozen, or on which the loss does not depend, by label.
    """

    steps: int
    refused: int
    standings: Sequence[Standing]
    idle: Sequence[str]

    def numbers(self) -> dict[str, float]:
        """For a logger: shares between 0 and 1, by unit.

        `left` is the share of what the unit should have computed that it leaves unexplained.
        """
        log = {"steps": float(self.steps), "refused": float(self.refused)}
        for one in self.standings:
            name = one.ruled.label
            log |= {f"{name}/on_grid": one.on_grid, f"{name}/moved": one.moved, f"{name}/base": one.left}
            log |= {f"{name}/attempts": float(one.attempts)}
            if one.unexplained is not None:
                log[f"{name}/left"] = one.unexplained
        return log

    def __str__(self) -> str:
        lines = [HEAD, *self._lines()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        padded = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([*padded, self._foot()])

    def _repr_html_(self) -> str:
        return table(HEAD, self._lines()) + paragraph(self._foot())

    def _lines(self) -> list[tuple[str, ...]]:
        lines = [(_title(s), s.position.value, _state(s), _percent(s.unexplained), _formula(s)) for s in self.standings]
        return [*lines, *((name, "-", "frozen or unused", "-", "") for name in self.idle)]

    def _foot(self) -> str:
        refused = f", {self.refused} batches refused (not finite)" if self.refused else ""
        reasons = list(dict.fromkeys(one.why for one in self.standings if one.why))
        left = [(", ".join(one.ruled.label for one in self.standings if one.why == why), why) for why in reasons]
        return "\n".join([f"{self.steps} steps{refused}", *(f"left to base: {names}, as {why}" for names, why in left)])


def _title(one: Standing) -> str:
    return f"{one.ruled.label} ({type(one.ruled.unit).__name__})"


def _state(one: Standing) -> str:
    """Who holds the unit; with several rows or runs, how many percent of them."""
    parts = [("on the grid", one.on_grid), ("moved by the rule", one.moved), ("left to base", one.left)]
    parts = [(name, part) for name, part in parts if part > 0]
    text = parts[0][0] if len(parts) == 1 else ", ".join(f"{part:.0%} {name}" for name, part in parts)
    return text + (f", attempt {one.attempts}" if one.attempts > 1 else "")


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.2g}"


def _formula(one: Standing) -> str:
    unit = one.ruled.unit
    if unit.runs:
        return f"{unit.runs[0]} runs"
    try:
        text = "; ".join(str(output) for output in read(unit).outputs)
    except (TypeError, ValueError) as error:
        text = str(error)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
