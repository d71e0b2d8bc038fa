"""Evidence for `nalm.LocalGaussNewton`: `python benchmarks/rule.py [PART ...]` measures and stores, by default all.

Results are kept in results/rule.json; `python -m pages.build training-rule` turns them into the results page.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rule_beyond
import rule_cost
import rule_gates
import rule_losses
import rule_misfits
import rule_networks
import torch
from rule_tasks import FRESH, run, single, stack

from nalm.bench.distribution import Halves
from nalm.bench.studies.division import OTHERS, mixed_signs
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.division import Division
from nalm.bench.tasks.two_layer import TwoLayer

RESULTS = Path(__file__).parent.parent / "results" / "rule.json"
Row = dict[str, Any]


def singles() -> list[Row]:
    """Every published range and distribution, two and ten inputs; sums also with a hundred."""
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
    return run(single(unit, task.inputs), task, FRESH, 60, 5)


def two_layer() -> list[Row]:
    """Product of two overlapping sums of 25 of 100 inputs, and more hidden units than needed."""
    rows = []
    for hidden in (2, 10):
        for label, (train, test) in RANGES.items():
            result = run(stack(100, hidden), TwoLayer(train, test), FRESH, 3000, 25)
            rows.append({"hidden": hidden, "data": label} | result)
            print(rows[-1], flush=True)
    return rows


PARTS: dict[str, Callable[[], list[Row]]] = {
    "singles": singles,
    "two_layer": two_layer,
    "networks": rule_networks.networks,
    "beyond": rule_beyond.beyond,
    "losses": rule_losses.losses,
    "misfits": rule_misfits.misfits,
    "gates": rule_gates.gates,
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
    return f'{{"seconds": {json.dumps(part["seconds"])}, "rows": [\n  {rows}]}}'


if __name__ == "__main__":
    main()
