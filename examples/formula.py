"""Some formula of five inputs, learned inside a network: the layer is told nothing but the loss."""

import torch

import nalm

layer = nalm.FormulaLayer(5, 1)  # five inputs, one output
model = torch.nn.Sequential(layer, torch.nn.Softplus())  # anything fixed, or already exact, may stand around it
learner = nalm.FormulaLearner(model)


def evaluate(x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The model's output and the loss, and nothing else."""
    output = model(x)
    return output, (output - target).square().mean()


torch.manual_seed(0)
for _ in range(300):
    x = 1 + torch.rand(128, 5)
    a, b, c, d, e = x.split(1, -1)
    learner.step(evaluate, x, torch.nn.functional.softplus((a + b) / c - d))
    if learner.settled:
        break

print(nalm.read(layer, names="abcde"))
