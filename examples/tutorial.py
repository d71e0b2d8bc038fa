"""The code of docs/tutorial.md as one program; `python -m pages.script` writes it."""

# 1. A perceptron cannot learn y = x
import numpy as np
import torch

import nalm

torch.manual_seed(0)
perceptron = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(perceptron.parameters(), lr=1e-2)
for _ in range(2000):
    x = 10 * torch.rand(64, 1) - 5  # between -5 and 5
    loss = (perceptron(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    for number in (3.0, 20.0):
        error = abs(float(perceptron(torch.tensor([[number]]))) - number)
        print(f"x = {number:g}: {'right' if error < 0.2 else 'wrong'}")

# 2. A layer with whole numbers inside
torch.manual_seed(0)
unit = nalm.NAU(8, 1)
optimizer = torch.optim.Adam(unit.parameters(), lr=1e-2)
guide = nalm.guide(unit, optimizer, steps=1500)
signs = torch.tensor([[1.0, -1.0, 0.0, 1.0, 1.0, -1.0, 0.0, -1.0]])
for _ in range(1500):
    x = torch.rand(64, 8)
    loss = (unit(x) - x @ signs.T).square().mean() + guide.penalty()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(unit.snapped(within=0.01).W.long().tolist())
print(nalm.read(unit, names=list("abcdefgh"), within=0.01))

exact = unit.snapped(within=0.01)
x = torch.tensor([[1000.0, 1.0, 5.0, 2000.0, 3.0, 4.0, 6.0, 7.0]])
print(exact(x).item(), (x @ signs.T).item())

# 3. This layer learned a*b/c
torch.manual_seed(0)
unit = nalm.NRU(3, 1)
rule = nalm.LocalGaussNewton(unit)
for _ in range(60):
    x = 1 + torch.rand(128, 3)  # between 1 and 2
    target = x[:, :1] * x[:, 1:2] / x[:, 2:]

    def told(x=x, target=target):  # what the network says, and how wrong that is
        output = unit(x)
        return output, (output - target).square().mean()

    rule.step(told)

expression = nalm.read(unit, names=["a", "b", "c"])
print(expression)
print(expression.exact, expression.latex())

print(expression.numpy()([[6.0, 7.0, 3.0], [-100.0, 5.0, 2.0]]).tolist())

# 4. Deciding
torch.manual_seed(0)
register = nalm.NSR(2, 2, redundancy=5)
optimizer = torch.optim.Adam(register.parameters(), lr=1e-2)
for _ in range(1000):
    x = torch.randint(-9, 10, (128, 2)).float()
    x[::4, 1] = x[::4, 0]  # equal pairs are rare among random ones
    holds = (x[:, :1] <= x[:, 1:]).float()
    loss = (register(x) - torch.cat([holds, 1 - holds], 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

decision = nalm.read_logic(register, names=["a", "b"])
print(decision.outputs[0])
print(decision.disagreement(torch.randint(-999, 1000, (10_000, 2)).float()))

# 5. A unit inside a network
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(6, 2), nalm.NMU(2, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
guide = nalm.guide(network, optimizer, steps=2000)
mixing = torch.randn(2, 6)
for _ in range(2000):
    true = 1 + 2 * torch.rand(128, 2)
    loss = (network(true @ mixing) - true.prod(1, keepdim=True)).square().mean() + guide.penalty()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(nalm.read(network[1], names=["first", "second"], within=0.01))

# 6. A table
rng = np.random.default_rng(0)
table = rng.uniform(1, 5, (50, 3))
solution = nalm.solve(table, table[:, 0] * table[:, 1] / table[:, 2] ** 2, names=["m", "M", "r"])
print(solution.expression, solution.exact)
