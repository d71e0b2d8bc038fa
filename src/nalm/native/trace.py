"""From a step function to a flat graph of core ATen operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import GraphModule

from nalm.native.errors import Unsupported

Tensors = dict[str, Tensor]
Step = Callable[[Tensors, Tensors, Tensors, Tensors], tuple[Mapping[str, Tensor], Mapping[str, Tensor]]]
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Trace:
    """The operations of one step. Inputs come in the order state, consts, draws, clock; outputs as the names here."""

    module: GraphModule
    state: tuple[str, ...]
    metrics: tuple[str, ...]


def trace(step: Step, state: Shapes, consts: Shapes, draws: Shapes, clock: Iterable[str]) -> Trace:
    """Runs the step once on example tensors and records every ATen operation, gradient and optimiser included.

    Raises:
        Unsupported: if the step's Python looks at values, or its outputs do not fit its state.
    """
    from torch._decomp import core_aten_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx

    groups: list[Shapes] = [state, consts, draws, dict.fromkeys(clock, ())]
    names = [list(group) for group in groups]
    written: list[str] = []
    measured: list[str] = []

    def flat(*tensors: Tensor) -> list[Tensor]:
        rest = iter(tensors)
        new_state, metrics = step(*({name: next(rest) for name in group} for group in names))
        written[:], measured[:] = sorted(new_state), sorted(metrics)
        return [*(new_state[name] for name in written), *(metrics[name] for name in measured)]

    # Half is inside every range the steps know: no example is out of a domain, so no branch hides behind a NaN.
    examples = [torch.full(tuple(shape), 0.5) for group in groups for shape in group.values()]
    table = dict(core_aten_decompositions())
    table.pop(torch.ops.aten.stack.default, None)  # decomposed, it would glue long axes together and cut them again
    try:
        module = make_fx(flat, decomposition_table=table)(*examples)
    except (RuntimeError, TypeError) as error:
        raise Unsupported("the step", f"cannot be traced: {str(error).splitlines()[0]}") from error
    _check_outputs(module, groups[0], written, measured)
    return Trace(module, tuple(written), tuple(measured))


def _check_outputs(module: GraphModule, state: Shapes, written: list[str], measured: list[str]) -> None:
    output = next(node for node in module.graph.nodes if node.op == "output")
    values = output.args[0]
    for name, node in zip([*written, *measured], values, strict=True):
        wanted = tuple(state.get(name, ())) if name in written else ()
        if name in written and name not in state:
            raise Unsupported(f"new state '{name}'", "is not among the state the step was given")
        got = tuple(node.meta["val"].shape)
        if got != wanted:
            raise Unsupported(f"output '{name}'", f"has shape {got}, expected {wanted}")
