import torch

import nalm

torch.manual_seed(0)
model = torch.nn.Sequential(nalm.NAU(3, 2), nalm.NMU(2, 1))  # sums, then a product of sums
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
guide = nalm.guide(model, optimizer, steps=3000)  # first line: trained as in the papers

for _ in range(3000):
    x = 4 * torch.rand(128, 3) - 2
    target = (x[:, [0]] + x[:, [1]]) * x[:, [2]]
    loss = (model(x) - target).square().mean() + guide.penalty()  # second line
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

learned = nalm.read(model, names=["a", "b", "c"], within=1e-3)
print(learned, "exact:", learned.exact)
print(learned.numpy()([123456.0, 654321.0, 1000.0]))  # far outside [-2, 2)
