"""How wrong is a network far outside its training data? `python benchmarks/extrapolation.py` writes the answer.

Four ways to learn (a + b) c from numbers between 1 and 2: a ReLU network by Adam, a stack of units by Adam alone, the
same stack as its papers train it (`nalm.guide`), and by `nalm.LocalGaussNewton` with a tenth of the samples. Each is
then asked about numbers up to a million. A line for each way, seed and distance goes to results/extrapolation.csv: the
median of the relative errors at 1,000 points. The README's picture is drawn from it (pages/headline.py).
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import nalm

RESULTS = Path(__file__).parents[1] / "results" / "extrapolation.csv"
SEEDS = range(5)
STEPS = 5_000
BATCH = 128
SCALES = [10 ** (k / 4) for k in range(25)]  # inputs are drawn from [scale, 2 scale), up to [1e6, 2e6)


def inputs(count: int, scale: float = 1.0) -> Tensor:
    """`(count, 3)` numbers from [scale, 2 scale)."""
    return scale * (1 + torch.rand(count, 3))


def target(x: Tensor) -> Tensor:
    """(a + b) c, `(count, 1)`."""
    return (x[:, [0]] + x[:, [1]]) * x[:, [2]]


def perceptron() -> nn.Module:
    """An ordinary network of 17,000 weights."""
    return nn.Sequential(nn.Linear(3, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))


def stack() -> nn.Module:
    """Two units with 8 weights."""
    return nn.Sequential(nalm.NAU(3, 2), nalm.NMU(2, 1))


def adam(model: nn.Module, guided: bool, rate: float) -> None:
    """Adam, with or without what the papers do around it."""
    optimizer = torch.optim.Adam(model.parameters(), rate)
    guide = nalm.guide(model, optimizer, steps=STEPS) if guided else None
    for _ in range(STEPS):
        x = inputs(BATCH)
        loss = (model(x) - target(x)).square().mean() + (guide.penalty() if guide else 0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def rule(model: nn.Module) -> None:
    """The training rule, with a tenth of the samples."""
    optimizer = nalm.LocalGaussNewton(model)

    def evaluate(x: Tensor) -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, (output - target(x)).square().mean()

    for _ in range(STEPS // 10):
        optimizer.step(evaluate, inputs(BATCH))


WAYS: dict[str, tuple[Callable[[], nn.Module], Callable[[nn.Module], None]]] = {
    "ReLU network": (perceptron, lambda model: adam(model, guided=False, rate=1e-3)),
    "units, Adam": (stack, lambda model: adam(model, guided=False, rate=1e-2)),
    "units, guide": (stack, lambda model: adam(model, guided=True, rate=1e-2)),
    "units, rule": (stack, rule),
}


def answers(model: nn.Module) -> list[float]:
    """The median relative error at every distance."""
    errors = []
    for scale in SCALES:
        x = inputs(1_000, scale).double()
        with torch.no_grad():
            error = (model(x.float()).double() - target(x)).abs() / target(x)
        errors.append(float(error.median()))
    return errors


def main() -> None:
    """Train every way and seed that the file does not hold yet, and write what each answers far away."""
    torch.set_num_threads(1)
    if not RESULTS.exists():
        RESULTS.write_text("way,seed,scale,error\n", encoding="utf-8")
    with RESULTS.open(encoding="utf-8", newline="") as file:
        done = {(line["way"], int(line["seed"])) for line in csv.DictReader(file)}
    for name, (build, train) in WAYS.items():
        for seed in SEEDS:
            if (name, seed) in done:
                continue
            torch.manual_seed(seed)
            model = build()
            train(model)
            lines = [(name, seed, f"{s:.6g}", f"{e:.3g}") for s, e in zip(SCALES, answers(model.eval()), strict=True)]
            with RESULTS.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
            print(*lines[-1], flush=True)


if __name__ == "__main__":
    main()
