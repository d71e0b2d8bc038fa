"""Reading a trained unit: weights on the grid become an exact expression, others keep their decimals and it says so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from nalm.core.arguments import NotNegative, checks_arguments
from nalm.core.expression import ON_GRID, Decision, Expression, expression_of, symbols_for
from nalm.core.unit import Unit


@checks_arguments
def read(model: nn.Module, names: Sequence[str] | None = None, within: NotNegative = ON_GRID) -> Expression:
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
    layers = layers_of(model)
    symbols = symbols_for(type(model).__name__, layers[0].in_features, names)
    return expression_of(layers, symbols, within, partial(_evaluated, model))


MOST_INPUTS_TO_SIMPLIFY = 8  # SymPy's own limit: the work doubles with each further one


@checks_arguments
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

    layers = layers_of(model)
    symbols = symbols_for(type(model).__name__, layers[0].in_features, names)
    values: list[Any] = list(symbols)
    for layer in layers:
        values = layer.logic(values)
    outputs = tuple(_simplified(sympy.sympify(value)) for value in values)
    return Decision(outputs, symbols, partial(_evaluated, model))


def _simplified(output: Any) -> Any:
    from sympy import simplify_logic
    from sympy.core.relational import Relational

    if output.atoms(Relational) or len(output.free_symbols) > MOST_INPUTS_TO_SIMPLIFY:
        return output
    return simplify_logic(output)


WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel, AveragedModel)  # they compute what they wrap


def layers_of(model: nn.Module) -> list[Unit]:
    """The units that a model is made of, if it consists of units one after another; else a TypeError."""
    if isinstance(model, Unit):
        return [model]
    if isinstance(model, nn.Sequential) and type(model).forward is nn.Sequential.forward and len(model):
        return [unit for layer in model for unit in layers_of(layer)]
    if isinstance(compiled := getattr(model, "_orig_mod", None), nn.Module):  # what torch.compile has wrapped
        return layers_of(compiled)
    if isinstance(model, WRAPPERS):
        return layers_of(model.module)
    raise TypeError(f"{type(model).__name__} is not an arithmetic unit; read its units: read(model.some_unit).")


def _evaluated(model: nn.Module, x: Tensor) -> Tensor:
    """What the model computes in eval mode, whatever mode it is in."""
    modes = {module: module.training for module in model.modules()}  # parts may stand in other modes
    try:
        parameter = next(model.parameters(), None)
        result: Tensor = model.eval()(x if parameter is None else x.to(parameter.device, parameter.dtype))
        return result
    finally:
        for module, training in modes.items():
            module.training = training
