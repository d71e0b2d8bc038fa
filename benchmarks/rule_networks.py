"""Units between learned layers, eight runs as one cohort: gain and bias or MLP above, encoder below, classes.

`python benchmarks/rule.py networks` measures and keeps all; `python benchmarks/rule_networks.py FIRST LAST WORD` prints
what the rule reaches on other seeds, in networks whose kind contains a word.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from rule_tasks import FRESH
from torch import Tensor, nn

import nalm
from nalm.core.uniforms import uniforms
from nalm.training.rule import LocalGaussNewton

Row = dict[str, Any]
Function = Callable[[Tensor], Tensor]
ENCODED = range(FRESH.start, FRESH.start + 32)  # more, as an encoder may learn nothing, with the rule and without
OPS: dict[str, Function] = {
    "mul": lambda x: x[..., :1] * x[..., 1:2],
    "div": lambda x: x[..., :1] / x[..., 1:2],
}
TRUTH = {"mul": [1, 1, 0, 0], "div": [1, -1, 0, 0]}
CLASSES = 5


class Dense(nn.Module):
    """`torch.nn.Linear` with its usual start, once for each seed."""

    def __init__(self, inputs: int, outputs: int, seeds: Sequence[int], layer: int) -> None:
        super().__init__()
        u = uniforms(torch.tensor(list(seeds)), 0xDE45E + layer, 0, (inputs + 1, outputs))
        start = (2 * u - 1) / math.sqrt(inputs)
        self.weight, self.bias = nn.Parameter(start[:, :-1].clone()), nn.Parameter(start[:, -1:].clone())

    def forward(self, x: Tensor) -> Tensor:
        """`(runs, samples, in)` to `(runs, samples, out)`."""
        return torch.baddbmm(self.bias, x, self.weight)


class Affine(nn.Module):
    """A learned gain and bias."""

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(len(seeds), 1, 1)), nn.Parameter(torch.zeros(len(seeds), 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Once per run."""
        return self.gain * x + self.bias


class Encoder(nn.Module):
    """One MLP, shared by four scalars of which it sees sixteen sines."""

    frequency: Tensor
    phase: Tensor

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__()
        u = uniforms(torch.tensor(list(seeds)), 0x51E, 0, (2, 16))
        self.register_buffer("frequency", 1.5 * torch.special.ndtri(u[:, :1].clamp(min=1e-6)))
        self.register_buffer("phase", 2 * math.pi * u[:, 1:])
        sizes = ((16, 32), (32, 32), (32, 1))
        dense = [Dense(a, b, seeds, layer) for layer, (a, b) in enumerate(sizes)]
        self.layers = nn.Sequential(dense[0], nn.Tanh(), dense[1], nn.Tanh(), dense[2], nn.Softplus())

    def forward(self, x: Tensor) -> Tensor:
        """A positive number for each scalar."""
        runs, samples, scalars = x.shape
        seen = torch.sin(x.reshape(runs, -1, 1) * self.frequency + self.phase)
        latent: Tensor = self.layers(seen)
        return 0.05 + latent.reshape(runs, samples, scalars)


def head(seeds: Sequence[int], outputs: int = 1) -> nn.Module:
    """An MLP above a unit."""
    return nn.Sequential(Dense(1, 32, seeds, 10), nn.Tanh(), Dense(32, outputs, seeds, 11))


def squared(output: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of each run over the variance of its targets."""
    return (output - target).square().mean((-2, -1)) / target.var((-2, -1))


def entropy(output: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of each run."""
    return nn.functional.cross_entropy(output.mT, target.squeeze(-1), reduction="none").mean(-1)


@dataclass(frozen=True)
class Case:
    """A network, its data and how long it is trained.

    Attributes:
        kind: what surrounds the unit.
        name: of the target.
        op: what the unit has to find.
        target: of the whole network.
        low, high: range of the four inputs.
        steps: of training, the learning rate of the rest falling along half a cosine from `rate` to zero.
        sides: what lies below and above the unit, made from seeds.
        loss: of each run.
        tuned: whether it had a part in the choice of settings, with other seeds.
    """

    kind: str
    name: str
    op: str
    target: Function
    low: float
    high: float
    steps: int
    rate: float
    sides: Callable[[Sequence[int]], tuple[list[nn.Module], list[nn.Module]]]
    loss: Callable[[Tensor, Tensor], Tensor] = squared
    tuned: bool = True

    @property
    def mirrored(self) -> bool:
        """Whether the neighbours can undo a unit that computes one divided by its target."""
        return self.kind != "gain and bias above"

    def model(self, seeds: Sequence[int]) -> tuple[nn.Sequential, nalm.Unit]:
        """The network of all seeds, and the unit inside."""
        unit = nalm.NRU(4, 1, (len(seeds),), seed=list(seeds))
        below, above = self.sides(seeds)
        return nn.Sequential(*below, unit, *above), unit

    def batch(self, seeds: Sequence[int], step: int) -> tuple[Tensor, Tensor]:
        """128 samples for each run."""
        x = self.low + (self.high - self.low) * uniforms(torch.tensor(list(seeds)), 0, step, (128, 4))
        return x, self.target(x)


def found(unit: nalm.Unit, op: str, mirrored: bool) -> list[bool]:
    """Which runs hold the exponents of the operation, or (if the rest can undo it) all of them turned around."""
    rows = [[round(w, 6) for w in run[0]] for run in unit.value("W").tolist()]
    return [w == TRUTH[op] or (mirrored and [-v for v in w] == TRUTH[op]) for w in rows]


def train(case: Case, seeds: Sequence[int], by_rule: bool, stretch: int = 1) -> Row:
    """By the rule, or the control: Adam on everything, with the unit's own published penalty through `nalm.guide`."""
    model, unit = case.model(seeds)
    steps = stretch * case.steps
    optimiser: Any
    if by_rule:
        optimiser = LocalGaussNewton(model, base=lambda rest: torch.optim.Adam(rest, case.rate))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser.base, steps)
    else:
        optimiser = torch.optim.Adam(model.parameters(), case.rate)
        guide = nalm.guide(model, optimiser, steps=steps)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, case.loss(output, t)

    arrived: list[int | None] = [None] * len(seeds)
    for step in range(steps):
        batch = case.batch(seeds, step)
        if by_rule:
            losses = optimiser.step(evaluate, *batch)
        else:
            losses = evaluate(*batch)[1]
            optimiser.zero_grad()
            (losses.sum() + guide.penalty()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        schedule.step()
        if step % 5 == 4:
            right = found(unit, case.op, case.mirrored)
            arrived = [(a or step + 1) if r else None for a, r in zip(arrived, right, strict=True)]
    steps_seen = [a for a in arrived if a is not None]
    model.eval()
    with torch.no_grad():
        losses = evaluate(*case.batch(seeds, 1_000_000))[1]
    return {
        "runs": len(seeds),
        "exact": sum(a is not None for a in arrived),
        "median_step": median(steps_seen) if steps_seen else None,
        "last_step": max(steps_seen, default=None),
        "median_loss": f"{float(losses.detach().median()):.1e}",
        "largest_loss": f"{float(losses.detach().max()):.1e}",
        "steps": steps,
    }


def cases() -> list[Case]:
    """All networks."""
    made = []
    for op, f in OPS.items():
        for low, high in ((1.0, 2.0), (-2.0, 2.0), (-2.0, -1.0), (1.1, 1.2), (10.0, 20.0)):
            name = f"3.7 {op}(a, b) + 1.3, U[{low:g},{high:g})"
            gained: Function = lambda x, f=f: 3.7 * f(x) + 1.3  # type: ignore[misc]  # noqa: E731
            made.append(
                Case("gain and bias above", name, op, gained, low, high, 1500, 3e-2, lambda s: ([], [Affine(s)]))
            )
    for op, f in OPS.items():
        lifted: Function = lambda x, f=f: 3.7 * f(x) + 1.3  # type: ignore[misc]  # noqa: E731
        bent: Function = lambda x, f=f: torch.tanh(f(x) - 1.5)  # type: ignore[misc]  # noqa: E731
        least, most = (1.0, 4.0) if op == "mul" else (0.5, 2.0)
        classes: Function = lambda x, f=f, a=least, b=most: (CLASSES * (f(x) - a) / (b - a)).long()  # type: ignore[misc]  # noqa: E731
        made += [
            Case("encoder below", f"{op}(a, b)", op, f, 1.0, 5.0, 1500, 3e-3, lambda s: ([Encoder(s)], [])),
            Case(
                "encoder below, gain and bias above", f"3.7 {op}(a, b) + 1.3", op,
                lifted, 1.0, 5.0, 2000, 3e-3, lambda s: ([Encoder(s)], [Affine(s)]), tuned=False,
            ),
            Case("MLP above", f"tanh({op}(a, b) - 1.5)", op, bent, 1.0, 2.0, 1500, 3e-3, lambda s: ([], [head(s)])),
            Case(
                "cross-entropy above an MLP", f"{CLASSES} classes of {op}(a, b)", op, classes, 1.0, 2.0, 2000, 1e-2,
                lambda s: ([], [head(s, CLASSES)]), entropy,
            ),
        ]  # fmt: skip
    return made


def networks() -> list[Row]:
    """Every network on fresh seeds, and its control by Adam in as many steps."""
    rows = []
    for case in cases():
        seeds = ENCODED if "encoder" in case.kind else FRESH
        row: Row = {"kind": case.kind, "case": case.name, "tuned": case.tuned, "seeds": f"{seeds[0]}-{seeds[-1]}"}
        row |= train(case, seeds, by_rule=True)
        row["adam"] = train(case, seeds, by_rule=False)
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    """Networks whose kind contains a word, by the rule, on the seeds of the command line: printed, not kept."""
    torch.set_num_threads(1)
    first, last, word = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    for case in (case for case in cases() if word in case.kind):
        print(case.kind, case.name, train(case, range(first, last + 1), by_rule=True), flush=True)


if __name__ == "__main__":
    main()
