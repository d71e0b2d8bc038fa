"""Which products are fused into sums: where a last digit may differ from torch's, and where it must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nalm.native.fuse import fuse
from nalm.native.lower import Inputs, lower
from nalm.native.trace import trace
from nalm.native.values import reachable

BOUNDS: dict[str, tuple[int, ...]] = {"low": (), "width": ()}
ROW = (1, 128)


def operations(of_inputs: Callable[[Tensor, Tensor], Tensor]) -> dict[str, list[str]]:
    """What each operation of a fused step is given, by its name; the step measures a function of inputs and draws."""

    def step(_: dict[str, Tensor], bounds: dict[str, Tensor], draws: dict[str, Tensor], __: dict[str, Tensor]):  # type: ignore[no-untyped-def]
        inputs = bounds["low"] + bounds["width"] * draws["u"]
        return {}, {"m": of_inputs(inputs, draws["v"]).mean()}

    shapes = {"u": ROW, "v": ROW}
    inputs = Inputs({}, BOUNDS, shapes, (), frozenset())
    program = fuse(lower(trace(step, {}, BOUNDS, shapes, []), inputs, 128, None))
    return {value.op: [a.op for a in value.args] for value in reachable(program.metrics)}


@pytest.mark.parametrize(
    ("op", "of_inputs"),
    [
        ("abs", lambda x, _: x.abs()),
        ("log", lambda x, _: x.log()),
        ("div", lambda x, v: v / x),
        ("lt", lambda x, v: torch.where(x < 0, v, 0.0)),
    ],
)
def test_inputs_whose_size_or_sign_is_looked_at_round_as_in_torch(
    op: str, of_inputs: Callable[[Tensor, Tensor], Tensor]
) -> None:
    found = operations(of_inputs)
    assert "add" in found[op]
    assert "fma" not in found


def test_a_numerator_is_fused() -> None:
    found = operations(lambda x, v: x / (1 + v * v))
    assert found["div"][0] == "fma"
    assert "fma" in operations(lambda x, v: torch.exp(x) * v)
