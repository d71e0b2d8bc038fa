"""Where a unit sits, asked of the graph that one forward pass leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from torch import Tensor, nn

from nalm.training.rule.watch import Watched

Node = Any  # torch's own nodes have no public type

# operations that move numbers about and leave each of them as it is
LAYOUT = frozenset(
    {
        *("Alias", "Cat", "Clone", "Expand", "Index", "Narrow", "Permute", "ReshapeAlias", "Select", "Slice", "Split"),
        *("Squeeze", "Stack", "T", "ToCopy", "Transpose", "Unbind", "UnsafeView", "Unsqueeze", "View"),
    }
)

# operations of linear layers and of BatchNorm: what they make of a unit's output is a gain and a bias
STRAIGHT = frozenset(
    {
        *("Add", "Addmm", "Addmv", "Baddbmm", "Bmm", "CudnnBatchNorm", "Div", "Mean", "Mm", "Mul", "Mv"),
        *("NativeBatchNorm", "Neg", "Sub", "Sum"),
    }
)


class Position(Enum):
    """Where a unit sits, which decides how the rule treats it."""

    OUTPUT = "the output"  # what it computes is the network's output, and nothing learned lies below
    STACK = "in a stack"  # only units of the rule lie around it
    BETWEEN = "between layers"  # layers of the base optimiser lie below, above or beside it and can make up for it


class GainAndBias(NamedTuple):
    """The parameters of a linear layer with one input and one output: a gain and a bias."""

    gain: nn.Parameter
    bias: nn.Parameter


@dataclass(frozen=True)
class Place:
    """Where a unit sits.

    Attributes:
        position: on which depends how it is treated.
        learned_below: whether layers of the base optimiser lie below it.
        learned_above: or above or beside it.
        mixed: whether those above mix what it computes with what other units, or its own other uses, compute.
        straight: whether none lie below, and those above and beside can make up for a gain and a bias and no more.
        line: of these, a linear layer directly above that is the network's output, with one input and one output.
    """

    position: Position
    learned_below: bool = False
    learned_above: bool = False
    mixed: bool = False
    straight: bool = False
    line: GainAndBias | None = None


def places(watched: Sequence[Watched], output: Tensor, own: Collection[nn.Parameter]) -> list[Place | None]:
    """The place of each unit; None if the output does not depend on it.

    Args:
        own: the parameters of all units that the rule trains. Any other one in the graph is a neighbour's.
    """
    mine = {id(p) for p in own}
    outputs = [{_node(use.y) for use in one.uses} for one in watched]
    found = [_place(_node(output), outputs, i, mine) for i in range(len(watched))]
    return [None if p is None else replace(p, line=line_above(w, output)) for p, w in zip(found, watched, strict=True)]


def _node(tensor: Tensor) -> Node:
    return tensor.grad_fn


def _place(root: Node, outputs: Sequence[set[Node]], index: int, mine: set[int]) -> Place | None:
    own, others = outputs[index], set().union(*outputs) - outputs[index]
    above = _leading_to(root, own)  # nodes between the output and the unit, without the unit
    if not (above or root in own):
        return None
    below = {node for y in own for node in _under(y)}
    mixing = [node for node in above if not _is_layout(node)]
    beside = {n for node in mixing for n in _under(node, closed=own)}
    learned_below, learned_above = _foreign(below, mine), _foreign(beside, mine)
    if learned_below or learned_above:
        straight = not learned_below and all(_is_layout(n) or _is_straight(n) or _is_leaf(n) for n in beside)
        # uses that are only laid out side by side, as the states of a recurrent cell, have targets of their own
        outside = _under(root, closed=own)
        joined = any(len(_first(node, own)) > 1 for node in mixing if node in outside)
        mixed = learned_above and (bool(others & beside - above) or joined)
        return Place(Position.BETWEEN, learned_below, learned_above, mixed, straight)
    alone = len(own) == 1 and not mixing and not below & others
    return Place(Position.OUTPUT if alone else Position.STACK)


def _operation(node: Node) -> str:
    return type(node).__name__.split("Backward")[0]


def _is_layout(node: Node) -> bool:
    return _operation(node) in LAYOUT


def _is_straight(node: Node) -> bool:
    return _operation(node) in STRAIGHT


def _is_leaf(node: Node) -> bool:
    return getattr(node, "variable", None) is not None


def _foreign(nodes: Collection[Node], mine: set[int]) -> bool:
    return any(_is_leaf(node) and id(node.variable) not in mine for node in nodes)


def _children(node: Node) -> Iterator[Node]:
    return (child for child, _ in node.next_functions if child is not None)


def _under(root: Node, closed: Collection[Node] = ()) -> set[Node]:
    """All nodes below one, itself included, on paths that do not enter those that are closed."""
    found, waiting = {root}, [root]
    while waiting:
        for child in _children(waiting.pop()):
            if child not in found and child not in closed:
                found.add(child)
                waiting.append(child)
    return found


def _first(root: Node, goals: Collection[Node]) -> set[Node]:
    """Those of the goals that are reached from the root without passing through another one."""
    passed = _under(root, closed=goals)
    return {child for node in passed for child in _children(node) if child in goals}


def _leading_to(root: Node, goals: Collection[Node]) -> set[Node]:
    """The nodes on paths from the root to any of the goals, without the goals themselves."""
    parents: dict[Node, list[Node]] = {}
    reached = _under(root)
    for node in reached:
        for child in _children(node):
            parents.setdefault(child, []).append(node)
    found: set[Node] = set()
    waiting = [goal for goal in goals if goal in reached]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found - set(goals)


def line_above(one: Watched, output: Tensor) -> GainAndBias | None:
    """The linear layer directly above a unit with one output, if all above that is the network's output."""
    if one.unit.runs:
        return None
    goals = {_node(use.y) for use in one.uses}
    mixing = [node for node in _leading_to(_node(output), goals) if not _is_layout(node)]
    if len(goals) != 1 or len(mixing) != 1 or type(mixing[0]).__name__ != "AddmmBackward0":
        return None
    bias, _, turned = (child for child, _ in mixing[0].next_functions)
    gain = turned.next_functions[0][0] if turned is not None and turned.next_functions else turned
    weight, constant = (getattr(leaf, "variable", None) for leaf in (gain, bias))
    if not isinstance(weight, nn.Parameter) or not isinstance(constant, nn.Parameter):
        return None
    return GainAndBias(weight, constant) if weight.numel() == constant.numel() == 1 else None


def feeds(lower: Watched, upper: Watched, same: Callable[[Tensor, Tensor], bool]) -> bool:
    """Whether all that one unit computes, once, is all that another one sees."""
    return len(lower.uses) == len(upper.uses) == 1 and same(upper.uses[0].x, lower.uses[0].y)
