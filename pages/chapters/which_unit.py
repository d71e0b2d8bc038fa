"""Which unit for which operation: success over all ranges, from the committed runs of the published recipes."""

from __future__ import annotations

from statistics import mean

from nalm.bench.results.summary import CellSummary
from pages.committed import cells_of
from pages.markdown import markdown_table

OPERATIONS = {
    "a + b": ("single-module/add", "single-module/add-10"),
    "a − b": ("single-module/sub", "single-module/sub-10"),
    "a × b": ("single-module/mul",),
    "a / b": ("single-module/div", "division/uniform", "division/uniform-10"),
}
OTHER_WAYS = (" lgn", " solver")  # rows that are not trained by a published recipe


def by_operation() -> str:
    """Units by mean success over the ranges of an operation, with two inputs and with ten, best first."""
    lines = []
    for operation, names in OPERATIONS.items():
        for name in names:
            rates = _mean_rates(cells_of(name))
            best = sorted(rates.items(), key=lambda pair: -pair[1])
            inputs = "10" if name.endswith("-10") else "2"
            lines.append([operation, inputs, _listed(best), f"`{name}`"])
    return markdown_table(["operation", "inputs", "mean success over the ranges", "study"], lines)


def _mean_rates(cells: dict[tuple[str, str], CellSummary]) -> dict[str, float]:
    units = dict.fromkeys(row for row, _ in cells if not row.endswith(OTHER_WAYS))
    return {unit: mean(e.success.estimate for (row, _), e in cells.items() if row == unit) for unit in units}


def _listed(best: list[tuple[str, float]]) -> str:
    return ", ".join(f"{unit} {rate:.2f}" for unit, rate in best)
