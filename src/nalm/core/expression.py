"""What is read out of a unit: an arithmetic expression or a decision, with all the ways it can leave Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from nalm.core.arguments import WrongArgument, shown
from nalm.core.layout import check_input
from nalm.core.notebook import latex
from nalm.core.scalar import Scalar

if TYPE_CHECKING:
    import sympy

ON_GRID = 1e-5  # the deviation per weight that the benchmark itself still counts as solved


@dataclass(frozen=True)
class Expression:
    r"""What a unit computes, one SymPy expression per output.

    Attributes:
        outputs: the expressions.
        symbols: the inputs, in column order.
        exact: every weight was read as a value of its grid, so there is no measured decimal in it.
        model: the model it was read from, for `residual`.

    >>> import sympy
    >>> a, b = sympy.symbols("a b")
    >>> half = Expression((a * b / 2,), (a, b))
    >>> print(half, half.latex())
    a*b/2 \frac{a b}{2}
    >>> half.numpy()([[2.0, 3.0]])
    array([[3.]])
    """

    outputs: tuple[sympy.Expr, ...]
    symbols: tuple[sympy.Symbol, ...]
    exact: bool = True
    model: Callable[[Tensor], Tensor] | None = field(default=None, repr=False, compare=False)

    @property
    def sympy(self) -> Any:
        """The SymPy expression; a tuple of them if there are several outputs."""
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs

    @property
    def complexity(self) -> int:
        """Number of nodes of the expression trees: symbols, numbers and operations."""
        import sympy

        return sum(1 for output in self.outputs for _ in sympy.preorder_traversal(output))

    def latex(self) -> str:
        """LaTeX source; several outputs are separated by line breaks."""
        return r" \\ ".join(latex(output) for output in self.outputs)

    def shortened(self, digits: int = 4) -> Expression:
        """The same with measured decimals cut to a few digits, to be looked at."""
        import sympy

        def short(output: sympy.Expr) -> sympy.Expr:
            return output.xreplace({number: sympy.Float(number, digits) for number in output.atoms(sympy.Float)})

        return replace(self, outputs=tuple(short(output) for output in self.outputs))

    def numpy(self) -> Callable[[Any], np.ndarray[Any, np.dtype[np.float64]]]:
        """A function of an array `(..., inputs)` to `(..., outputs)`, in float64."""
        function = _compiled(self, ["numpy"])

        def call(x: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
            columns = np.moveaxis(_numbers(x, len(self.symbols)), -1, 0)
            with np.errstate(all="ignore"):
                outputs = function(*columns)
            return np.stack([np.broadcast_to(o, columns.shape[1:]) for o in outputs], -1, dtype=np.float64)

        return call

    def torch(self) -> Callable[[Tensor], Tensor]:
        """A differentiable function of a tensor `(..., inputs)` to `(..., outputs)`."""
        largest, smallest = partial(_reduced, torch.maximum), partial(_reduced, torch.minimum)
        function = _compiled(self, [{"max": largest, "min": smallest}, "torch"])  # torch.max takes no plain numbers

        def call(x: Tensor) -> Tensor:
            check_input("This expression", (len(self.symbols), len(self.outputs)), (), x)
            columns = x.unbind(-1)
            outputs = function(*columns)
            tensors = [torch.as_tensor(o, dtype=x.dtype, device=x.device) for o in outputs]
            return torch.stack([t.expand(x.shape[:-1]) for t in tensors], -1)

        return call

    def residual(self, x: Any) -> float:
        """The largest difference between the model and this formula on inputs `(..., inputs)`."""
        if self.model is None:
            raise ValueError("This expression was not read from a model, so there is nothing to compare it with.")
        inputs = _numbers(x, len(self.symbols))
        with torch.no_grad():
            model = self.model(torch.from_numpy(inputs)).cpu().double().numpy()  # to the CPU first: MPS has no float64
        return float(np.abs(model - self.numpy()(inputs)).max(initial=0.0))

    def __str__(self) -> str:
        from sympy import sstr

        return ", ".join(sstr(output, full_prec=False) for output in self.outputs)  # 0.4, not 0.400000000000000

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@dataclass(frozen=True)
class Decision:
    """What a logic unit decides, one Boolean SymPy expression per output.

    Attributes:
        outputs: the expressions; an output above one half counts as true.
        symbols: the inputs, in column order.
        model: the model it was read from, for `disagreement`.

    >>> import sympy
    >>> a, b = sympy.symbols("a b")
    >>> print(Decision((a & ~b,), (a, b)))
    a & ~b
    """

    outputs: tuple[Any, ...]
    symbols: tuple[sympy.Symbol, ...]
    model: Callable[[Tensor], Tensor] | None = field(default=None, repr=False, compare=False)

    def disagreement(self, x: Any) -> float:
        """The share of decisions on inputs `(samples, inputs)` in which the model and this expression differ."""
        from sympy.core.relational import Relational

        if self.model is None:
            raise ValueError("This decision was not read from a model, so there is nothing to compare it with.")
        inputs = _numbers(x, len(self.symbols)).reshape(-1, len(self.symbols))
        with torch.no_grad():
            model = self.model(torch.from_numpy(inputs)).cpu().numpy() > 0.5
        function = _compiled(self, ["numpy"])
        columns = inputs.T
        compares = any(output.atoms(Relational) for output in self.outputs)  # else the inputs are truth values
        given = columns if compares else columns > 0.5
        read = np.stack([np.broadcast_to(o, model.shape[:1]) for o in function(*given)], -1)
        return float((read.astype(bool) != model).mean())

    def __str__(self) -> str:
        return ", ".join(str(output) for output in self.outputs)

    def latex(self) -> str:
        """LaTeX source; several outputs are separated by line breaks."""
        return r" \\ ".join(latex(output) for output in self.outputs)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def _compiled(read: Expression | Decision, modules: Sequence[Any]) -> Callable[..., Any]:
    """A function of one array per symbol to a list of outputs, with the functions of SymPy from `modules`."""
    import sympy

    # A column may be called sqrt or less: inside the function inputs have names of their own.
    plain = {symbol: sympy.Symbol(f"x{i}", real=True) for i, symbol in enumerate(read.symbols)}
    outputs = [output.xreplace(plain) for output in read.outputs]
    function: Callable[..., Any] = sympy.lambdify(list(plain.values()), outputs, modules=modules)
    return function


def _reduced(of_two: Callable[[Tensor, Tensor], Tensor], *values: Tensor | float) -> Tensor:
    """The largest or smallest of tensors and numbers."""
    like = next(value for value in values if isinstance(value, Tensor))
    return reduce(of_two, [torch.as_tensor(value, dtype=like.dtype, device=like.device) for value in values])


class Readable(Protocol):
    """What a layer must offer to be read; every `Unit` does."""

    def snapped(self, within: float) -> Self:
        """A copy with the weights that are near their grid on it."""

    def on_grid(self) -> bool:
        """Whether all weights lie on their grid."""

    def formula(self, x: Sequence[Scalar]) -> list[Scalar]:
        """What it computes, on symbols."""


def expression_of(
    layers: Sequence[Readable],
    symbols: Sequence[sympy.Symbol],
    within: float,
    model: Callable[[Tensor], Tensor] | None = None,
) -> Expression:
    """The expression of layers one after another; weights nearer than `within` to their grid count as on it."""
    import sympy

    rounded = [layer.snapped(within) for layer in layers]
    values: list[Any] = list(symbols)
    for layer in rounded:
        values = layer.formula(values)
    exact = all(layer.on_grid() for layer in rounded)
    outputs = tuple(_with_fewer_signs(sympy.sympify(value)) for value in values)
    return Expression(outputs, tuple(symbols), exact, model)


def _numbers(x: Any, inputs: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Anything that holds real numbers `(..., inputs)` as a float64 array."""
    try:
        if isinstance(x, Tensor):
            x = x.detach().cpu().double().numpy() if x.is_floating_point() else x.cpu().numpy()
        array = np.asarray(x)
        values = array.astype(np.float64) if array.dtype.kind in "biuf" else None
    except (TypeError, ValueError, NotImplementedError, RuntimeError):
        values = None
    if values is None or not values.ndim or values.shape[-1] != inputs:
        raise WrongArgument(
            f"x is {shown(x)}; it needs real numbers whose last axis has {inputs}, one for each symbol."
        )
    return values


def symbols_for(model: str, inputs: int, names: Sequence[str] | None) -> tuple[sympy.Symbol, ...]:
    """One symbol per input of a model: by name, or x0, x1, ...; a model of 0 inputs takes as many as are named."""
    import sympy

    count = len(names) if names is not None else inputs
    if not count:
        raise ValueError("This model takes any number of inputs; name them: read(model, names=['a', 'b', 'c']).")
    if inputs not in (0, count):
        raise ValueError(f"{model} has {inputs} inputs, but {count} names were given.")
    symbols = tuple(sympy.Symbol(name, real=True) for name in (names or [f"x{i}" for i in range(count)]))
    if len(set(symbols)) < count:
        raise ValueError(f"Names must differ, got {list(names or [])}.")
    return symbols


def _with_fewer_signs(output: sympy.Expr) -> sympy.Expr:
    """(-a - b)*(-c - d) as (a + b)*(c + d): which of the two a stack learns is chance."""
    import sympy

    simpler = sympy.signsimp(output)
    return simpler if simpler.count_ops() < output.count_ops() else output
