"""How many trained logic networks read as what they were taught: `python benchmarks/logic_reading.py logic.db`.

The store is that of `nalm run logic/boolean-2` and `nalm run logic/compare`. A network reads right if its expression
agrees with the target in every case, whatever its form.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

import nalm
from nalm.bench.results.store import Store
from nalm.bench.studies import find_study
from nalm.bench.task import SampledTask

CASES = {
    "logic/boolean-2": torch.tensor(list(itertools.product([0.0, 1.0], repeat=2))),
    "logic/compare": torch.tensor(list(itertools.product([-50.0, -3.0, 0.0, 3.0, 50.0], repeat=2))),
}


def trained(unit: nalm.Unit, weights: dict[str, object]) -> nalm.Unit:
    """A network with stored weights."""
    unit.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    return unit.eval()


def _given(target: Tensor, _x: Tensor) -> Tensor:
    return target


def main(path: str) -> None:
    print("| study | network | target | solved | reads right | for example |")
    print("|---|---|---|---|---|---|")
    with Store(path, readonly=True) as store:
        kept = {record["id"]: record for record in store.records()}
    for study in map(find_study, CASES):
        solved, right, example = Counter[tuple[str, str]](), Counter[tuple[str, str]](), dict[tuple[str, str], str]()
        x = CASES[study.name]
        for cell, run in study.runs():
            key = (cell.row, cell.column)
            record = kept.get(run.id)
            if record is None or not record["solved"]:
                continue
            solved[key] += 1
            assert isinstance(cell.task, SampledTask)
            target = cell.task.target(x.T, torch.zeros(0)).T
            try:
                decision = nalm.read_logic(trained(cell.model.build(), record["weights"]), ["a", "b"])
            except ValueError:
                continue  # its pairs compare different inputs
            if replace(decision, model=partial(_given, target)).disagreement(x) == 0:
                right[key] += 1
                example.setdefault(key, str(decision.outputs[0]))
        for row, column in solved:
            key = (row, column)
            shown = example.get(key, "").replace("|", "\\|")
            print(f"| {study.name} | {row} | `{column}` | {solved[key]} | {right[key]} | `{shown}` |")
        print(f"| {study.name} | all | all | {solved.total()} | {right.total()} | |")


if __name__ == "__main__":
    main(*sys.argv[1:])
