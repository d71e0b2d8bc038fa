"""Networks in which a rule could end far worse than Adam: layers below a unit that cannot make up for its numbers.

`python benchmarks/rule_adverse.py FIRST LAST [WORD]` runs four of them on these seeds, or those whose names contain the
word; with the word `unseen`, twelve others. Adam's rate is 0.01 for both, and everything else as in rule_real.py. It
adds to results/rule-adverse.jsonl; what is there already is not run again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from rule_real import Case, compared, keep, kept, mul, uniform
from torch import Tensor, nn

import nalm

RESULTS = Path(__file__).parent.parent / "results" / "rule-adverse.jsonl"
RATE = 1e-2


class Network(nn.Module):
    """Modules, and what is computed with them."""

    def __init__(self, compute: Callable[..., Tensor], *parts: nn.Module) -> None:
        super().__init__()
        self.compute, self.parts = compute, nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        """What is computed with the parts."""
        return self.compute(x, *self.parts)


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Module:
    """A small one."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs))


def two_units(x: Tensor, encoder: nn.Module, first: nn.Module, second: nn.Module) -> Tensor:
    """Both see the same two positive numbers."""
    z = 0.1 + nn.functional.softplus(encoder(x))
    return torch.cat([first(z), second(z)], -1)


CASES = [
    Case("two units on one encoder", lambda: Network(two_units, mlp(4, 32, 2), nalm.NMU(2, 1), nalm.NAU(2, 1)),
         uniform(lambda x: torch.cat([mul(x), x[:, :1] + x[:, 1:2]], -1), 4, 1, 3)),
    Case("skip connection below a product",
         lambda: Network(lambda x, around, unit: unit(x + around(x)), mlp(4, 16, 4), nalm.NMU(4, 1)),
         uniform(mul, 4, 1, 2), (1, 1, 0, 0)),
    Case("attention weights below a sum",
         lambda: Network(lambda x, q, unit: unit(4 * x * q(x).softmax(-1)), mlp(4, 16, 4), nalm.NAU(4, 1)),
         uniform(lambda x: x[:, :1] - x[:, 1:2], 4, -1, 1), (1, -1, 0, 0)),
    Case("convolution below a sum",
         lambda: Network(lambda x, c, unit: unit(c(x.unsqueeze(1)).flatten(1)), nn.Conv1d(1, 1, 3, padding=1),
                         nalm.NAU(8, 1)),
         uniform(lambda x: x[:, :4].sum(1, keepdim=True), 8, -1, 1)),
]  # fmt: skip


def last_state(x: Tensor, memory: nn.Module, read: nn.Module, unit: nn.Module) -> Tensor:
    """A unit above what a memory keeps of a sequence of numbers."""
    result: Tensor = unit(read(memory(x.unsqueeze(-1))[0][:, -1]))
    return result


def three_units(x: Tensor, encoder: nn.Module, *units: nn.Module) -> Tensor:
    """All see the same two positive numbers."""
    z = 0.1 + nn.functional.softplus(encoder(x))
    return torch.cat([unit(z) for unit in units], -1)


def of_words(target: Callable[[Tensor], Tensor]) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """Pairs of ten words, each of which means eight numbers, always the same ones."""
    meaning = torch.randn(10, 8, generator=torch.Generator().manual_seed(0))

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        words = torch.randint(0, 10, (128, 2), generator=generator)
        return words, target(meaning[words])

    return draw


UNSEEN = [
    Case("gates times inputs below a sum",
         lambda: Network(lambda x, gate, unit: unit(x * gate(x).sigmoid()), mlp(4, 16, 4), nalm.NAU(4, 1)),
         uniform(lambda x: x[:, :1] - x[:, 1:2] + x[:, 2:3], 4, -1, 1)),
    Case("words below a sum",
         lambda: Network(lambda x, table, unit: unit(table(x).squeeze(-1)), nn.Embedding(10, 1), nalm.NAU(2, 1)),
         of_words(lambda m: m[:, 0, :1] - m[:, 1, :1])),
    Case("products of words below a sum",
         lambda: Network(lambda x, table, unit: unit(table(x).prod(1)), nn.Embedding(10, 8), nalm.NAU(8, 1)),
         of_words(lambda m: (m[:, 0] * m[:, 1]).sum(-1, keepdim=True))),
    Case("BatchNorm and MLP below a product",
         lambda: Network(lambda x, m, unit: unit(0.1 + nn.functional.softplus(m(x))),
                         nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2)),
                         nalm.NMU(2, 1)),
         uniform(mul, 4, 1, 3)),
    Case("attention weights below a product",
         lambda: Network(lambda x, q, unit: unit(4 * x * q(x).softmax(-1)), mlp(4, 16, 4), nalm.NMU(4, 1)),
         uniform(mul, 4, 1, 2)),
    Case("convolution below a product",
         lambda: Network(lambda x, c, unit: unit(c(x.unsqueeze(1)).flatten(1)), nn.Conv1d(1, 1, 3, padding=1),
                         nalm.NMU(6, 1)),
         uniform(mul, 6, 1, 2)),
    Case("LSTM below a sum",
         lambda: Network(last_state, nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 2), nalm.NAU(2, 1)),
         uniform(lambda x: x.sum(1, keepdim=True), 6, -1, 1)),
    Case("MLPs below and above a quotient",
         lambda: Network(lambda x, m, unit, above: above(unit(0.1 + nn.functional.softplus(m(x)))), mlp(4, 16, 2),
                         nalm.NRU(2, 1), mlp(1, 16, 1)),
         uniform(lambda x: torch.tanh(x[:, :1] / x[:, 1:2]), 4, 1, 3)),
    Case("MLP below a product of sums",
         lambda: Network(lambda x, m, sums, unit: unit(sums(m(x))), mlp(4, 16, 4), nalm.NAU(4, 2), nalm.NMU(2, 1)),
         uniform(lambda x: (x[:, :1] + x[:, 1:2]) * (x[:, 2:3] + x[:, 3:]), 4, -1, 1)),
    Case("sum beside a way around it",
         lambda: Network(lambda x, m, unit: x[:, :1] + unit(m(x)), mlp(4, 16, 3), nalm.NAU(3, 1)),
         uniform(lambda x: x[:, :1] + x[:, 1:2] * x[:, 2:3], 4, -1, 1)),
    Case("three units on one encoder",
         lambda: Network(three_units, mlp(4, 32, 2), nalm.NMU(2, 1), nalm.NAU(2, 1), nalm.NRU(2, 1)),
         uniform(lambda x: torch.cat([mul(x), x[:, :1] + x[:, 1:2], x[:, :1] / x[:, 1:2]], -1), 4, 1, 3)),
    Case("matrix below a sum",
         lambda: Network(lambda x, m, unit: unit(m(x)), nn.Linear(6, 3, bias=False), nalm.NAU(3, 1)),
         uniform(lambda x: x[:, :2].sum(1, keepdim=True) - x[:, 2:3], 6, -1, 1)),
]  # fmt: skip
"""Written down after the rule had been changed for the last time, and run once."""


def main() -> None:
    """The cases on the seeds of the command line."""
    torch.set_num_threads(1)
    first, last, word = int(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:])
    done = {(row["case"], row["seed"]) for row in kept(RESULTS)}
    unseen = word == "unseen"
    for case in UNSEEN if unseen else [case for case in CASES if word in case.name]:
        for seed in range(first, last + 1):
            if (case.name, seed) not in done:
                keep(compared(case, seed, RATE) | {"unseen": unseen}, RESULTS)


if __name__ == "__main__":
    main()
