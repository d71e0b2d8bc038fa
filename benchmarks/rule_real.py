"""Units inside ordinary networks: the error of the deployed model beside Adam's, at equal steps and at equal time.

`python benchmarks/rule_real.py tune` chooses Adam's rate for each case by its own error, on a seed of its own.
`python benchmarks/rule_real.py FIRST LAST` runs every case on these seeds, one seed after the other, or those
whose names contain a further word. Both add to results/rule-real.jsonl; what is there already is not run again.
`python benchmarks/rule_real.py price FIRST LAST NAME` prints what the right numbers themselves cost a network that
could do without them: the error of Adam with the unit frozen there from the start, over that of Adam with a free unit;
and beside it the rule's error over Adam's, on those of the seeds that were run.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, mean, stdev
from typing import Any

import torch
from torch import Tensor, nn

import nalm
from nalm.training.rule import LocalGaussNewton

RESULTS = Path(__file__).parent.parent / "results" / "rule-real.jsonl"
STEPS = 600
RATES = (3e-3, 1e-2, 3e-2)
TUNED_ON = 500  # the seed
OTHER = 1_000_000  # what the seed of other batches differs by
TURN = 50  # steps, after which it is the other one's turn where times are compared: the machine is shared
Batch = tuple[Tensor, Tensor]
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A network with a unit inside.

    Attributes:
        name: what surrounds the unit.
        make: builds it; torch's generator is seeded by the run.
        draw: a batch, from a generator.
        numbers: the unit's numbers that are right; none if no grid point is.
    """

    name: str
    make: Callable[[], nn.Module]
    draw: Callable[[torch.Generator], Batch]
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


def mlp(inputs: int, outputs: int) -> nn.Module:
    """A small one with a norm inside."""
    return nn.Sequential(nn.Linear(inputs, 24), nn.LayerNorm(24), nn.GELU(), nn.Linear(24, outputs))


def nru() -> nalm.Unit:
    """Four inputs, one output."""
    return nalm.NRU(4, 1)


LAW = (1.0, 1.0, -1.0)
CASES = [
    Case("gain 3.7, bias 1.3", line(nru), uniform(lambda x: 3.7 * mul(x) + 1.3, 4, 1, 2), (1, 1, 0, 0)),
    Case("gain -1.7, bias 20", line(nru), uniform(lambda x: 20 - 1.7 * mul(x), 4, 1, 2), (1, 1, 0, 0)),
    Case("gain -1.7, through zero", line(nru), uniform(lambda x: 1 - 1.7 * mul(x), 4, -2, 2), (1, 1, 0, 0)),
    Case("5 % noise, gain", line(nru), uniform(lambda x: 3.7 * mul(x), 4, 1, 2, 0.05), (1, 1, 0, 0)),
    Case("20 % noise, gain", line(nru), uniform(lambda x: 3.7 * mul(x), 4, 1, 2, 0.2), (1, 1, 0, 0)),
    Case(
        "BatchNorm above", lambda: nn.Sequential(nalm.NRU(4, 1), nn.BatchNorm1d(1), nn.Linear(1, 1)),
        uniform(lambda x: 3 * mul(x), 4, 1, 2), (1, 1, 0, 0),
    ),
    Case("power 0.9, no grid point", line(nru), uniform(lambda x: x[:, :1] ** 0.9, 4, 1, 2)),
    Case("MLP with LayerNorm below", encoder(lambda: nn.LayerNorm(32), nn.ReLU), uniform(mul, 4, 1, 3), (1, 1)),
    Case("MLP with Dropout below", encoder(nn.ReLU, lambda: nn.Dropout(0.1)), uniform(mul, 4, 1, 3), (1, 1)),
    Case("GRU below", lambda: Below(Recurrent(), nalm.NMU(2, 1)), uniform(mul, 4, 1, 3), (1, 1)),
    Case("transformer below", lambda: Below(Attention(), nalm.NMU(2, 1)), uniform(mul, 4, 1, 3), (1, 1)),
    Case("CNN, product of digits", Digits, digits, (1, 1)),
    Case("three products, linear above", line(lambda: nalm.NMU(4, 3)),
         uniform(lambda x: mul(x) + x[:, 2:3] * x[:, 3:], 4, 1, 2)),
    Case("law and MLP side by side", Beside,
         uniform(lambda x: mul(x) / x[:, 2:] + 0.1 * torch.sin(3 * x[:, :1]), 3, 1, 2), LAW),
    Case(
        "MLP with NAU(16, 8) inside",
        lambda: nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nalm.NAU(16, 8), nn.ReLU(), nn.Linear(8, 1)),
        uniform(lambda x: torch.sin(3 * x[:, :1]) + mul(x), 4, -1, 1),
    ),
    Case("0.6 (a+b) c, no grid point", lambda: nalm.Chain(nalm.NAU(4, 2), nalm.NMU(2, 1)),
         uniform(lambda x: 0.6 * (x[:, :1] + x[:, 1:2]) * x[:, 2:3], 4, 1, 2)),
    # the last two were written after the rule had been changed for the last time, and run once
    Case("MLP with GELU below a quotient", lambda: Below(mlp(4, 2), nalm.NRU(2, 1)),
         uniform(lambda x: x[:, :1] / x[:, 1:2] + x[:, 2:3], 4, 1, 3)),
    Case("LayerNorm and MLP above", lambda: nn.Sequential(nalm.NRU(4, 1), mlp(1, 1)),
         uniform(lambda x: torch.exp(-mul(x) / 2), 4, 1, 2), (1, 1, 0, 0)),
]  # fmt: skip


def train(case: Case, seed: int, rate: float, steps: int, **how: bool) -> Row:
    """Train without a pause."""
    *_, row = training(case, seed, rate, steps, **how)
    return row


def training(
    case: Case,
    seed: int,
    rate: float,
    steps: int,
    by_rule: bool = False,
    frozen: bool = False,
    other_batches: bool = False,
) -> Iterator[Row]:
    """Train, the rate falling along half a cosine, with pauses; at last the error in eval mode on a thousand samples.

    Args:
        case: the network.
        seed: of its start and of its batches.
        rate: of Adam at the start.
        steps: how many.
        by_rule: with Adam as the rule's base; otherwise by Adam alone.
        frozen: the unit holds the right numbers from the start.
        other_batches: from the same start, batches of another seed.
    """
    torch.manual_seed(seed)
    model, generator = case.make(), torch.Generator().manual_seed(seed + OTHER * other_batches)
    if frozen:
        hold(model, case.numbers)
    optimiser: Any = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    if by_rule:
        optimiser = LocalGaussNewton(model, optimiser)
    units = [m for m in model.modules() if isinstance(m, nalm.Unit) and m.form is not None]
    spent = 0.0
    for step in range(steps):
        if step % TURN == 0:
            drawn = torch.get_rng_state()  # what others draw in the meantime, say for dropout, is theirs
            yield {}
            torch.set_rng_state(drawn)
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
        spent += time.process_time() - began
        schedule.step()
    model.eval()
    parts = [case.draw(torch.Generator().manual_seed(10_000 + i)) for i in range(8)]
    with torch.no_grad():
        y, t = (torch.cat(p) for p in zip(*((model(x), t) for x, t in parts), strict=True))
    exact = case.numbers is not None and all(_is(unit, case.numbers) for unit in units)
    yield {"error": float((y - t).square().mean() / t.var()), "exact": exact, "steps": steps, "seconds": spent}


def hold(model: nn.Module, numbers: tuple[float, ...] | None) -> None:
    """Put all units on some numbers, for good."""
    for unit in (m for m in model.modules() if isinstance(m, nalm.Unit) and m.form is not None):
        assert unit.form is not None
        with torch.no_grad():
            unit.form.write(unit, torch.tensor([numbers]))
        unit.requires_grad_(False)


def price(first: int, last: int, part: str) -> None:
    """What the right numbers cost, printed."""
    rates = {row["case"]: row["tuned"] for row in kept() if "tuned" in row}
    for case in (case for case in CASES if part in case.name):
        ratios = []
        for seed in range(first, last + 1):
            free, frozen = (train(case, seed, rates[case.name], STEPS, frozen=held)["error"] for held in (False, True))
            ratios.append(frozen / free)
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{case.name}, seeds {first} to {last}: {geometric_mean(ratios):.2f} on average, {spread}", flush=True)
        done = [r for r in kept() if "rule" in r and r["case"] == case.name and first <= r["seed"] <= last]
        for way, what in (("adam", "as many steps"), ("adam_time", "as much time")) if len(done) > 1 else ():
            logs = [math.log(row["rule"]["error"] / row[way]["error"]) for row in done]
            error = stdev(logs) / len(logs) ** 0.5
            low, by_rule, high = (math.exp(mean(logs) + shift) for shift in (-2 * error, 0, 2 * error))
            within = f"{low:.2f} to {high:.2f} within two standard errors"
            print(
                f"  the rule on {len(done)} of them: {by_rule:.2f} times Adam's error in {what}, {within}", flush=True
            )


def _is(unit: nalm.Unit, numbers: tuple[float, ...]) -> bool:
    assert unit.form is not None
    held = unit.form.read(unit).flatten().tolist()
    return len(held) == len(numbers) and all(abs(a - b) < 1e-6 for a, b in zip(held, numbers, strict=True))


def compared(case: Case, seed: int, rate: float) -> Row:
    """The rule, Adam in as many steps, both in turn, Adam in as many as it makes in the rule's time, and, to see what
    chance does, Adam in as many steps on other batches."""
    both = (training(case, seed, rate, STEPS, by_rule=by_rule) for by_rule in (True, False))
    *_, (rule, adam) = zip(*both, strict=True)
    as_long = round(STEPS * max(1.0, rule["seconds"] / adam["seconds"]))
    row = {"case": case.name, "seed": seed, "rate": rate, "findable": case.numbers is not None, "rule": rule}
    again = train(case, seed, rate, STEPS, other_batches=True)
    return row | {"adam": adam, "adam_time": train(case, seed, rate, as_long), "adam_again": again}


def kept(results: Path = RESULTS) -> list[Row]:
    """What is measured already."""
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []


def keep(row: Row, results: Path = RESULTS) -> None:
    """Add a line."""
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def tune() -> None:
    """Each case's rate, for Adam alone."""
    done = {row["case"] for row in kept() if "tuned" in row}
    for case in CASES:
        if case.name not in done:
            errors = {rate: train(case, TUNED_ON, rate, STEPS)["error"] for rate in RATES}
            keep({"case": case.name, "seed": TUNED_ON, "tuned": min(RATES, key=errors.__getitem__), "errors": errors})


def main() -> None:
    """All cases on the seeds of the command line."""
    torch.set_num_threads(1)
    if sys.argv[1:] == ["tune"]:
        tune()
        return
    if sys.argv[1] == "price":
        price(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
        return
    rates = {row["case"]: row["tuned"] for row in kept() if "tuned" in row}
    done = {(row["case"], row["seed"]) for row in kept() if "rule" in row}
    parts = sys.argv[3:] or [""]
    for seed in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
        for case in (case for case in CASES if any(part in case.name for part in parts)):
            if (case.name, seed) not in done:
                keep(compared(case, seed, rates[case.name]))


if __name__ == "__main__":
    main()
