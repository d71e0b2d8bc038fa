"""What the division page shows beside tables of studies: averages, seeds of mixed signs, gold errors, a weight path."""

from __future__ import annotations

from collections.abc import Sequence

from nalm.bench.landscape import LANDSCAPES
from nalm.bench.results.stats import Interval, clustered_rate
from nalm.bench.show.drawings import draw_landscapes, draw_lines, draw_path
from nalm.bench.studies import find_study
from nalm.bench.studies.division import LABELS, MIXED_SETS, NEGATIVE, OTHERS, POSITIVE, THREE, TOPS
from nalm.bench.study import Cell
from nalm.bench.tasks.arithmetic import RANGES
from nalm.bench.tasks.division import GOLD, Division, gold_error, near_zero
from nalm.bench.weight_path import weight_path
from pages.committed import rows_of
from pages.markdown import markdown_table, picture

UNITS = tuple(LABELS[unit] for unit in THREE)
NORMALS = [column for column in OTHERS if column.startswith("TN")]
LARGE = [column for column in OTHERS if column.startswith("U")]
HARD = [f"a/b, U[0,{top:g})" for top in TOPS]
TABLE_5_6: tuple[tuple[str, str, str, Sequence[str], tuple[float, ...]], ...] = (
    ("no", "mixed sign, uniform", "mixed-sign", MIXED_SETS, (0.44, 1, 1)),
    ("no", "mixed sign, truncated normal", "distributions", NORMALS, (0.61, 1, 1)),
    ("no", "negative, uniform", "uniform", NEGATIVE, (1, 1, 1)),
    ("no", "positive, uniform", "uniform", POSITIVE, (1, 1, 1)),
    ("no", "large, uniform", "distributions", LARGE, (0.74, 1, 1)),
    ("no", "large, Benford", "distributions", ["Benford"], (1, 1, 1)),
    ("no", "close to 0, TN(0,1)", "distributions", ["TN(0,1)"], (0.08, 1, 1)),
    ("no", "close to 0, uniform a/b", "small-magnitude", HARD, (0, 0.17, 0.40)),
    ("yes", "mixed sign, uniform", "mixed-sign-10", MIXED_SETS, (0.77, 0, 0.99)),
    ("yes", "mixed sign, truncated normal", "distributions-10", NORMALS, (0, 0, 0.48)),
    ("yes", "negative, uniform", "uniform-10", NEGATIVE, (0.92, 0, 0.82)),
    ("yes", "positive, uniform", "uniform-10", POSITIVE, (1, 1, 1)),
    ("yes", "large, uniform", "distributions-10", LARGE, (0, 0, 0)),
    ("yes", "large, Benford", "distributions-10", ["Benford"], (1, 1, 0.16)),
    ("yes", "close to 0, TN(0,1)", "distributions-10", ["TN(0,1)"], (0, 0, 0.04)),
)


def average(name: str, unit: str, columns: Sequence[str]) -> Interval:
    """Mean success of a unit over some columns of a study, which share their seeds."""
    study = find_study(f"division/{name}")
    solved = {row["id"]: bool(row["solved"]) for row in rows_of("division")}
    cells = [cell for cell in study.cells if cell.row == unit and cell.column in columns]
    return clustered_rate(
        [[solved[run] for run in runs] for runs in zip(*(c.ids(study.seeds) for c in cells), strict=True)]
    )


def _told(mean: Interval, published: float) -> str:
    return f"{mean.estimate:.2f}, {mean.low:.2f}-{mean.high:.2f} ({published:.2f})"


def averages() -> str:
    """The thesis' table 5.6: mean success by kind of input, ours and (published)."""
    lines = [
        [
            redundant,
            kind,
            str(len(columns)),
            *(_told(average(name, unit, columns), p) for unit, p in zip(UNITS, published, strict=True)),
        ]
        for redundant, kind, name, columns, published in TABLE_5_6
    ]
    return markdown_table(["redundancy", "inputs", "sets", *UNITS], lines)


def mixed_sign_seeds() -> str:
    """Runs of the published mixed-sign sets with ten inputs, by whether the operands really differ in sign."""
    study = find_study("division/mixed-sign-10")
    by_id = {row["id"]: row for row in rows_of("division")}
    counts: dict[str, dict[bool, list[bool]]] = {}
    for cell, run in study.runs():
        if cell.column.startswith("3:"):  # signs at random
            continue
        assert isinstance(run.task, Division)
        lows = run.task.train.numbers(10)[0, :, 0]
        first, second = (members.start for members in run.task.members(run.seed))
        differ = bool(lows[first].sign() != lows[second].sign())
        counts.setdefault(cell.row, {True: [], False: []})[differ].append(bool(by_id[run.id]["solved"]))
    lines = [
        [unit, *(f"{sum(found[differ])} of {len(found[differ])}" for differ in (False, True))]
        for unit, found in counts.items()
    ]
    return markdown_table(["solved runs of sets 1, 2, 4, 5", "operands of one sign", "of both signs"], lines)


def overall() -> str:
    """Mean success over the nine ranges with ten inputs, beside the numbers of the abstract."""
    published = {"Real NPU": "0.702", "Real NPU mod.": "0.853", "NRU": "", "NMRU": "0.916"}
    lines = []
    for unit, said in published.items():
        mean = average("uniform-10", unit, list(RANGES))
        lines.append([unit, f"{mean.estimate:.3f}", f"{mean.low:.2f}-{mean.high:.2f}", said])
    return markdown_table(["unit", "mean over nine ranges", "95 % interval", "published"], lines)


GOLD_TOPS = tuple(10.0**k for k in range(-8, 1))
PUBLISHED_GOLD = {
    ("NRU", "1/a"): (8.6727e-04, 4.2443e-05, 2.4447e-07, 1.4382e-09, 4.5717e-11),
    ("NRU", "1/a of a, b"): (8.0789e-04, 9.1489e-06, 5.6766e-08, 7.0890e-09, 3.3641e-11),
    ("NRU", "a/b"): (9.4699e-12, 3.2435e-11, 2.0841e-11, 2.0702e-11, 2.1556e-11),
    ("RealNPU", "1/a"): (1.15267e12, 2.04635e9, 4.90999e5, 55.2453, 5.58990e-03),
    ("RealNPU", "1/a of a, b"): (1.31033e12, 3.46341e9, 1.11502e6, 132.186, 1.34504e-02),
    ("RealNPU", "a/b"): (2531.39, 401.334, 8.68508, 0.0969411, 9.81353e-04),
    ("ProductUnit", "1/a"): (0.301720, 8.1218e-04, 1.4325e-05, 8.9406e-08, 9.2670e-10),
    ("ProductUnit", "1/a of a, b"): (0.183588, 4.0769e-03, 1.2593e-05, 7.4592e-08, 1.0549e-09),
    ("ProductUnit", "a/b"): (1.6491e-09, 5.8930e-10, 3.2669e-10, 2.7454e-10, 3.6360e-10),
    ("NMRU", "1/a"): (3.6691e-03, 4.1852e-05, 2.4432e-07, 1.4383e-09, 4.5320e-11),
    ("NMRU", "1/a of a, b"): (2.8079e-03, 9.1489e-06, 5.6766e-08, 7.0893e-09, 3.3651e-11),
    ("NMRU", "a/b"): (0.0327289, 8.9558e-05, 4.3995e-07, 1.8147e-08, 1.8490e-11),
}
GOLD_LABELS = {"NRU": "NRU", "NMRU": "NMRU", "RealNPU": "Real NPU", "ProductUnit": "Real NPU, ε = 0"}
GOLD_TASKS = {"1/a": ("inverse", 1), "1/a of a, b": ("inverse", 2), "a/b": ("div", 2)}


def gold_errors() -> str:
    """Test errors of ideal weights by range: the figure, and a table beside the published values."""
    panels = {
        task: {GOLD_LABELS[unit]: {top: gold_error(unit, *spec, near_zero(top)) for top in GOLD_TOPS} for unit in GOLD}
        for task, spec in GOLD_TASKS.items()
    }
    figure = picture(draw_lines(panels, "c of U[0,c)", "Test error"), "division-gold.svg", "Errors of ideal weights")
    lines = [
        [label, task, *(f"{panels[task][label][top]:.1e} ({p:.1e})" for top, p in zip(TOPS, published, strict=True))]
        for (label, task), published in (((GOLD_LABELS[u], t), p) for (u, t), p in PUBLISHED_GOLD.items())
    ]
    return f"{figure}\n\n{markdown_table(['unit', 'task', *(f'U[0,{top:g})' for top in TOPS)], lines)}"


def landscapes() -> str:
    """The published loss surfaces."""
    shown = [landscape for name, landscape in LANDSCAPES.items() if name != "nmu-pair"]
    return picture(draw_landscapes(shown, count=151), "landscapes.png", "Loss surfaces of two-layer networks")


def path() -> str:
    """The weights of one NMRU run over its steps."""
    cell = _cell("division/uniform-10", "NMRU", "U[1,2)")
    figure = draw_path(*weight_path(cell.run(0)), "NMRU, two of ten inputs, U[1,2), seed 0")
    return picture(figure, "division-path.svg", "Path of an NMRU's weights")


def _cell(study: str, row: str, column: str) -> Cell:
    return next(c for c in find_study(study).cells if (c.row, c.column) == (row, column))
