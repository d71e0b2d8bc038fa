"""Networks in which a rule could end far worse than Adam: layers below a unit that cannot make up for its numbers.

`python benchmarks/rule_adverse.py FIRST LAST [WORD]` prints the rule's error over Adam's on these seeds, the geometric
mean and the largest, with Adam's rate 0.01 for both and everything else as in rule_real.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import geometric_mean

import torch
from rule_real import Case, compared, mul, uniform
from torch import Tensor, nn

import nalm

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


def main() -> None:
    """The cases on the seeds of the command line."""
    torch.set_num_threads(1)
    first, last, word = int(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:])
    for case in (case for case in CASES if word in case.name):
        rows = [compared(case, seed, RATE) for seed in range(first, last + 1)]
        for way, what in (("adam", "as many steps"), ("adam_time", "as much time")):
            ratios = [(row["rule"]["error"] + 1e-10) / (row[way]["error"] + 1e-10) for row in rows]
            twice = sum(ratio > 2 for ratio in ratios)
            print(
                f"{case.name}, seeds {first} to {last}, Adam in {what}: {geometric_mean(ratios):.2g} on average, "
                f"{max(ratios):.2g} at most, above 2 in {twice} of {len(ratios)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
