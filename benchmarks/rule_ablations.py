"""What each ingredient of the rule is worth, and what drifting inputs do to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import torch
from rule_tasks import Data, noisy_ten, run, single, stack, ten
from torch import Tensor

from nalm.bench.studies.division import OTHERS
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.two_layer import TwoLayer
from nalm.core.uniforms import uniforms
from nalm.training.rule import Settings
from nalm.training.rule import curvature as curvature_module

Row = dict[str, Any]
Change = Callable[[], Any]
JOINT, TRACK, OPTIMISER = "nalm.training.rule.joint", "nalm.training.rule.track", "nalm.training.rule.optimiser"


def scaled_solve(moment: Tensor, right: Tensor, damping: float | Tensor) -> Tensor:  # noqa: ARG001
    """No whitening: divide by the largest eigenvalue only."""
    size = torch.linalg.matrix_norm(moment, 2)[..., None, None]
    return torch.where(size > 0, right / size, 0.0)


def diagonal_einsum(equation: str, *operands: Tensor) -> Tensor:
    """The curvature between outputs without its off-diagonal part."""
    full = torch.einsum(equation, *operands)
    return torch.diag_embed(full.diagonal(dim1=-2, dim2=-1))


@contextmanager
def curvature_times(factor: float) -> Iterator[None]:
    """The loss's curvature wrong by a factor."""

    def probes(*args: Any) -> list[Tensor]:
        return [p * math.sqrt(factor) for p in curvature_module.loss_probes(*args)]

    with patch(f"{OPTIMISER}.loss_probes", probes):
        yield


def flat_information(_form: object, evidence: Any) -> Tensor:
    """Every sample counts the same."""
    return torch.ones_like(evidence.y)


def target_information(_form: object, evidence: Any) -> Tensor:
    """Logarithms of products weighted by the noisy target itself."""
    noise = (evidence.implied - evidence.y).abs().median(-1, keepdim=True).values
    square: Tensor = evidence.implied.square()
    return square / (square + noise.square())


class _NoEinsum:
    """Torch with another einsum, for the curvature between outputs."""

    def __getattr__(self, name: str) -> Any:
        return diagonal_einsum if name == "einsum" else getattr(torch, name)


STACK: dict[str, tuple[Settings | None, Change]] = {
    "full": (None, nullcontext),
    "no input whitening": (None, lambda: patch(f"{JOINT}.solve", _whitening_off())),
    "no curvature between outputs": (None, lambda: patch(f"{JOINT}.torch", _NoEinsum())),
    "no trust region": (Settings(trust=1e9), nullcontext),
    "no balance of rows": (Settings(balance=0.0), nullcontext),
    "no caution at the start": (None, lambda: patch(f"{JOINT}.CAUTION", 0.0)),
    "no snap (judged by test error)": (Settings(snap=False), nullcontext),
    "curvature x 0.5": (None, lambda: curvature_times(0.5)),
    "curvature x 5": (None, lambda: curvature_times(5.0)),
}
PRODUCT: dict[str, tuple[Settings | None, Change]] = {
    "full": (None, nullcontext),
    "no whitening": (None, lambda: patch(f"{TRACK}.solve", scaled_solve)),
    "all samples count the same": (None, lambda: patch(f"{TRACK}.information", flat_information)),
    "no snap (judged by test error)": (Settings(snap=False), nullcontext),
    "curvature x 0.5": (None, lambda: curvature_times(0.5)),
    "curvature x 2": (None, lambda: curvature_times(2.0)),
    "curvature x 10": (None, lambda: curvature_times(10.0)),
}

NOISY: dict[str, Change] = {
    "full": nullcontext,
    "all samples count the same": lambda: patch(f"{TRACK}.information", flat_information),
    "weighted by target instead of output": lambda: patch(f"{TRACK}.information", target_information),
}


def _whitening_off() -> Callable[..., Tensor]:
    from nalm.training.rule.regression import solve

    def choose(moment: Tensor, right: Tensor, damping: float | Tensor) -> Tensor:
        return solve(moment, right, damping) if moment.shape[-1] <= 2 else scaled_solve(moment, right, damping)

    return choose


def ablations() -> list[Row]:
    """Two-layer task on five ranges, ten-input products and quotients on fifteen distributions; three seeds each."""
    rows = []
    for label, (settings, change) in STACK.items():
        with change():
            parts = ("U[-20,-10)", "U[-2,2)", "U[1,2)", "U[1.1,1.2)", "U[0.1,0.2)")
            done = {p: run(stack(100, 2), TwoLayer(*RANGES[p]), range(3), 500, 25, settings) for p in parts}
        rows.append({"task": "two-layer", "variant": label} | _sum(done))
        print(rows[-1], flush=True)
    for label, (settings, change) in PRODUCT.items():
        for op in ("mul", "div"):
            with change():
                rows.append({"task": f"{op}, 10 inputs", "variant": label} | _everywhere(op, settings))
    for label, change in NOISY.items():
        for op in ("mul", "div"):
            with change():
                done = {name: noisy_ten(op, *parts, 0.1) for name, parts in {**RANGES, **OTHERS}.items()}
            rows.append({"task": f"{op}, 10 inputs", "variant": f"label noise 10 %, {label}"} | _sum(done))
    for size in (1, 4, 16, 1000):
        for op in ("mul", "div"):
            label = f"batches of {size}"
            rows.append({"task": f"{op}, 10 inputs", "variant": label} | _everywhere(op, size=size))
    return rows


def _everywhere(op: str, settings: Settings | None = None, size: int = 128) -> Row:
    parts = {**RANGES, **OTHERS}
    return _sum({name: ten(op, *part, range(3), 300, settings, size) for name, part in parts.items()})


def _sum(done: dict[str, Row]) -> Row:
    failed = [f"{name} ({d['solved']}/{d['runs']})" for name, d in done.items() if d["solved"] < d["runs"]]
    total = {key: sum(d[key] for d in done.values()) for key in ("solved", "runs", "on_grid")}
    return {**total, "last_step": max(d["last_step"] or 0 for d in done.values()), "failed": failed}


def drift() -> list[Row]:
    """Inputs whose range changes while the unit learns: ten inputs, ten seeds."""
    rows = []
    for op, unit in (("mul", "NMU"), ("div", "NRU"), ("add", "NAU"), ("sub", "NAU")):
        task = SingleModule(*RANGES["U[1,2)"], op, 10)
        for label, change in _DRIFTS.items():

            def batch(data: Data, step: int, change: Callable[[Tensor, int], Tensor] = change) -> tuple[Tensor, Tensor]:
                x = change(uniforms(data.seeds, 0, step, (10, 128)).double(), step).float()
                selection = torch.stack([data.task.selection(int(s)) for s in data.seeds]).double()
                return x, data.task.target(x.double(), selection).float()

            result = run(single(unit, 10), task, range(100, 110), 300, 5, batch=batch)
            rows.append({"op": op, "drift": label} | result)
    return rows


def _jump(u: Tensor, step: int, every: int) -> Tensor:
    train = list(RANGES.values())[step // every % len(RANGES)][0]
    return train.low + (train.high - train.low) * u


_DRIFTS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "another of nine ranges every step": lambda u, k: _jump(u, k, 1),
    "another of nine ranges every 5 steps": lambda u, k: _jump(u, k, 5),
    "scale 10^(2 sin)": lambda u, k: (1 + u) * 10 ** (2 * math.sin(k / 10)),
    "every column rescaled every step": lambda u, k: (
        (1 + u) * 10 ** (4 * uniforms(7, 0, k, (u.shape[-2], 1)).double() - 2)
    ),
}
