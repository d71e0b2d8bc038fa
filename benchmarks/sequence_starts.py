"""Where readers of `mnist/sequence` start and go: the mean of what they read, under a solved product.

    python benchmarks/sequence_starts.py [STEPS] [DATA]

A reader that says c for every image is pulled up by the first digit's error and pushed away from zero by that of the
product of two; below c = -0.1 (see docs/results/vision.md) the push wins and it learns to read every digit negated.
"""

from __future__ import annotations

import sys

import torch

from nalm.bench.studies import find_study
from nalm.bench.studies.mnist_sequences import REFERENCE
from nalm.bench.vision.digits import normalised
from nalm.bench.vision.sequence_task import LoadedSequences
from nalm.bench.vision.training import Training

SEEDS = 8
SHOWN = 300  # images


def main(count: str = "75", data: str = "mnist") -> None:
    """Print, for each seed, the mean reading before and after so many steps."""
    torch.set_num_threads(1)
    steps = int(count)
    study = find_study("mnist/sequence").of_data(data)
    cell = next(c for c in study.cells if c.row == REFERENCE)
    for seed in range(SEEDS):
        training = Training(cell.run(seed))
        assert isinstance(training.loaded, LoadedSequences)
        images = normalised(training.loaded.test.pixels[:SHOWN])
        readings = []
        for more in (0, steps):
            training.advance(more)
            with torch.inference_mode():
                readings.append(float(training.network.eval().read(images).mean()))
        print(f"seed {seed}: {readings[0]:+.3f}, after {steps} steps {readings[1]:+.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
