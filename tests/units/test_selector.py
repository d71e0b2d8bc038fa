"""The recurrent input selector: straight-through arithmetic on hand-computed values, learning and reading."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import nalm
from nalm.core.uniforms import supplied
from nalm.core.unit import Unit
from nalm.units.composition import CompositionRealNPU, MixedNAURealNPU
from nalm.units.selector import FrozenSelector, INALUSelector, NMUSelector, NPUSelector
from nalm.units.straight_through import first_largest, hard_gumbel_softmax, hard_sigmoid, hard_softmax

LOG3 = math.log(3.0)
SELECTORS = [FrozenSelector, INALUSelector, NMUSelector, NPUSelector]


def uniform_for(gumbel: float) -> float:
    """The uniform that gives this Gumbel variate: exp(-exp(-g))."""
    return math.exp(-math.exp(-gumbel))


def test_the_first_of_equal_logits_wins() -> None:
    x = torch.tensor([[0.0, 0.0, 0.0], [-1.0, 2.0, 2.0], [3.0, 1.0, 2.0]])
    assert first_largest(x).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("temperature", [1.0, 10.0])
def test_softmax_is_hard_forwards_and_soft_backwards(temperature: float) -> None:
    logits = torch.tensor([0.0, temperature * LOG3], dtype=torch.float64, requires_grad=True)  # softmax (1/4, 3/4)
    modules = torch.tensor([2.0, 5.0], dtype=torch.float64)
    chosen = hard_softmax(logits, temperature)
    assert chosen.tolist() == [0, 1]
    (chosen @ modules).backward()
    # p_i (m_i - mean of m under p) / temperature, with mean 0.25 * 2 + 0.75 * 5 = 4.25
    expected = torch.tensor([0.25 * -2.25, 0.75 * 0.75], dtype=torch.float64) / temperature
    torch.testing.assert_close(logits.grad, expected)


def test_gumbel_softmax_draws_and_damps() -> None:
    logits = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    uniform = torch.tensor([uniform_for(0.0), uniform_for(1.0 + 10 * LOG3)], dtype=torch.float64)
    chosen = hard_gumbel_softmax(logits, uniform, temperature=10.0)
    assert chosen.tolist() == [0, 1]  # although the first is more likely
    (chosen @ torch.tensor([2.0, 5.0], dtype=torch.float64)).backward()
    # (logits + gumbel) / 10 = (0.1, 0.1 + log 3), so p = (1/4, 3/4) again
    torch.testing.assert_close(logits.grad, torch.tensor([-0.05625, 0.05625], dtype=torch.float64))


def test_gumbel_softmax_is_finite_for_every_uniform() -> None:
    uniform = torch.tensor([0.0, 1 - 2.0**-24])
    assert bool(torch.isfinite(hard_gumbel_softmax(torch.zeros(2), uniform, 10.0)).all())


def test_the_gate_is_hard_above_one_half() -> None:
    logit = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    gate = hard_sigmoid(logit)
    assert gate.tolist() == [0, 0, 1]
    gate.sum().backward()
    torch.testing.assert_close(logit.grad, torch.sigmoid(logit.detach()) * (1 - torch.sigmoid(logit.detach())))


class Fixed(NMUSelector):
    """A selector with one step whose modules write 2, 5 and 9."""

    def candidates(self, x: Tensor, step: int) -> Tensor:
        return torch.tensor([2.0, 5.0, 9.0], dtype=x.dtype).reshape(3, 1, 1).expand(3, 1, x.shape[-1])


@pytest.mark.parametrize("certain", [-1.0, 1.0])
def test_selection_follows_the_published_algorithm(certain: float) -> None:
    unit = Fixed(1, 1, steps=1).double()
    with torch.no_grad():
        unit.choice_hat.copy_(torch.tensor([[0.0, 10 * LOG3, 0.0]]))  # softmax(w / 10) = (1, 3, 1) / 5
        unit.certain_hat.fill_(certain)
    gumbel = (10 * LOG3, 0.0, 20 * LOG3)  # (w + g) / 10 = log (3, 3, 9), so the third is drawn
    noise = torch.tensor([[uniform_for(g) for g in gumbel]], dtype=torch.float64)
    with supplied(lambda shape: noise.reshape(shape)):
        output = unit.compute(torch.ones(1, 1, dtype=torch.float64))
    likely, drawn, p = 5.0, 9.0, 1 / (1 + math.exp(-certain))
    assert float(output.detach()) == (likely if certain > 0 else drawn)
    output.sum().backward()
    gate = unit.certain_hat.grad
    assert gate is not None
    assert float(gate) == pytest.approx(p * (1 - p) * (likely - drawn))
    # the choice is taught by both mixtures, hard and soft: p m_i' of the likely and 1 - p of the drawn one
    modules = torch.tensor([2.0, 5.0, 9.0], dtype=torch.float64)
    softs = [torch.tensor(row, dtype=torch.float64) / 5 for row in ([1.0, 3.0, 1.0], [1.0, 1.0, 3.0])]
    slopes = [soft * (modules - soft @ modules) / 10 for soft in softs]
    hard = 1.0 if certain > 0 else 0.0
    torch.testing.assert_close(unit.choice_hat.grad[0], (hard + p) * slopes[0] + (2 - hard - p) * slopes[1])


@pytest.mark.parametrize("cls", SELECTORS, ids=lambda cls: cls.__name__)
def test_inference_is_deterministic_and_every_parameter_learns_in_the_end(cls: type[Unit]) -> None:
    torch.manual_seed(0)
    unit = cls(3, 1, seed=1)
    x = 1 + torch.rand(64, 3)
    assert torch.equal(unit.eval()(x), unit(x))
    unit.train()
    outputs = set()
    for _ in range(60):  # a module that is not drawn has no gradient
        y = unit(x)
        outputs.add(float(y[0, 0].detach()))
        (y * torch.randn_like(y)).sum().backward()
    assert len(outputs) > 1
    for name, parameter in unit.named_parameters():
        assert parameter.grad is not None
        assert float(parameter.grad.abs().sum()) > 0, name


def frozen(step_1: str, step_2: str, masks: tuple[str, str]) -> FrozenSelector:
    """A selector that was trained: each mask gives an operation (first letter) to a, b, c, d and the two lines."""
    unit = FrozenSelector(4, 1)
    letters = "asmd"
    with torch.no_grad():
        for step, (name, mask) in enumerate(zip((step_1, step_2), masks, strict=True)):
            unit.choice_hat[step, letters.index(name[0])] = 5.0
            for i, letter in enumerate(mask):
                unit.mask_hat[step, 0, i, letters.index(letter)] = 5.0
    return unit.eval()


def test_a_trained_selector_reads_as_the_thesis_shows_it() -> None:
    unit = frozen("div", "add", ("ddmmmm", "mmaaam"))  # 1 / (a b), then it + c + d
    working = unit.working("abcd")
    assert str(working) == "1. div: 1/(a*b)\n2. add: c + d + 1/(a*b)   (uses line 1)"
    assert [line.accessed for line in working.lines] == [(), (1,)]
    formula = nalm.read(unit, "abcd")
    assert str(formula) == "c + d + 1/(a*b)"
    assert formula.exact
    x = torch.tensor([[2.0, 4.0, 1.0, 3.0]])
    assert unit(x).item() == pytest.approx(1 / 8 + 4)


def test_an_unwritten_line_holds_one_and_is_not_called_accessed() -> None:
    unit = frozen("mul", "sub", ("dddddd", "sssmms"))  # nothing to multiply: 1; then -(a + b + c + line 2)
    working = unit.working("abcd")
    assert [str(line.expressions[0]) for line in working.lines] == ["1", "-a - b - c - 1"]
    assert working.lines[1].accessed == ()


def test_learned_modules_serve_every_step() -> None:
    unit = NMUSelector(3, 1).eval()
    with torch.no_grad():
        unit.choice_hat.copy_(torch.tensor([[9.0, 0, 0], [0, 0, 9.0]]))  # a sum first, then a product
        unit.bodies[0]._parameters["W"].copy_(torch.tensor([[1.0, -1.0, 0, 0, 0]]))
        unit.bodies[2]._parameters["W"].copy_(torch.tensor([[0.0, 0, 1.0, 1.0, 0]]))
    assert str(unit.working("abc")) == "1. NAU: a - b\n2. NMU: c*(a - b)   (uses line 1)"
    assert unit(torch.tensor([5.0, 3.0, 4.0])).item() == 8


def test_a_selector_of_more_steps_reaches_back() -> None:
    unit = FrozenSelector(2, 1, steps=3).eval()
    assert unit.mask.shape == (3, 1, 5, 4)
    assert str(unit.working(["a", "b"]).lines[2].accessed) == "(1, 2)"
    with pytest.raises(ValueError, match="steps is 0"):
        FrozenSelector(2, 1, steps=0)
    with pytest.raises(ValueError, match="2 inputs, but 1 names"):
        unit.working(["a"])


def test_gates_of_the_real_npu_are_pulled_apart_from_its_weights() -> None:
    unit = CompositionRealNPU(2, 1)
    with torch.no_grad():
        unit.W.copy_(torch.tensor([[0.75, -0.5]]))
    assert unit.penalties()["to_grid"].item() == pytest.approx((0.25 + 0.5) / 2)
    assert unit.penalties()["gates_to_grid"].item() == 0.5
    assert set(MixedNAURealNPU(2, 1).penalties()) == {"to_grid", "gates_to_grid"}


@pytest.mark.parametrize("cls", SELECTORS, ids=lambda cls: cls.__name__)
def test_each_selector_learns_a_sum(cls: type[Unit]) -> None:
    """A quick case: with the choice made, gradient descent lowers the error of -(a + b)."""
    torch.manual_seed(1)
    unit = cls(2, 1, seed=2, steps=1)  # type: ignore[call-arg]
    optimiser = torch.optim.Adam(unit.parameters(), 0.02)
    x = 1 + torch.rand(128, 2)
    target = -x.sum(-1, keepdim=True)
    first = (unit.eval()(x) - target).square().mean().item()
    unit.train()
    for _ in range(300):
        loss = (unit(x) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        unit.project_()
    assert (unit.eval()(x) - target).square().mean().item() < 0.2 * first
