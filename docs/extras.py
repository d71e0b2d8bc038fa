"""What the results pages show beside tables of studies: averages, gold errors, landscapes, learned surfaces.

Each function is called by a line `{{ run extras:NAME }}` of a template and returns Markdown. Numbers come from the
committed tables in results/ or are computed here in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t

from nalm.engine.program import substituted
from nalm.figures import save
from nalm.landscape import LANDSCAPES, from_every_start, weight_path
from nalm.run import Run
from nalm.store import read_table
from nalm.studies.division import LABELS, MIXED_SETS, NEGATIVE, OTHERS, POSITIVE, THREE, TOPS
from nalm.studies.motivation import SIGNS
from nalm.study import Cell, find_study
from nalm.summary import Entry, summarise
from nalm.surfaces import Surface, draw_errors, draw_landscapes, draw_lines, draw_path, draw_starts, draw_surfaces
from nalm.tasks.arithmetic import OPERATIONS, RANGES
from nalm.tasks.division import GOLD, gold_error, near_zero

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "results" / "figures"


def _rows(name: str) -> list[dict[str, Any]]:
    return read_table(ROOT / "results" / f"{name}.csv.gz")


def _entries(study: str) -> dict[tuple[str, str], Entry]:
    return {(e.row, e.column): e for e in summarise(find_study(study), _rows(study.partition("/")[0]))}


def _picture(figure: Any, name: str, text: str) -> str:
    FIGURES.mkdir(parents=True, exist_ok=True)
    save(figure, FIGURES / name)
    return f"![{text}](figures/{name})"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


# -- division ------------------------------------------------------------------------------------------------------

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


def _mean(entries: dict[tuple[str, str], Entry], unit: str, columns: Sequence[str]) -> float:
    return float(np.mean([entries[unit, column].success.estimate for column in columns]))


def division_averages() -> str:
    """The thesis' table 5.6: mean success by kind of input, ours and (published)."""
    studies = {name: _entries(f"division/{name}") for name in dict.fromkeys(line[2] for line in TABLE_5_6)}
    lines = [
        [
            redundant,
            kind,
            str(len(columns)),
            *(f"{_mean(studies[name], u, columns):.2f} ({p:.2f})" for u, p in zip(UNITS, published, strict=True)),
        ]
        for redundant, kind, name, columns, published in TABLE_5_6
    ]
    return _table(["redundancy", "inputs", "sets", *UNITS], lines)


def division_overall() -> str:
    """Mean success over the nine ranges with ten inputs, beside the numbers of the abstract."""
    entries = _entries("division/uniform-10")
    published = {"Real NPU": "0.702", "Real NPU mod.": "0.853", "NRU": "", "NMRU": "0.916"}
    lines = [[u, f"{_mean(entries, u, list(RANGES)):.3f}", said] for u, said in published.items()]
    return _table(["unit", "mean over nine ranges", "published"], lines)


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
    picture = _picture(draw_lines(panels, "c of U[0,c)", "Test error"), "division-gold.svg", "Errors of ideal weights")
    lines = [
        [label, task, *(f"{panels[task][label][top]:.1e} ({p:.1e})" for top, p in zip(TOPS, published, strict=True))]
        for (label, task), published in (((GOLD_LABELS[u], t), p) for (u, t), p in PUBLISHED_GOLD.items())
    ]
    return f"{picture}\n\n{_table(['unit', 'task', *(f'U[0,{top:g})' for top in TOPS)], lines)}"


def landscapes() -> str:
    """The published loss surfaces."""
    shown = [landscape for name, landscape in LANDSCAPES.items() if name != "nmu-pair"]
    return _picture(draw_landscapes(shown, count=151), "landscapes.png", "Loss surfaces of two-layer networks")


def division_path() -> str:
    """The weights of one NMRU run over its steps."""
    cell = _cell("division/uniform-10", "NMRU", "U[1,2)")
    figure = draw_path(*weight_path(cell.run(0)), "NMRU, two of ten inputs, U[1,2), seed 0")
    return _picture(figure, "division-path.svg", "Path of an NMRU's weights")


def _cell(study: str, row: str, column: str) -> Cell:
    return next(c for c in find_study(study).cells if (c.row, c.column) == (row, column))


# -- multiplication ------------------------------------------------------------------------------------------------


def starts() -> str:
    """From which starts the NMU and the sNMU learn one product, and the NMU's error surface."""
    results = {"NMU": from_every_start(), "sNMU U[1,5]": from_every_start((1.0, 5.0))}
    surface = draw_landscapes([LANDSCAPES["nmu-pair"]], count=151)
    return "\n\n".join(
        [
            _picture(surface, "nmu-pair.png", "Error of the NMU on -2 times -1.8"),
            _picture(draw_starts(results), "nmu-starts.svg", "Starts from which training finds the product"),
            " ".join(f"{label}: {result.solved.mean():.0%} of 441 starts." for label, result in results.items()),
        ]
    )


# -- scaling -------------------------------------------------------------------------------------------------------


def scaling_errors() -> str:
    """Test errors of single runs by range, with the threshold of each range."""
    study = find_study("scaling/multiplication")
    by_id = {row["id"]: row for row in _rows("scaling")}
    groups: dict[str, dict[str, list[float]]] = {}
    limits = dict.fromkeys(study.columns, 0.0)
    for cell, run in study.runs():
        if run.id in by_id:
            row = by_id[run.id]
            groups.setdefault(cell.row, {}).setdefault(cell.column, []).append(float(row["test_error"]))
            limits[cell.column] = float(row["threshold"])
    return _picture(draw_errors(groups, limits), "scaling-errors.svg", "Test errors with scaled features")


# -- motivation ----------------------------------------------------------------------------------------------------

TABLE_1 = {
    "MLP (1)": "2.3e-01 ± 7.7e-02 (0 %); 1.9e+02 ± 2.9e+01 (0 %)",
    "MLP (100)": "3.4e-07 ± 4.7e-08 (100 %); 3.7e+01 ± 9.5e-01 (0 %)",
    "NMU": "4.6e-14 ± 0 (100 %); 9.9e-13 ± 0 (100 %)",
}


def _errors(values: Sequence[float]) -> str:
    mean, half = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    quantile = float(t.ppf(0.975, len(values) - 1))
    return f"{mean:.1e} ± {quantile * half:.1e} ({np.mean(np.asarray(values) < 1e-5):.0%})"


def mlp_errors() -> str:
    """Table 1 for all operations: mean error with its 95 % interval and the share below 1e-5, inside and outside."""
    by_id = {row["id"]: row for row in _rows("motivation")}
    lines = []
    for name in ("motivation/mlp", "motivation/mlp-long"):
        study = find_study(name)
        for cell in study.cells:
            rows = [by_id[i] for i in (cell.run(seed).id for seed in range(study.seeds)) if i in by_id]
            inside, outside = ([float(row[key]) for row in rows] for key in ("validation_error", "test_error"))
            said = TABLE_1.get(cell.row, "") if cell.column == "×" else ""
            steps = f"{cell.recipe.steps:,}"
            lines.append([cell.column, cell.row, steps, str(len(rows)), _errors(inside), _errors(outside), said])
    head = ["", "network", "steps", "seeds", "U[1,2): error (solved)", "U[2,6): error (solved)", "published: both"]
    return _table(head, sorted(lines, key=lambda line: list(SIGNS).index(line[0])))


def _learned(run: Run, weights: dict[str, Any]) -> Surface:
    unit = run.model.build(()).eval()
    parameters = {name: torch.tensor(value) for name, value in weights.items()}

    def surface(points: np.ndarray) -> np.ndarray:
        with substituted(unit, parameters), torch.no_grad():
            return np.asarray(unit(torch.from_numpy(points).float())[:, 0].double())

    return surface


def _gold(operation: str) -> Surface:
    def surface(points: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            values: np.ndarray = OPERATIONS[operation](points[:, 0], points[:, 1])
        return np.asarray(np.nan_to_num(values, nan=0.0, posinf=1e9, neginf=-1e9))

    return surface


def mlp_surfaces() -> str:
    """What seed 0 of each network learned, beside the true function."""
    kept = {row["id"]: row["weights"] for row in _rows("motivation-shown")}
    study = find_study("motivation/mlp")
    rows: dict[str, dict[str, Surface]] = {sign: {"true": _gold(name)} for sign, name in SIGNS.items()}
    for cell in study.cells:
        if cell.row != ("NMU" if cell.column in "+−" else "NAU"):  # the unit that is made for it, and the perceptrons
            rows[cell.column][cell.row] = _learned(cell.run(0), kept[cell.run(0).id])
    return _picture(draw_surfaces(rows, (1, 2), (2, 6)), "motivation-surfaces.png", "Learned surfaces")
