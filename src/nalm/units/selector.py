"""Mistry's thesis 2023, chapter 7: the recurrent input selector. Modules compete for the right to write one line of
working; the lines stand beside the inputs of every later step, and the last line is the output."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from nalm.core.option import count
from nalm.core.scalar import Scalar, dot
from nalm.core.start import constant
from nalm.core.uniforms import noise
from nalm.core.unit import Unit
from nalm.core.weight import Weight
from nalm.units.composition import COMPOSITION_RECIPE, THESIS, CompositionRealNPU
from nalm.units.inalu import IMNAC, INAC
from nalm.units.nau import NAU, NMU, gated_product_formula, tree_product
from nalm.units.npu import magnitude_and_phase, power_formula
from nalm.units.straight_through import (
    HARD_GATE,
    HARD_MODULE,
    HARD_SOFTMAX,
    TEMPERATURE,
    hard_gumbel_softmax,
    hard_sigmoid,
)

EMPTY = 1.0
"""What a line holds before it is written. The thesis does not say; its table 7.6 shows `-1 - a - b - c` with no line
accessed, which needs a one, and a zero would be divided by."""


@dataclass(frozen=True)
class Line:
    """One line of working: what the winning module wrote.

    Attributes:
        step: counted from 1.
        module: the name of the module that won.
        expressions: what it wrote, one SymPy expression per output, in terms of the inputs.
        accessed: numbers of the earlier lines it used.
    """

    step: int
    module: str
    expressions: tuple[Any, ...]
    accessed: tuple[int, ...]

    def __str__(self) -> str:
        used = f"   (uses line {', '.join(map(str, self.accessed))})" if self.accessed else ""
        return f"{self.step}. {self.module}: {', '.join(map(str, self.expressions))}{used}"


@dataclass(frozen=True)
class Working:
    """All lines of a selector, as the thesis' tables 7.5 and 7.6 show them."""

    lines: tuple[Line, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


class _Selector(Unit):
    """What all selectors share: steps, the scratchpad and the choice between modules (algorithm 1 of the thesis)."""

    operations = "+ - * /"
    paper = THESIS
    recipe = COMPOSITION_RECIPE
    steps = count(2, "operations one after another")
    choice = Weight("steps modules_count", start=constant(0.0), grid=(0, 1), link=HARD_MODULE, pulls=(), counts=False)
    certain = Weight("steps", start=constant(-1.0), grid=(0, 1), link=HARD_GATE, pulls=(), counts=False)

    @property
    def lines(self) -> int:
        """Numbers on the scratchpad: each step writes one per output."""
        return self.steps * self.out_features

    @property
    def seen(self) -> int:
        """What a module sees: inputs and scratchpad."""
        return self.in_features + self.lines

    @property
    def modules_count(self) -> int:
        """How many modules compete."""
        return len(self.module_names)

    @property
    @abstractmethod
    def module_names(self) -> Sequence[str]:
        """Names of the modules, for the reading."""

    @abstractmethod
    def candidates(self, x: Tensor, step: int) -> Tensor:
        """What each module would write, `(*runs, in + lines, samples)` to `(*runs, modules, out, samples)`."""

    @abstractmethod
    def candidate_formulas(self, x: Sequence[Scalar], step: int) -> list[list[Scalar]]:
        """The same on scalars, one list of outputs per module."""

    def compute(self, x: Tensor) -> Tensor:
        x = x.expand(*self.runs, *x.shape[-2:])
        out = self.out_features
        lines = [torch.full_like(x[..., :1, :], EMPTY).expand(*x.shape[:-2], out, x.shape[-1])] * self.steps
        for step in range(self.steps):
            lines[step] = self._select(self.candidates(torch.cat([x, *lines], -2), step), step)
        return lines[-1]

    def _select(self, written: Tensor, step: int) -> Tensor:
        """One module's output, `(*runs, modules, out, samples)` to `(*runs, out, samples)`: algorithm 1."""
        likely = _mixed(self.choice[..., step, :], written)
        if not self.training:
            return likely
        logits = self.weights["choice"].raw(self)[0][..., step, :]
        drawn = _mixed(hard_gumbel_softmax(logits, noise(logits.shape, written), TEMPERATURE), written)
        logit = self.weights["certain"].raw(self)[0][..., step, None, None]
        soft, hard = torch.sigmoid(logit), hard_sigmoid(logit).detach()
        mixed = soft * likely + (1 - soft) * drawn
        # line 13 of the algorithm stops the gradient of the soft mixture only: modules are taught by both
        return hard * likely + (1 - hard) * drawn + (mixed - mixed.detach())

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        return self._steps(x)[-1]

    def _steps(self, x: Sequence[Scalar], lines: Sequence[Scalar] | None = None) -> list[list[Scalar]]:
        """What each step writes; given `lines` stand on the scratchpad in place of what the steps wrote."""
        out = self.out_features
        pad = list(lines) if lines is not None else [int(EMPTY)] * self.lines
        written = []
        for step, row in enumerate(self.numbers("choice")):
            rows = self.candidate_formulas([*x, *pad], step)
            written.append([dot(row, [values[o] for values in rows]) for o in range(out)])
            if lines is None:
                pad[step * out : (step + 1) * out] = written[-1]
        return written

    def working(self, names: Sequence[str] | None = None) -> Working:
        """Each step's expression, the module that wrote it and the lines it used.

        >>> print(FrozenSelector(2, 1).working(["a", "b"]))
        1. add: a + b + 2
        2. add: 2*a + 2*b + 3   (uses line 1)
        """
        import sympy

        symbols = [sympy.Symbol(name, real=True) for name in (names or [f"x{i}" for i in range(self.in_features)])]
        if len(symbols) != self.in_features:
            raise ValueError(
                f"{type(self).__name__} has {self.in_features} inputs, but {len(symbols)} names were given."
            )
        pad = [sympy.Dummy(f"line{i}") for i in range(self.lines)]
        seen = [[sympy.sympify(v).free_symbols for v in values] for values in self._steps(symbols, pad)]
        modules = [self.module_names[row.index(1)] for row in self.numbers("choice")]
        lines = []
        for step, values in enumerate(self._steps(symbols)):
            used = {pad.index(s) // self.out_features + 1 for found in seen[step] for s in found if s in pad}
            shown = tuple(sympy.sympify(v) for v in values)
            lines.append(Line(step + 1, modules[step], shown, tuple(sorted(line for line in used if line <= step))))
        return Working(tuple(lines))


def _mixed(choice: Tensor, written: Tensor) -> Tensor:
    """sum_m choice_m written_m, `(*runs, modules)` and `(*runs, modules, out, samples)` to `(*runs, out, samples)`."""
    return (choice[..., None, None] * written).sum(-3)


class _LearnedSelector(_Selector):
    """Modules that learn which inputs and lines to use; the same modules serve every step."""

    kinds: ClassVar[tuple[type[Unit], ...]] = ()
    bodies: Sequence[Unit]

    @property
    def module_names(self) -> Sequence[str]:
        return [kind.__name__ for kind in self.kinds]

    def assemble(self, weights: Mapping[str, Weight]) -> None:
        bodies = [kind(self.seen, self.out_features, self.runs) for kind in self.kinds]
        self.bodies = cast("Sequence[Unit]", nn.ModuleList(bodies))

    def candidates(self, x: Tensor, step: int) -> Tensor:
        return torch.stack([body.compute(x) for body in self.bodies], -3)

    def candidate_formulas(self, x: Sequence[Scalar], step: int) -> list[list[Scalar]]:
        return [body.formula(x) for body in self.bodies]


class NMUSelector(_LearnedSelector):
    r"""Recurrent input selector whose modules are two NAUs and an NMU.

    Formula: $\ell_t = \sum_m p_{tm} M_m([x, \ell_1, \ldots, \ell_T])$ for t = 1..T, output $\ell_T$; p is one-hot: the
    most likely module (straight-through softmax of $w / 10$), or in training, while a learned gate says so, one drawn
    by the straight-through Gumbel softmax. Lines not yet written hold 1.
    Reads as: T sums or products, each of inputs and earlier lines; `working` prints them.
    Trained as: SGD 1e-3, 200,000 batches of 128, penalty 10 ramped from step 100,000 to 150,000; module logits start at
    0, gates at -1 (probability 0.27 of the most likely module).
    Paper: Mistry's thesis 2023, section 7.2.5, "Recurrent Input with [NAU, NAU, NMU]".

    >>> import torch
    >>> NMUSelector(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    operations = "+ - *"
    kinds = (NAU, NAU, NMU)


class NPUSelector(_LearnedSelector):
    r"""Recurrent input selector whose modules are two NAUs and two Real NPUs (modified).

    Formula: the NMUSelector.
    Reads as: T sums, products or quotients, each of inputs and earlier lines; `working` prints them.
    Trained as: the NMUSelector; gates of the Real NPU are pulled with 5.
    Paper: Mistry's thesis 2023, section 7.2.5, "Recurrent Input with [NAU, Real NPU, NAU, Real NPU]".

    >>> import torch
    >>> NPUSelector(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    kinds = (NAU, CompositionRealNPU, NAU, CompositionRealNPU)


class INALUSelector(_LearnedSelector):
    r"""Recurrent input selector whose modules are two iNACs and two iMNACs.

    Formula: the NMUSelector.
    Reads as: T sums, products or quotients, each of inputs and earlier lines; `working` prints them.
    Trained as: the NMUSelector.
    Paper: Mistry's thesis 2023, section 7.2.5, "Recurrent Input with [iNAC, iMNAC, iNAC, iMNAC]".

    >>> import torch
    >>> INALUSelector(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    kinds = (INAC, IMNAC, INAC, IMNAC)


OPERATIONS = ("add", "sub", "mul", "div")


class FrozenSelector(_Selector):
    r"""Recurrent input selector with four fixed modules (sum, negative sum, product, reciprocal product) and a learned
    mask that gives each input to one of them.

    The divider is a Real NPU with all weights -1, whose gate is the mask: it makes 8e6 of a zero, not infinity.

    Formula: $\ell_t = \sum_m p_{tm} M_m(\mathrm{mask}_{tm} \odot [x, \ell_1, \ldots, \ell_T])$ with p as in the
    NMUSelector; a masked input counts as 0 in sums and as 1 in products.
    Reads as: T sums, negative sums, products or reciprocals of products; `working` prints them.
    Trained as: SGD 1e-3, 200,000 batches of 128; the mask is a straight-through softmax over modules and starts at 0.
    Paper: Mistry's thesis 2023, section 7.2.6.

    >>> import torch
    >>> FrozenSelector(3, 1)(torch.ones(5, 3)).shape
    torch.Size([5, 1])
    """

    # the thesis starts the row of the line written before at 1, which a softmax over modules does not see
    mask = Weight(
        "steps out seen modules_count", start=constant(0.0), grid=(0, 1), link=HARD_SOFTMAX, pulls=(), counts=False
    )

    @property
    def module_names(self) -> Sequence[str]:
        return OPERATIONS

    def candidates(self, x: Tensor, step: int) -> Tensor:
        mask = self.mask[..., step, :, :, :]  # (*runs, out, in + lines, modules)
        add, sub, mul, div = (m.unsqueeze(-1) for m in mask.unbind(-1))  # (*runs, out, in + lines, 1)
        each = x.unsqueeze(-3)
        logs, phase = magnitude_and_phase(each, div.squeeze(-1))
        reciprocal = torch.exp(-logs.sum(-2)) * torch.cos(phase.sum(-2))
        written = [(add * each).sum(-2), -(sub * each).sum(-2), tree_product(mul * each + 1 - mul), reciprocal]
        return torch.stack(written, -3)

    def candidate_formulas(self, x: Sequence[Scalar], step: int) -> list[list[Scalar]]:
        add, sub, mul, div = ([[row[m] for row in rows] for rows in self.numbers("mask")[step]] for m in range(4))
        down = [-1] * len(x)
        return [
            [dot(row, x) for row in add],
            [-dot(row, x) for row in sub],
            gated_product_formula(x, mul),
            [power_formula(x, row, down, [0] * len(x)) for row in div],
        ]
