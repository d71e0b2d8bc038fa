"""Units inside networks: a learned gain and bias above, an encoder below, an MLP above, sequences, several outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import nalm
from nalm.rule import LocalGaussNewton
from nalm.uniforms import uniforms

Row = dict[str, Any]
OPS: dict[str, Callable[[Tensor], Tensor]] = {
    "mul": lambda x: x[:, :1] * x[:, 1:2],
    "div": lambda x: x[:, :1] / x[:, 1:2],
}
TRUTH = {"mul": (1.0, 1.0, 0.0, 0.0), "div": (1.0, -1.0, 0.0, 0.0)}


class Gained(nn.Module):
    """A learned gain and bias above a unit."""

    def __init__(self, unit: nalm.Unit) -> None:
        super().__init__()
        self.unit = unit
        self.gain = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(0.0))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.gain * self.unit(x) + self.bias
        return y


class Encoded(nn.Module):
    """One encoder, shared by four scalars of which it sees sine features, below a unit."""

    def __init__(self, unit: nalm.Unit, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.unit = unit
        self.register_buffer("frequency", torch.randn(16) * 1.5)
        self.register_buffer("phase", torch.rand(16) * 6.28)
        layers = [nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1), nn.Softplus()]
        self.encoder = nn.Sequential(*layers)

    def latent(self, x: Tensor) -> Tensor:
        """What the encoder makes of each scalar."""
        z: Tensor = self.encoder(torch.sin(x.unsqueeze(-1) * self.frequency + self.phase)).squeeze(-1) + 0.05
        return z

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.unit(self.latent(x))
        return y


def train(
    model: nn.Module, target: Callable[[Tensor], Tensor], part: tuple[float, float], steps: int, rate: float, seed: int
) -> tuple[float, int | None]:
    """By the rule, Adam for the rest: the last loss over the target's variance, and when the unit was on the grid."""
    optimiser = LocalGaussNewton(model, base=lambda rest: torch.optim.Adam(rest, rate))
    generator = torch.Generator().manual_seed(seed)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, (output - t).square().mean()

    arrived = None
    for step in range(steps):
        x = part[0] + (part[1] - part[0]) * torch.rand(128, 4, generator=generator)
        t = target(x)

        loss = optimiser.step(evaluate, x, t)
        on = all(bool(track.snapped.all()) for track in optimiser.tracks)
        arrived = (arrived or step + 1) if on else None
    return float(loss / t.var()), arrived


def adam(
    model: nn.Module, target: Callable[[Tensor], Tensor], part: tuple[float, float], steps: int, rate: float
) -> float:
    """The control: Adam on everything, with the unit's own published penalty through `nalm.guide`."""
    optimiser = torch.optim.Adam(model.parameters(), rate)
    guide = nalm.guide(model, optimiser, steps=steps)
    for _ in range(steps):
        x = part[0] + (part[1] - part[0]) * torch.rand(128, 4)
        loss = (model(x) - target(x)).square().mean()
        optimiser.zero_grad()
        (loss + guide.penalty()).backward()
        optimiser.step()
    return float(loss.detach() / target(x).var())


def networks() -> list[Row]:
    """Section 5, on fresh seeds."""
    return [*_gains(), *_encoders(), *_above(), *_several(), *_sums_of_products()]


def _row(kind: str, case: str, exact: list[bool], steps: list[int | None], losses: list[float]) -> Row:
    seen = sorted(s for s in steps if s is not None)
    row = {"kind": kind, "case": case, "runs": len(exact), "exact": sum(exact), "largest_loss": f"{max(losses):.1e}"}
    row["median_step"] = seen[len(seen) // 2] if seen else None
    print(row, flush=True)
    return row


def _is(unit: nalm.Unit, op: str) -> bool:
    """Whether the exponents are those of the operation, or all of them turned around, which an encoder can undo."""
    numbers = unit.numbers("W")[0]
    return tuple(numbers) == TRUTH[op] or tuple(-w for w in numbers) == TRUTH[op]


def _gains() -> list[Row]:
    rows = []
    for op, operation in OPS.items():
        for part in ((1.0, 2.0), (-2.0, 2.0), (-2.0, -1.0), (1.1, 1.2), (10.0, 20.0)):
            exact, steps, losses = [], [], []
            for seed in (100, 101):
                model = Gained(nalm.NRU(4, 1, seed=seed))
                loss, step = train(model, lambda x, f=operation: 3.7 * f(x) + 1.3, part, 500, 1e-2, seed)  # type: ignore[misc]
                exact.append(tuple(model.unit.numbers("W")[0]) == TRUTH[op])
                steps.append(step)
                losses.append(loss)
            rows.append(
                _row("gain and bias above", f"3.7 {op}(x0, x1) + 1.3, U[{part[0]:g},{part[1]:g})", exact, steps, losses)
            )
    return rows


def _encoders() -> list[Row]:
    rows = []
    for op, operation in OPS.items():
        models = [Encoded(nalm.NRU(4, 1, seed=seed), seed) for seed in range(100, 107)]
        told = [train(m, operation, (1.0, 5.0), 700, 3e-3, 100 + i) for i, m in enumerate(models)]
        exact = [_is(m.unit, op) for m in models]
        rows.append(_row("encoder below", op, exact, [s for _, s in told], [loss for loss, _ in told]))
        controls = [Encoded(nalm.NRU(4, 1, seed=seed), seed) for seed in range(100, 103)]
        losses = [adam(m, operation, (1.0, 5.0), 1500, 3e-3) for m in controls]
        exact = [m.unit.on_grid() and _is(m.unit, op) for m in controls]
        rows.append(_row("encoder below, Adam and penalty", op, exact, [None], losses))
    return rows


def _above() -> list[Row]:
    """Not used while tuning: an MLP above the unit, a gain above and an encoder below it."""
    rows = []
    for op, operation in OPS.items():
        exact, steps, losses = [], [], []
        for seed in (100, 101, 102):
            torch.manual_seed(seed)
            head = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
            model = nn.Sequential(nalm.NRU(4, 1, seed=seed), head)
            loss, step = train(model, lambda x, f=operation: torch.tanh(f(x) - 1.5), (1.0, 2.0), 1500, 3e-3, seed)  # type: ignore[misc]
            exact.append(_is(model[0], op))
            steps.append(step)
            losses.append(loss)
        rows.append(_row("MLP above", f"tanh({op}(x0, x1) - 1.5)", exact, steps, losses))
    return rows


def _several() -> list[Row]:
    """Not used while tuning: several outputs, one cell used many times."""
    exact, steps, losses = [], [], []
    for seed in (100, 101, 102):
        unit = nalm.NRU(4, 3, seed=seed)
        loss, step = train(
            unit, lambda x: torch.cat([OPS["mul"](x), OPS["div"](x), x[:, 2:3]], 1), (-2.0, 2.0), 60, 1e-2, seed
        )
        exact.append(unit.numbers("W") == [[1, 1, 0, 0], [1, -1, 0, 0], [0, 0, 1, 0]])
        steps.append(step)
        losses.append(loss)
    rows = [_row("three outputs", "x0 x1, x0 / x1, x2, U[-2,2)", exact, steps, losses)]
    for name, start, fold in (("NMU", 1.0, torch.prod), ("NAU", 0.0, torch.sum)):
        for part in ((1.0, 2.0), (-2.0, 2.0)):
            cells = [nalm.Fold(getattr(nalm, name)(2, 1, seed=seed), start=start) for seed in (100, 101, 102)]
            told = [train(c, lambda x, f=fold: f(x, -1, keepdim=True), part, 800, 1e-2, i) for i, c in enumerate(cells)]  # type: ignore[misc]
            exact = [c.cell.numbers("W") == [[1, 1]] for c in cells]
            case = f"{name} folded over 4, U[{part[0]:g},{part[1]:g})"
            rows.append(_row("one cell, many uses", case, exact, [s for _, s in told], [loss for loss, _ in told]))
    return rows


def _sums_of_products() -> list[Row]:
    """x0 x1 + x2 / x3: two rows of one unit, added."""
    rows = []
    seeds = torch.arange(100, 110)
    for low, high in ((1.0, 2.0), (-2.0, 2.0), (1.1, 1.2), (-2.0, -1.0), (10.0, 20.0)):
        unit = nalm.NRU(4, 2, (10,), seed=seeds.tolist())
        optimiser = LocalGaussNewton(unit)

        def evaluate(x: Tensor, t: Tensor, unit: nalm.Unit = unit) -> tuple[Tensor, Tensor]:
            output = unit.compute(x).sum(-2)
            return output, (output - t).square().mean(-1)

        for step in range(1500):
            x = low + (high - low) * uniforms(seeds, 0, step, (4, 128))
            t = x[:, 0] * x[:, 1] + x[:, 2] / x[:, 3]
            loss = optimiser.step(evaluate, x, t)
        exact = [sorted(w) == [[0, 0, 1, -1], [1, 1, 0, 0]] for w in unit.W.tolist()]
        case = f"x0 x1 + x2 / x3, U[{low:g},{high:g})"
        rows.append(_row("sum of two products", case, exact, [None], (loss / t.var(-1)).tolist()))
    return rows
