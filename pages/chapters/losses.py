"""What the losses page shows beside its tables."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from nalm.core.containers import Chain
from nalm.units.nau import NAU, NMU
from pages.markdown import markdown_table

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Case:
    """First-layer weights, `(sums, inputs)`, and the outputs that the sources print for the two inputs."""

    name: str
    weights: Matrix
    printed: tuple[float, float]


INPUTS = ((1.0, 2.0, 3.0, 4.0), (1.11, 1.12, 1.13, 1.14))
CASES = (
    Case("right inputs, right weights", ((0, 1, 1, 0), (0, 0, 1, 1)), (35, 5.1075)),
    Case("right inputs, one weight 0.9", ((0, 0.9, 1, 0), (0, 0, 1, 1)), (33.6, 4.85326)),
    Case("one wrong input, its weight 0.9", ((0, 0, 1, 0.9), (0, 0, 1, 1)), (46.2, 4.89412)),
)


def uninformative() -> str:
    """Outputs and errors of a NAU below an NMU on a wide and on a narrow input, with the printed outputs."""
    outputs = {case: _outputs(case.weights) for case in CASES}
    ideal = outputs[CASES[0]]
    lines = []
    for case, values in outputs.items():
        cells = [
            cell
            for value, right, printed in zip(values, ideal, case.printed, strict=True)
            for cell in (f"{value:g} ({printed:g})", f"{abs(value - right):.5g}")
        ]
        lines.append([case.name, *cells])
    return markdown_table(["", "on 1, 2, 3, 4", "error", "on 1.11 to 1.14", "error"], lines)


def _outputs(weights: Matrix) -> list[float]:
    network = Chain(NAU(4, 2), NMU(2, 1)).double()
    parameters = dict(network.named_parameters())
    with torch.no_grad():
        parameters["layers.0.W"].copy_(torch.tensor(weights))
        parameters["layers.1.W"].fill_(1.0)
        return [round(float(y), 10) for y in network(torch.tensor(INPUTS, dtype=torch.float64))]
