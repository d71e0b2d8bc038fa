"""Reading a trained unit: weights on the grid become an exact expression, others keep their decimals and it says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from nalm.core.unit import Unit

if TYPE_CHECKING:
    import sympy

ON_GRID = 1e-5  # the deviation per weight that the benchmark itself still counts as solved


@dataclass(frozen=True)
class Expression:
    """What a unit computes, one SymPy expression per output.

    Attributes:
        outputs: the expressions.
        symbols: the inputs, in column order.
        exact: every weight was read as a value of its grid, so there is no measured decimal in it.
        model: the model it was read from, for `residual`.
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
        import sympy

        return r" \\ ".join(sympy.latex(output) for output in self.outputs)

    def numpy(self) -> Callable[[Any], np.ndarray[Any, np.dtype[np.float64]]]:
        """A function of an array `(..., inputs)` to `(..., outputs)`, in float64."""
        function = self._compiled("numpy")

        def call(x: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
            columns = np.moveaxis(np.asarray(x, dtype=np.float64), -1, 0)
            with np.errstate(all="ignore"):
                outputs = function(*columns)
            return np.stack([np.broadcast_to(o, columns.shape[1:]) for o in outputs], -1)

        return call

    def torch(self) -> Callable[[Tensor], Tensor]:
        """A differentiable function of a tensor `(..., inputs)` to `(..., outputs)`."""
        function = self._compiled("torch")

        def call(x: Tensor) -> Tensor:
            columns = x.unbind(-1)
            outputs = function(*columns)
            tensors = [torch.as_tensor(o, dtype=x.dtype, device=x.device) for o in outputs]
            return torch.stack([t.expand(x.shape[:-1]) for t in tensors], -1)

        return call

    def _compiled(self, module: str) -> Callable[..., Any]:
        import sympy

        # A column may be called sqrt: inside the function inputs have names of their own.
        plain = {symbol: sympy.Symbol(f"x{i}", real=True) for i, symbol in enumerate(self.symbols)}
        outputs = [output.xreplace(plain) for output in self.outputs]
        function: Callable[..., Any] = sympy.lambdify(list(plain.values()), outputs, modules=module)
        return function

    def residual(self, x: Any) -> float:
        """The largest difference between the model and this formula on inputs `(..., inputs)`."""
        if self.model is None:
            raise ValueError("This expression was not read from a model, so there is nothing to compare it with.")
        x = torch.as_tensor(x)
        with torch.no_grad():
            model = self.model(x).cpu().double().numpy()  # first to the CPU: not every device has float64
        return float(np.abs(model - self.numpy()(x.cpu().double().numpy())).max())

    def __str__(self) -> str:
        return ", ".join(str(output) for output in self.outputs)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def read(model: nn.Module, names: Sequence[str] | None = None, within: float = ON_GRID) -> Expression:
    """The expression a unit, a stack of units or an `nn.Sequential` of them computes in eval mode.

    Args:
        model: a trained unit; it is not changed, and no forward pass is needed.
        names: one symbol per input, by default x0, x1, ...
        within: weights nearer than this to their grid are read as the grid value. `Expression.residual` measures what
            that costs.

    >>> import nalm
    >>> print(read(nalm.NMU(3, 1, seed=0).snapped(), names=["a", "b", "c"]).exact)
    True
    """
    import sympy

    layers = _layers(model)
    symbols = _symbols(type(model).__name__, layers[0].in_features, names)
    rounded = [layer.snapped(within) for layer in layers]
    values: list[Any] = list(symbols)
    for layer in rounded:
        values = layer.formula(values)
    exact = all(layer.on_grid() for layer in rounded)
    return Expression(tuple(_with_fewer_signs(sympy.sympify(v)) for v in values), symbols, exact, _evaluator(model))


@dataclass(frozen=True)
class Decision:
    """What a logic unit decides, one Boolean SymPy expression per output.

    Attributes:
        outputs: the expressions; an output above one half counts as true.
        symbols: the inputs, in column order.
        model: the model it was read from, for `disagreement`.
    """

    outputs: tuple[Any, ...]
    symbols: tuple[sympy.Symbol, ...]
    model: Callable[[Tensor], Tensor] | None = field(default=None, repr=False, compare=False)

    def disagreement(self, x: Any) -> float:
        """The share of decisions on inputs `(samples, inputs)` in which the model and this expression differ."""
        import sympy
        from sympy.core.relational import Relational

        if self.model is None:
            raise ValueError("This decision was not read from a model, so there is nothing to compare it with.")
        x = torch.as_tensor(x)
        with torch.no_grad():
            model = self.model(x).cpu().numpy() > 0.5
        function = sympy.lambdify(self.symbols, list(self.outputs), modules="numpy")
        columns = x.cpu().numpy().T
        compares = any(output.atoms(Relational) for output in self.outputs)  # else the inputs are truth values
        given = columns if compares else columns > 0.5
        read = np.stack([np.broadcast_to(o, model.shape[:1]) for o in function(*given)], -1)
        return float((read.astype(bool) != model).mean())

    def __str__(self) -> str:
        return ", ".join(str(output) for output in self.outputs)


MOST_INPUTS_TO_SIMPLIFY = 8  # SymPy's own limit: the work doubles with each further one


def read_logic(model: nn.Module, names: Sequence[str] | None = None) -> Decision:
    """The Boolean expression a logic unit, or a stack of them, decides by.

    Gates count as open or closed by their nearer end; `Decision.disagreement` measures what that costs.

    Args:
        model: NLRL units read as formulas of propositional logic, simplified; an NSR reads as a relation.
        names: one symbol per input, by default x0, x1, ...

    >>> import nalm
    >>> print(len(read_logic(nalm.NLRL(2, 1, seed=0)).outputs))
    1
    """
    import sympy

    layers = _layers(model)
    symbols = _symbols(type(model).__name__, layers[0].in_features, names)
    values: list[Any] = list(symbols)
    for layer in layers:
        values = layer.logic(values)
    outputs = tuple(_simplified(sympy.sympify(value)) for value in values)
    return Decision(outputs, symbols, _evaluator(model))


def _simplified(output: Any) -> Any:
    from sympy import simplify_logic
    from sympy.core.relational import Relational

    if output.atoms(Relational) or len(output.free_symbols) > MOST_INPUTS_TO_SIMPLIFY:
        return output
    return simplify_logic(output)


def _symbols(model: str, inputs: int, names: Sequence[str] | None) -> tuple[Any, ...]:
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


def _layers(model: nn.Module) -> list[Unit]:
    if isinstance(model, Unit):
        return [model]
    if isinstance(model, nn.Sequential):
        return [unit for layer in model for unit in _layers(layer)]
    raise TypeError(f"{type(model).__name__} is not an arithmetic unit; read its units: read(model.some_unit).")


def _evaluator(model: nn.Module) -> Callable[[Tensor], Tensor]:
    def call(x: Tensor) -> Tensor:
        training = model.training
        try:
            parameter = next(model.parameters(), None)
            result: Tensor = model.eval()(x if parameter is None else x.to(parameter.device, parameter.dtype))
            return result
        finally:
            model.train(training)

    return call
