"""Units inside ordinary networks: the error of the deployed model beside Adam's, at equal steps and at equal time.

`python benchmarks/rule_real.py FIRST LAST` runs every case on these seeds, one seed after the other, and adds to
benchmarks/results/rule_real.jsonl.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import LocalGaussNewton

RESULTS = Path(__file__).parent / "results" / "rule_real.jsonl"
Batch = tuple[Tensor, Tensor]
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A network with a unit inside.

    Attributes:
        name: what surrounds the unit.
        make: builds it; torch's generator is seeded by the run.
        draw: a batch, from a generator.
        rate: of Adam, as the rule's base and as the control.
        steps: of training.
        numbers: the unit's numbers that are right; none if no grid point is.
    """

    name: str
    make: Callable[[], nn.Module]
    draw: Callable[[torch.Generator], Batch]
    rate: float
    steps: int = 300
    numbers: tuple[float, ...] | None = None


class Below(nn.Module):
    """Something below a unit."""

    def __init__(self, below: nn.Module, unit: nalm.Unit) -> None:
        super().__init__()
        self.below, self.unit = below, unit

    def forward(self, x: Tensor) -> Tensor:
        """A positive number for each input of the unit."""
        result: Tensor = self.unit(0.1 + nn.functional.softplus(self.below(x)))
        return result


class Recurrent(nn.Module):
    """A GRU over a sequence of numbers; its last state, as two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.out = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        """`(samples, time)` to `(samples, 2)`."""
        result: Tensor = self.out(self.gru(x.unsqueeze(-1))[0][:, -1])
        return result


class Attention(nn.Module):
    """One transformer layer over numbers; two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Linear(1, 16), nn.Parameter(0.1 * torch.randn(4, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        """`(samples, 4)` to `(samples, 2)`."""
        result: Tensor = self.out(self.layer(self.embed(x.unsqueeze(-1)) + self.place).mean(1))
        return result


class Digits(nn.Module):
    """Two images of digits, read by one small CNN as the mean of ten labels; a unit above multiplies them."""

    def __init__(self) -> None:
        super().__init__()
        convolutions = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1)]
        self.read = nn.Sequential(*convolutions, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
        self.unit = nalm.NMU(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """`(samples, 2, 8, 8)` to `(samples, 1)`."""
        shares = self.read(x.reshape(-1, 1, 8, 8)).softmax(-1)
        labels = (shares * torch.arange(1.0, 11.0)).sum(-1).reshape(-1, 2)
        result: Tensor = self.unit(labels)
        return result


class Beside(nn.Module):
    """A law and a small MLP that adds what it misses."""

    def __init__(self) -> None:
        super().__init__()
        self.unit = nalm.NRU(3, 1)
        self.rest = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Their sum."""
        result: Tensor = self.unit(x) + self.rest(x)
        return result


def uniform(target: Callable[[Tensor], Tensor], inputs: int, low: float, high: float, noise: float = 0.0) -> Any:
    """Batches of 128; `noise` is the share of the variance that cannot be explained."""

    def draw(generator: torch.Generator) -> Batch:
        x = low + (high - low) * torch.rand(128, inputs, generator=generator)
        t = target(x)
        scale = (noise / (1 - noise)) ** 0.5 * t.std()
        return x, t + scale * torch.randn(t.shape, generator=generator)

    return draw


def digits(generator: torch.Generator) -> Batch:
    """Pairs of scikit-learn's digits; their labels are counted from 1, so that no product is zero."""
    if "images" not in _DIGITS:
        from sklearn.datasets import load_digits

        data = load_digits()
        _DIGITS["images"] = torch.tensor(data.images, dtype=torch.float32) / 16
        _DIGITS["labels"] = torch.tensor(data.target, dtype=torch.float32) + 1
    pick = torch.randint(0, len(_DIGITS["labels"]), (64, 2), generator=generator)
    return _DIGITS["images"][pick], _DIGITS["labels"][pick].prod(1, keepdim=True)


_DIGITS: dict[str, Tensor] = {}


def mul(x: Tensor) -> Tensor:
    """The product of the first two."""
    return x[:, :1] * x[:, 1:2]


def line(unit: Callable[[], nalm.Unit]) -> Callable[[], nn.Module]:
    """A linear layer above a unit."""
    return lambda: nn.Sequential(one := unit(), nn.Linear(one.out_features, 1))


def encoder(*middle: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """An MLP of all inputs below an NMU."""
    return lambda: Below(nn.Sequential(nn.Linear(4, 32), *(m() for m in middle), nn.Linear(32, 2)), nalm.NMU(2, 1))


def nru() -> nalm.Unit:
    """Four inputs, one output."""
    return nalm.NRU(4, 1)


LAW = (1.0, 1.0, -1.0)
CASES = [
    Case("gain 3.7, bias 1.3", line(nru), uniform(lambda x: 3.7 * mul(x) + 1.3, 4, 1, 2), 1e-2, 300, (1, 1, 0, 0)),
    Case("gain -1.7, bias 20", line(nru), uniform(lambda x: 20 - 1.7 * mul(x), 4, 1, 2), 1e-2, 300, (1, 1, 0, 0)),
    Case("gain -1.7, through zero", line(nru), uniform(lambda x: 1 - 1.7 * mul(x), 4, -2, 2), 1e-2, 300, (1, 1, 0, 0)),
    Case("5 % noise, gain", line(nru), uniform(lambda x: 3.7 * mul(x), 4, 1, 2, 0.05), 1e-2, 300, (1, 1, 0, 0)),
    Case("20 % noise, gain", line(nru), uniform(lambda x: 3.7 * mul(x), 4, 1, 2, 0.2), 1e-2, 300, (1, 1, 0, 0)),
    Case(
        "BatchNorm above", lambda: nn.Sequential(nalm.NRU(4, 1), nn.BatchNorm1d(1), nn.Linear(1, 1)),
        uniform(lambda x: 3 * mul(x), 4, 1, 2), 1e-2, 300, (1, 1, 0, 0),
    ),
    Case("power 0.9, no grid point", line(nru), uniform(lambda x: x[:, :1] ** 0.9, 4, 1, 2), 1e-2),
    Case("MLP with LayerNorm below", encoder(lambda: nn.LayerNorm(32), nn.ReLU), uniform(mul, 4, 1, 3), 1e-2),
    Case("MLP with Dropout below", encoder(nn.ReLU, lambda: nn.Dropout(0.1)), uniform(mul, 4, 1, 3), 1e-2),
    Case("GRU below", lambda: Below(Recurrent(), nalm.NMU(2, 1)), uniform(mul, 4, 1, 3), 1e-2),
    Case("transformer below", lambda: Below(Attention(), nalm.NMU(2, 1)), uniform(mul, 4, 1, 3), 3e-3),
    Case("CNN, product of digits", Digits, digits, 3e-3, 300, (1, 1)),
    Case("three products, linear above", line(lambda: nalm.NMU(4, 3)),
         uniform(lambda x: mul(x) + x[:, 2:3] * x[:, 3:], 4, 1, 2), 1e-2),
    Case("law and MLP side by side", Beside,
         uniform(lambda x: mul(x) / x[:, 2:] + 0.1 * torch.sin(3 * x[:, :1]), 3, 1, 2), 1e-2, 300, LAW),
    Case(
        "MLP with NAU(16, 8) inside",
        lambda: nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nalm.NAU(16, 8), nn.ReLU(), nn.Linear(8, 1)),
        uniform(lambda x: torch.sin(3 * x[:, :1]) + mul(x), 4, -1, 1), 1e-2,
    ),
    Case("0.6 (a+b) c, no grid point", lambda: nalm.Chain(nalm.NAU(4, 2), nalm.NMU(2, 1)),
         uniform(lambda x: 0.6 * (x[:, :1] + x[:, 1:2]) * x[:, 2:3], 4, 1, 2), 1e-2),
]  # fmt: skip


def train(case: Case, seed: int, by_rule: bool, seconds: float | None = None) -> Row:
    """Train for the case's steps, or for some seconds of computing; the error in eval mode on 1,024 fresh samples."""
    torch.manual_seed(seed)
    model, generator = case.make(), torch.Generator().manual_seed(seed)
    optimiser: Any = torch.optim.Adam(model.parameters(), case.rate)
    if by_rule:
        optimiser = LocalGaussNewton(model, optimiser)
    units = [m for m in model.modules() if isinstance(m, nalm.Unit) and m.form is not None]
    step, spent = 0, 0.0
    while (step < case.steps) if seconds is None else (spent < seconds):
        x, target = case.draw(generator)
        began = time.process_time()

        def evaluate(x: Tensor = x, target: Tensor = target) -> tuple[Tensor, Tensor]:
            output = model(x)
            return output, (output - target).square().mean()

        if by_rule:
            optimiser.step(evaluate)
        else:
            optimiser.zero_grad()
            evaluate()[1].backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            for unit in units:
                unit.project_()
        step, spent = step + 1, spent + time.process_time() - began
    model.eval()
    parts = [case.draw(torch.Generator().manual_seed(10_000 + i)) for i in range(8)]
    with torch.no_grad():
        y, t = (torch.cat(p) for p in zip(*((model(x), t) for x, t in parts), strict=True))
    exact = case.numbers is not None and all(_is(unit, case.numbers) for unit in units)
    return {"error": float((y - t).square().mean() / t.var()), "exact": exact, "steps": step, "seconds": spent}


def _is(unit: nalm.Unit, numbers: tuple[float, ...]) -> bool:
    assert unit.form is not None
    held = unit.form.read(unit).flatten().tolist()
    return len(held) == len(numbers) and all(abs(a - b) < 1e-6 for a, b in zip(held, numbers, strict=True))


def main() -> None:
    """All cases on the seeds of the command line."""
    torch.set_num_threads(1)
    for seed in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
        for case in CASES:
            rule = train(case, seed, by_rule=True)
            row = {"case": case.name, "seed": seed, "rate": case.rate, "rule": rule}
            row["adam"] = train(case, seed, by_rule=False)
            row["adam_time"] = train(case, seed, by_rule=False, seconds=rule["seconds"])
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)


if __name__ == "__main__":
    main()
