"""Draws docs/results/figures/vision-transformer.png: digits as the spatial transformers see them.

    python benchmarks/vision_pictures.py [STEPS] [DATA]

Trains `mnist/colour` under the solved product on upright digits (light reader), as `mnist/colour-small` does, and says
what the two transformers lead to: is each digit read, or the same number twice? A minute and a half on one core.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from nalm.bench.show.drawings import draw_views
from nalm.bench.show.figures import save
from nalm.bench.studies import find_study
from nalm.bench.studies.mnist_colour import UPRIGHT
from nalm.bench.vision.colour_task import LoadedColours
from nalm.bench.vision.distortion import distorted
from nalm.bench.vision.networks import ColourNetwork
from nalm.bench.vision.training import Training

FIGURE = Path(__file__).parents[1] / "docs" / "results" / "figures" / "vision-transformer.png"
SHOWN = 6
MEASURED = 500


def main(count: str = "2816", data: str = "digits") -> None:
    """Train, then draw each image, both transformers' views of it, and what is read there."""
    torch.set_num_threads(1)
    steps = int(count)
    study = find_study("mnist/colour").of_data(data).quick().only(["MUL"], [UPRIGHT])
    run = study.cells[0].run(0)
    training = Training(replace(run, method=run.method.scaled(steps)))
    training.advance(steps)
    network, problem = training.network.eval(), training.loaded
    assert isinstance(network, ColourNetwork)
    assert isinstance(problem, LoadedColours)
    part = problem.test.first(MEASURED)
    images = distorted(part.images.pixels[part.index], torch.Generator().manual_seed(1), upright=True)
    with torch.no_grad():
        views, digits = network.found(images[:SHOWN]), network.read(images)
    save(draw_views(images[:SHOWN].numpy(), views.numpy(), part.labels[:SHOWN].numpy(), digits[:SHOWN].numpy()), FIGURE)
    first, second = digits.T
    labels = part.labels.double()
    apart = (first - second).abs().mean()
    print(f"{FIGURE.name}: {steps:,} steps on {data}; the two readings of an image are {apart:.2f} apart on average.")
    wanted = {"first digit": labels[:, 0], "second digit": labels[:, 1], "root of the product": labels.prod(-1).sqrt()}
    for name, truth in wanted.items():
        print(f"Correlation of the first reading with the {name}: {correlation(first, truth):.2f}")


def correlation(a: Tensor, b: Tensor) -> float:
    """Pearson's."""
    return float(torch.corrcoef(torch.stack([a.double(), b.double()]))[0, 1])


if __name__ == "__main__":
    main(*sys.argv[1:])
