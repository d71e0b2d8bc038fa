"""The grids of lessons, logic and Hill Space: rows and columns are those of the sources, starts really start there."""

from __future__ import annotations

import pytest
import torch

from nalm.bench.studies import find_study
from nalm.bench.studies.logic import REGISTER_STARTS, RULE_STARTS
from nalm.core.unit import Unit

FOURTEEN = {  # of the public code that goes with the report
    "hard tanh", "sigmoid", "relu6", "tanh", "tanh shrink", "hard shrink", "leaky relu", "soft shrink", "softsign",
    "relu", "prelu", "softplus", "elu", "selu",
}  # fmt: skip
NINE = {"relu", "sigmoid", "tanh", "relu6", "leaky relu", "elu", "selu", "prelu", "swish"}  # of the report


def test_perceptrons_are_tried_with_the_activations_of_both_sources() -> None:
    assert set(find_study("intro/identity").rows) == FOURTEEN | {"swish", "NAC"}
    assert set(find_study("intro/identity-sgd").rows) == NINE | {"NAC"}
    depths = {name: find_study(name).cells[0].model.layers[0].options["hidden"] for name in IDENTITIES}
    assert depths == IDENTITIES


IDENTITIES = {"intro/identity": [8, 8, 8], "intro/identity-sgd": [8, 8]}


def test_operands_are_those_of_the_report() -> None:
    study = find_study("intro/operands")
    columns = {row: {c.column for c in study.cells if c.row == row} for row in study.rows}
    assert columns["NAC"] == {f"{word} of {n}" for word in ("sum", "difference") for n in range(1, 11)}
    words = ("sum", "difference", "product", "quotient")
    assert columns["NALU"] == {f"{word} of {n}" for word in words for n in (2, 5)} | {"root of 2", "square of 2"}
    told = {cell: number.measures["right"] for cell, number in study.published.items()}
    assert told["NALU", "quotient of 5"] == 0.187
    assert told["NAC", "sum of 9"] == told["NAC", "difference of 10"] == 1
    assert ("NAC", "sum of 10") not in told


def started(name: str, row: str) -> list[Unit]:
    """The layers of a row as its run with seed 3 starts."""
    cell = next(c for c in find_study(name).cells if c.row == row)
    model = cell.model.build()
    model.reset_parameters(3)
    return [unit for unit in model.modules() if isinstance(unit, Unit) and unit.weights]


@pytest.mark.parametrize(
    ("name", "row", "weight", "bounds"),
    [
        (name, row, weight, change["start"])
        for name, starts in (("logic/nlrl-starts", RULE_STARTS), ("logic/nsr-starts", REGISTER_STARTS))
        for row, weights in starts.items()
        for weight, change in weights.items()
    ],
)
def test_weights_start_where_the_row_says(name: str, row: str, weight: str, bounds: list[float]) -> None:
    for unit in started(name, row):
        (raw,) = unit.weights[weight].raw(unit)
        assert bounds[0] <= float(raw.detach().min()) <= float(raw.detach().max()) <= bounds[1]


def test_the_chosen_start_is_that_of_the_other_studies() -> None:
    """So that these rows share their runs."""
    ids = {c.run(0).id for c in find_study("logic/boolean-2").cells if c.row == "8 hidden"}
    assert {c.run(0).id for c in find_study("logic/nlrl-starts").cells if c.row == "as chosen"} <= ids
    ids = {c.run(0).id for c in find_study("logic/compare").cells if c.row == "redundancy 5"}
    assert {c.run(0).id for c in find_study("logic/nsr-starts").cells if c.row == "as chosen"} <= ids


@pytest.mark.parametrize("spread", [0.0, 1e-8, 0.02, 1.0, 3.0, 10.0])
def test_hill_space_starts_as_far_from_zero_as_the_row_says(spread: float) -> None:
    study = find_study("hillspace/starts")
    values = torch.cat(
        [
            torch.cat([p.detach().reshape(-1) for p in c.model.build((50,)).parameters()])
            for c in study.cells
            if c.row == f"start {spread:g}"
        ]
    )
    assert len({c.column for c in study.cells}) == 13
    assert float(values.std()) == pytest.approx(spread, rel=0.1, abs=1e-12)
