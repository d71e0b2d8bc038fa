"""A store of 100,000 runs: time and memory to show and to export it, each in a process of its own.

`python benchmarks/load.py` (takes a few minutes: it writes the store first; `--runs N` for fewer).
Times are of the processor, so that another busy process does not count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from nalm.bench.engine.records import described
from nalm.bench.results.store import Store
from nalm.bench.studies import find_study
from nalm.bench.study import Study

STUDY = "single-module/mul"
BATCH = 2_000

MEASURE = """
import json, sys, time
from pathlib import Path
import torch
from dataclasses import replace
from nalm.bench.results.store import Store
from nalm.bench.results.summary import summarise
from nalm.bench.studies import find_study

def resident():  # kB now
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")))

path, seeds, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
study = replace(find_study("single-module/mul"), seeds=seeds)
before, began = resident(), time.process_time()
with Store(path, readonly=True) as store:
    if what == "show":
        entries = summarise(study, store.outcomes(study.ids()))
        count = sum(entry.runs for entry in entries)
    elif what == "missing":
        count = len(study.ids()) - len(store.missing(study.ids()))
    else:
        count = store.export(path + "-" + what, compact=what.startswith("compact"), force=True)
peak = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
print(json.dumps({"count": count, "seconds": time.process_time() - began, "MB": (peak - before) / 1024}))
"""


def fill(path: Path, study: Study) -> int:
    """Records as an engine makes them, with curves and weights, without training."""
    generator = np.random.default_rng(0)
    with Store(path) as store:
        batch = []
        for _, run in study.runs():
            error = generator.lognormal(size=51).astype(np.float32)
            curve = dict.fromkeys(("step", "validation_error", "test_error", "sparsity"), error)
            weights = {"W": generator.normal(size=(1, 2)).astype(np.float32).tolist()}
            batch.append(
                described(run, "native")
                | {"solved": bool(error[-1] < 1), "solved_at": 1000 if error[-1] < 1 else None, "selected_step": 1000}
                | {"validation_error": float(error[0]), "test_error": float(error[-1]), "sparsity": float(error[1])}
                | {"threshold": 1.0, "reinitialisations": 0, "seconds": 0.01, "weights": weights, "curve": curve}
            )
            if len(batch) == BATCH:
                store.add(batch)
                batch = []
        store.add(batch)
        return len(study.ids())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--store", type=Path, help="use and keep this file")
    options = parser.parse_args()
    study = find_study(STUDY)
    seeds = -(-options.runs // len(study.cells))
    with tempfile.TemporaryDirectory() as folder:
        path = options.store or Path(folder) / "runs.db"
        if not path.exists():
            fill(path, replace(study, seeds=seeds))
        print(f"{path.stat().st_size / 2**20:.0f} MB")
        for what in ("missing", "show", "compact.csv", "compact.csv.gz", "all.csv"):
            command = [sys.executable, "-c", MEASURE, str(path), str(seeds), what]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(f"{what}: {found['count']:,} runs, {found['seconds']:.2f} s, {found['MB']:.0f} MB more")


if __name__ == "__main__":
    main()
