"""The part of a record that a run tells by itself."""

from __future__ import annotations

from typing import Any

from nalm.bench.run import Run


def described(run: Run, engine: str) -> dict[str, Any]:
    """What was run; an engine adds what came out."""
    return {
        "id": run.id,
        "study": run.study or None,
        "unit": run.model.label,
        "task": type(run.task).__name__,
        "operation": run.task.operation,
        "inputs": run.task.in_features,
        "range": run.task.range,
        "recipe": run.method.way,
        "steps": run.method.steps,
        "seed": run.seed,
        "engine": engine,
        "run": run.json,
    }
