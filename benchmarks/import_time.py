"""How long `import nalm` takes beside `import torch` alone: medians of alternating fresh processes, in one run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 9
LIMIT = 1.3


def seconds(module: str) -> float:
    """Wall time of a fresh interpreter that imports `module`, minus what the interpreter itself needs."""
    return _timed(f"import {module}") - _timed("pass")


def _timed(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main() -> None:
    seconds("nalm")  # fill the disk cache
    pairs = [(seconds("torch"), seconds("nalm")) for _ in range(ROUNDS)]  # alternating: load hits both alike
    torch_time, nalm_time = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = nalm_time / torch_time
    print(f"import torch {torch_time:.2f} s, import nalm {nalm_time:.2f} s, ratio {ratio:.2f} (limit {LIMIT})")
    sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()
