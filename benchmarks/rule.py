"""Evidence for `nalm.LocalGaussNewton`: `python benchmarks/rule.py [PART ...]` measures and stores, by default all.

Results are kept in benchmarks/results/rule.json; `python benchmarks/rule_page.py` turns them into the results page.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rule_ablations
import rule_beyond
import rule_cost
import rule_networks
import torch
from rule_tasks import run, single, stack

from nalm.bench.distribution import Alternating, Halves, Uniform
from nalm.bench.studies.division import OTHERS, mixed_signs
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.division import Division, near_zero
from nalm.bench.tasks.two_layer import FourInputs, TwoLayer

RESULTS = Path(__file__).parent / "results" / "rule.json"
SEEDS = range(25)
FRESH = range(100, 120)  # seen by no experiment before
Row = dict[str, Any]


def singles() -> list[Row]:
    """Section 2: every published range and distribution, two and ten inputs; sums also with a hundred."""
    rows = []
    for inputs in (2, 10):
        for label, (train, test) in {**RANGES, **mixed_signs(Halves), **OTHERS}.items():
            mul = SingleModule(train, test, "mul", inputs)
            rows.append({"unit": "NMU", "op": "mul", "inputs": inputs, "data": label} | _single("NMU", mul))
            for unit in ("NMRU", "NRU", "ModifiedRealNPU"):
                div = Division(train, test, inputs=inputs)
                rows.append({"unit": unit, "op": "div", "inputs": inputs, "data": label} | _single(unit, div))
    for inputs in (2, 10, 100):
        for op in ("add", "sub"):
            for label, (train, test) in RANGES.items():
                row = {"unit": "NAU", "op": op, "inputs": inputs, "data": label}
                rows.append(row | _single("NAU", SingleModule(train, test, op, inputs)))
    return rows


def _single(unit: str, task: SingleModule) -> Row:
    return run(single(unit, task.inputs), task, SEEDS, 60, 5)


def two_layer() -> list[Row]:
    """Section 3: product of two overlapping sums of 25 of 100 inputs, and more hidden units than needed."""
    rows = []
    for hidden in (2, 3, 6, 10):
        for label, (train, test) in RANGES.items():
            result = run(stack(100, hidden), TwoLayer(train, test), FRESH, 3000, 25)
            rows.append({"hidden": hidden, "data": label} | result)
            print(rows[-1], flush=True)
    return rows


def held_out() -> list[Row]:
    """Task families no setting was chosen on."""
    rows = []
    for top in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        part = near_zero(top)
        for unit in ("NMRU", "NRU"):
            row = {"family": "a/b, small magnitudes, tested on U[2,6)", "case": f"{unit}, U[0,{top:g})"}
            rows.append(row | _single(unit, Division(part, Uniform(2, 6))))
    for label, (train, test) in mixed_signs(Alternating).items():
        row = {"family": "a/b, 10 inputs of alternating sign", "case": label}
        rows.append(row | _single("NRU", Division(train, test, inputs=10)))
    for size, overlap in ((5, 0), (10, 0), (50, 25), (25, 25)):
        for label in ("U[-2,2)", "U[1,2)", "U[1.1,1.2)", "U[-20,-10)"):
            task = TwoLayer(*RANGES[label], size=size, overlap=overlap)
            row = {"family": f"product of two sums of {size}, {overlap} shared", "case": label}
            rows.append(row | run(stack(100, 2), task, FRESH, 2000, 25))
            print(rows[-1], flush=True)
    for label, (train, test) in RANGES.items():
        row = {"family": "(a+b)(a+b+c+d), 4 inputs", "case": label}
        rows.append(row | run(stack(4, 2), FourInputs(train, test), FRESH, 1000, 25))
    for label in ("U[-2,2)", "U[1,2)", "U[1.1,1.2)", "U[-20,-10)"):
        task = TwoLayer(*RANGES[label], size=10, overlap=3, count=3)
        row = {"family": "product of three sums of 10, 3 hidden units", "case": label}
        rows.append(row | run(stack(100, 3), task, FRESH, 2500, 25))
        print(rows[-1], flush=True)
    return rows


PARTS: dict[str, Callable[[], list[Row]]] = {
    "singles": singles,
    "two_layer": two_layer,
    "held_out": held_out,
    "networks": rule_networks.networks,
    "controls": rule_networks.controls,
    "beyond": rule_beyond.beyond,
    "drift": rule_ablations.drift,
    "ablations": rule_ablations.ablations,
    "cost": rule_cost.cost,
}


def main() -> None:
    """Measure the parts named on the command line."""
    torch.set_num_threads(1)
    for part in sys.argv[1:] or PARTS:
        if part not in PARTS:
            raise SystemExit(f"There is no part {part!r}; there are {', '.join(PARTS)}.")
        began = time.perf_counter()
        rows = PARTS[part]()
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[part] = {"seconds": round(time.perf_counter() - began), "rows": rows}
        lines = [f"{json.dumps(name)}: {_block(kept[name])}" for name in PARTS if name in kept]
        RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(part, "done in", kept[part]["seconds"], "s", flush=True)


def _block(part: dict[str, Any]) -> str:
    rows = ",\n  ".join(json.dumps(row) for row in part["rows"])
    return f'{{"seconds": {part["seconds"]}, "rows": [\n  {rows}]}}'


if __name__ == "__main__":
    main()
