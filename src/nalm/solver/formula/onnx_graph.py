"""A formula as an ONNX model, written node by node: only the package `onnx` is needed."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

from nalm.solver.formula.algebra import Applied, Constant, Formula, Input, PowerProduct, WeightedSum
from nalm.solver.formula.functions import DEFINITIONS


def write_onnx(formula: Formula, columns: int, file: Path) -> None:
    """Saves a model from `x` `(rows, columns)` to `y` `(rows, 1)`, both float32."""
    try:
        import onnx
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError("writing ONNX needs onnx: pip install 'nalm[onnx]'") from None
    graph = _Graph(helper, TensorProto)
    graph.node("Identity", [graph.add(formula)], "y")
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", columns])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])
    made = helper.make_graph(graph.nodes, "formula", [rows], [out], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    onnx.save(model, str(file))


class _Graph:
    """Nodes and constants so far; every value is a column `(rows, 1)` or a number `(1, 1)`."""

    def __init__(self, helper: Any, types: Any) -> None:
        self.helper, self.types = helper, types
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, sources: list[str], name: str = "", **attributes: Any) -> str:
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, sources, [name], **attributes))
        return name

    def number(self, value: float) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.helper.make_tensor(name, self.types.FLOAT, [1, 1], [value]))
        return name

    def add(self, formula: Formula) -> str:
        """Adds what computes the formula and gives the name of its value."""
        match formula:
            case Input(index):
                place = f"i{len(self.constants)}"
                self.constants.append(self.helper.make_tensor(place, self.types.INT64, [1], [index]))
                return self.node("Gather", ["x", place], axis=1)
            case Constant(value):
                some = self.node("Mul", [self.add(Input(0)), self.number(0.0)])  # takes the number of rows from x
                return self.node("Add", [some, self.number(float(value))])
            case WeightedSum(terms):
                parts = [self._times(self.add(term), float(c)) for c, term in terms]
                return parts[0] if len(parts) == 1 else self.node("Sum", parts)
            case PowerProduct(factors):
                powers = [self._power(self.add(factor), float(exponent)) for factor, exponent in factors]
                return reduce(lambda a, b: self.node("Mul", [a, b]), powers)
            case Applied(function, argument):
                return self.node(DEFINITIONS[function].operator, [self.add(argument)])

    def _power(self, name: str, exponent: float) -> str:
        return name if exponent == 1 else self.node("Pow", [name, self.number(exponent)])

    def _times(self, name: str, coefficient: float) -> str:
        return name if coefficient == 1 else self.node("Mul", [name, self.number(coefficient)])
