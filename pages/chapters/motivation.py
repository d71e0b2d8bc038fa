"""What the page on perceptrons shows: their errors, and the surfaces they learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.stats import t

from nalm.bench.engine.unit_on_task import substituted
from nalm.bench.run import Run
from nalm.bench.show.drawings import Surface, draw_surfaces
from nalm.bench.studies import find_study
from nalm.bench.studies.motivation import SIGNS
from nalm.bench.tasks.arithmetic import OPERATIONS
from pages.committed import rows_of
from pages.markdown import markdown_table, picture

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
    by_id = {row["id"]: row for row in rows_of("motivation")}
    lines = []
    for name in ("motivation/mlp", "motivation/mlp-long"):
        study = find_study(name)
        for cell in study.cells:
            rows = [by_id[i] for i in (cell.run(seed).id for seed in range(study.seeds)) if i in by_id]
            if len(rows) < 2:
                continue
            inside, outside = ([float(row[key]) for row in rows] for key in ("validation_error", "test_error"))
            said = TABLE_1.get(cell.row, "") if cell.column == "×" else ""
            steps = f"{cell.method.steps:,}"
            lines.append([cell.column, cell.row, steps, str(len(rows)), _errors(inside), _errors(outside), said])
    head = ["", "network", "steps", "seeds", "U[1,2): error (solved)", "U[2,6): error (solved)", "published: both"]
    return markdown_table(head, sorted(lines, key=lambda line: list(SIGNS).index(line[0])))


DEAD = 0.1  # between the two errors of MLP (1) on ×: 0.0071, and 0.39 with a rectifier that is off for all inputs


def dead_seeds() -> str:
    """How many of all seeds that were run end with a dead rectifier."""
    study = find_study("motivation/mlp")
    (cell,) = (cell for cell in study.cells if (cell.row, cell.column) == ("MLP (1)", "×"))
    by_id = {row["id"]: row for row in rows_of("motivation")}
    names = [name for name in cell.ids(1 + max(row["seed"] for row in by_id.values())) if name in by_id]
    dead = sum(float(by_id[name]["validation_error"]) > DEAD for name in names)
    share = f"{dead / len(names):.0%}"
    return f"That is the luck of the first seeds: of all {len(names)} that were run {dead} end so, {share}."


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
    kept = {row["id"]: row["weights"] for row in rows_of("motivation-shown")}
    study = find_study("motivation/mlp")
    rows: dict[str, dict[str, Surface]] = {sign: {"true": _gold(name)} for sign, name in SIGNS.items()}
    for cell in study.cells:
        if cell.row != ("NMU" if cell.column in "+−" else "NAU"):  # the unit that is made for it, and the perceptrons
            rows[cell.column][cell.row] = _learned(cell.run(0), kept[cell.run(0).id])
    return picture(draw_surfaces(rows, (1, 2), (2, 6)), "motivation-surfaces.png", "Learned surfaces")
