import torch

import nalm


class Network(torch.nn.Module):
    """An encoder that sees four numbers only through sines, and a unit that works on what it makes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.frequency = 1.5 * torch.randn(16)
        self.phase = 6.28 * torch.rand(16)
        layers = [torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1), torch.nn.Softplus()]
        self.encoder = torch.nn.Sequential(*layers)
        self.unit = nalm.NRU(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = torch.sin(x.unsqueeze(-1) * self.frequency + self.phase)
        latent = 0.05 + self.encoder(seen).squeeze(-1)
        return self.unit(latent)


def evaluate(x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    output = model(x)
    return output, (output - target).square().mean()


torch.manual_seed(3)
model = Network()
optimiser = nalm.LocalGaussNewton(model, base=lambda p: torch.optim.Adam(p, 3e-3))  # first line

for _ in range(400):
    x = 1 + 4 * torch.rand(128, 4)
    loss = optimiser.step(evaluate, x, x[:, [0]] / x[:, [1]])  # second line: no zero_grad, backward and step

formula = nalm.read(model.unit, names=["a", "b", "c", "d"])
print(formula, "exact:", formula.exact)
