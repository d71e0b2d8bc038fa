"""Draws docs/results/figures/vision-transformer.png: digits as the spatial transformers see them.

    python benchmarks/vision_pictures.py [STEPS]

Trains `mnist/colour` (sNMU with batch noise, light reader) on the digits bundled with scikit-learn, a minute on one
core.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import torch

from nalm.bench.show.drawings import draw_views
from nalm.bench.show.figures import save
from nalm.bench.studies import find_study
from nalm.bench.vision.colour_task import LoadedColours
from nalm.bench.vision.distortion import distorted
from nalm.bench.vision.networks import ColourNetwork
from nalm.bench.vision.training import Training

FIGURE = Path(__file__).parents[1] / "docs" / "results" / "figures" / "vision-transformer.png"
STEPS = 600
SHOWN = 6


def main(steps: int = STEPS) -> None:
    """Train, then draw each image, both transformers' views of it, and what is read there."""
    torch.set_num_threads(1)
    study = find_study("mnist/colour").quick().only(["sNMU batch"], ["identity start"])
    run = study.cells[0].run(0)
    training = Training(replace(run, method=run.method.scaled(steps)))
    training.advance(steps)
    measured = training.measured()
    network, problem = training.network, training.loaded
    assert isinstance(network, ColourNetwork)
    assert isinstance(problem, LoadedColours)
    part = problem.test.first(SHOWN)
    images = distorted(part.images.pixels[part.index], torch.Generator().manual_seed(1))
    with torch.no_grad():
        views, digits = network.eval().found(images), network.read(images)
    save(draw_views(images.numpy(), views.numpy(), part.labels.numpy(), digits.numpy()), FIGURE)
    print(f"{FIGURE.name}: after {steps:,} steps {measured['digit_rounded']:.1%} of digits are read.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
