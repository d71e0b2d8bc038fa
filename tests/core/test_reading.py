"""Reading: one expression object, exact where weights lie on their grid, honest where they do not."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import sympy
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

import nalm
from tests.units.by_hand import put

a, b, c = sympy.symbols("a b c", real=True)


def product_of_sums() -> nalm.Chain:
    """(a + b) c, with weights of the NAU a little off."""
    return nalm.Chain(put(nalm.NAU(3, 2), W=[[1, 1, 0], [0, 0, 1]]), put(nalm.NMU(2, 1), W=[1, 1]))


def test_signs_that_cancel_are_not_shown() -> None:
    negated = nalm.Chain(put(nalm.NAU(3, 2), W=[[-1, -1, 0], [0, 0, -1]]), put(nalm.NMU(2, 1), W=[1, 1]))
    assert str(nalm.read(negated, ["a", "b", "c"])) == "c*(a + b)"
    difference = nalm.Chain(put(nalm.NAU(3, 2), W=[[-1, 1, 0], [0, 0, 1]]), put(nalm.NMU(2, 1), W=[1, 1]))
    assert str(nalm.read(difference, ["a", "b", "c"])) == "c*(-a + b)"


def test_everything_about_one_expression() -> None:
    expression = nalm.read(product_of_sums(), ["a", "b", "c"])
    assert expression.sympy == (a + b) * c
    assert expression.exact
    assert expression.symbols == (a, b, c)
    assert str(expression) == "c*(a + b)"
    assert expression.latex() == r"c \left(a + b\right)"
    assert expression._repr_latex_().startswith("$")
    assert expression.complexity == 5  # product, c, sum, a, b
    x = torch.randn(4, 5, 3, dtype=torch.float64)
    expected = (x[..., :1] + x[..., 1:2]) * x[..., 2:]
    np.testing.assert_allclose(expression.numpy()(x.numpy()), expected.numpy(), rtol=1e-12)
    torch.testing.assert_close(expression.torch()(x), expected)
    assert expression.residual(x) < 1e-12


def test_the_torch_function_is_differentiable() -> None:
    call = nalm.read(product_of_sums()).torch()
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    call(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[3.0, 3.0, 3.0]]


@pytest.mark.parametrize("layer", [nalm.baselines.ReLU, nalm.baselines.ReLU6, nalm.baselines.PReLU])
def test_rectifiers_are_torch_functions_too(layer: type[nalm.Unit]) -> None:
    unit = layer(3, 2, seed=0)
    x = 9 * torch.randn(50, 3)
    torch.testing.assert_close(nalm.read(unit).torch()(x), unit(x).detach())


def test_an_expression_can_be_stored_with_its_model() -> None:
    expression = nalm.read(product_of_sums())
    revived = pickle.loads(pickle.dumps(expression))
    assert revived == expression
    assert revived.residual(torch.ones(1, 3)) == 0


def test_a_sequential_with_a_forward_of_its_own_is_not_read_as_its_layers() -> None:
    class Doubled(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = 2 * super().forward(x)
            return result

    with pytest.raises(TypeError, match="Doubled is not an arithmetic unit"):
        nalm.read(Doubled(nalm.NAU(2, 1)))


def test_several_outputs_and_constant_ones() -> None:
    unit = put(nalm.NMU(2, 3), W=[[1, 1], [0, 1], [0, 0]])
    expression = nalm.read(unit, ["a", "b"])
    assert expression.sympy == (a * b, b, 1)
    assert str(expression) == "a*b, b, 1"
    assert expression.latex() == r"a b \\ b \\ 1"
    x = torch.rand(6, 2)
    assert expression.numpy()(x.numpy()).shape == (6, 3)
    assert nalm.read(put(nalm.NMU(2, 1), W=[0, 0])).numpy()(x.numpy()).dtype == np.float64  # also of a whole number
    assert expression.torch()(x).shape == (6, 3)
    assert expression.residual(x) < 1e-6


def test_weights_between_grid_values_keep_their_decimals() -> None:
    unit = put(nalm.NAU(2, 1), W=[0.75, 1.0])
    expression = nalm.read(unit, ["a", "b"])
    assert not expression.exact
    assert expression.sympy == 0.75 * a + b
    near = put(nalm.NAU(2, 1), W=[1e-6, 1 - 1e-6])
    assert nalm.read(near, ["a", "b"]).sympy == b
    assert nalm.read(near, ["a", "b"]).residual(torch.tensor([[5.0, 5.0]])) == pytest.approx(0, abs=1e-5)
    assert not nalm.read(near, ["a", "b"], within=1e-9).exact
    assert not nalm.read(put(nalm.NAU(2, 1), W=[1e-4, 1.0])).exact  # ten times what counts as solved


def test_the_residual_tells_what_rounding_costs() -> None:
    unit = put(nalm.NAU(2, 1), W=[0.9, 1.0])
    expression = nalm.read(unit, ["a", "b"], within=0.2)
    assert expression.sympy == a + b
    assert expression.exact
    assert expression.residual([[10.0, 0.0]]) == pytest.approx(1.0)


def test_fractions_on_the_grid_are_exact() -> None:
    halves = replace(nalm.ProductUnit.W, grid=(-0.5, 0, 0.5, 1))
    unit = put(nalm.ProductUnit(2, 1, weights={"W": halves}), W=[0.5, 1])
    expression = nalm.read(unit, ["a", "b"])
    assert expression.exact
    assert not expression.sympy.atoms(sympy.Float)
    assert expression.residual(torch.rand(5, 2)) < 1e-6
    third = replace(nalm.NAU.W, grid=(0, 1 / 3, 1))
    assert nalm.read(put(nalm.NAU(1, 1, weights={"W": third}), W=[1 / 3]), ["a"]).sympy == a / 3


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (nn.Sequential(put(nalm.NAU(2, 1), W=[1, -1]), put(nalm.NMU(1, 1), W=[1])), a - b),
        (put(nalm.MulNACLinear(2, 1), W=[1, 1]), sympy.Abs(a) * sympy.Abs(b)),
        (put(nalm.RealNPU(2, 1), W=[1, -1], g=[1, 1]), a / b),
        (put(nalm.NRU(2, 1), W=[1, -1]), a / b),
        (put(nalm.NMRU(2, 1), W=[1, 0, 0, 1]), a / b),
        (put(nalm.IMNAC(2, 1), W_hat=[-40, 40], W_gate=[40, 40]), b / a),
        (put(nalm.ProductUnit(2, 1), W=[2, -1]), a**2 / b),
        (nalm.Fold(put(nalm.NMU(2, 1), W=[1, 1]), start=1.0), a * b),
        (nalm.Fold(put(nalm.NAU(2, 1), W=[1, 1]), start=2.5), a + b + 2.5),
        (put(nalm.NLRL(2, 1), n_hat=[-40, -40], A=[1, 1], s_hat=[40]), 1 - (1 - a) * (1 - b)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_units_and_stacks_read_as_their_arithmetic(model: nn.Module, expected: sympy.Expr) -> None:
    expression = nalm.read(model.double(), ["a", "b"])
    assert sympy.simplify(expression.sympy - expected) == 0
    x = torch.tensor([[1.5, -2.0], [-0.5, -3.0], [2.0, 4.0]], dtype=torch.float64)
    assert expression.residual(x) < 1e-5


def test_gates_that_have_settled_disappear() -> None:
    gated = nalm.Gated(put(nalm.NAU(2, 1), W=[1, 1]), put(nalm.NMU(2, 1), W=[1, 1]))
    put(gated, g_hat=[-40])
    assert nalm.read(gated, ["a", "b"]).sympy == a * b
    put(gated, g_hat=[40])
    assert nalm.read(gated, ["a", "b"]).sympy == a + b


def test_a_fold_shows_every_state() -> None:
    fold = nalm.Fold(put(nalm.NAU(2, 1), W=[1, 1]), every_step=True)
    assert nalm.read(fold, ["a", "b", "c"]).outputs == (a, a + b, a + b + c)
    assert fold.double()(torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)).tolist() == [[1.0, 3.0, 6.0]]


def test_reading_changes_nothing_and_needs_no_forward_pass() -> None:
    unit = nalm.SNMU(2, 1, seed=0).train()
    before = {name: value.clone() for name, value in unit.state_dict().items()}
    expression = nalm.read(unit)
    assert expression.symbols == tuple(sympy.symbols("x0 x1", real=True))
    assert expression.residual(torch.rand(5, 2)) < 1e-6  # compared in eval mode, without noise
    assert unit.training
    for name, value in unit.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_part_that_stands_in_another_mode_stays_in_it() -> None:
    model = nn.Sequential(nalm.SNMU(2, 2).train(), nalm.SNMU(2, 1).eval())
    assert nalm.read(model).residual(torch.rand(5, 2)) < 1e-5
    assert [module.training for module in model.modules()] == [True, True, False]


def test_a_misspelt_name_of_the_library_has_what_python_needs_to_suggest_another() -> None:
    with pytest.raises(AttributeError, match="module 'nalm' has no attribute 'Nmu'") as raised:
        _ = nalm.Nmu
    assert (raised.value.name, raised.value.obj) == ("Nmu", nalm)


def test_what_cannot_be_read_says_why() -> None:
    with pytest.raises(TypeError, match="Linear is not an arithmetic unit"):
        nalm.read(nn.Linear(2, 1))
    with pytest.raises(ValueError, match="NMU has 2 inputs, but 3 names"):
        nalm.read(nalm.NMU(2, 1), ["a", "b", "c"])
    with pytest.raises(ValueError, match="Names must differ"):
        nalm.read(nalm.NMU(2, 1), ["a", "a"])
    with pytest.raises(ValueError, match="any number of inputs; name them"):
        nalm.read(nalm.Fold(nalm.NMU(2, 1)))
    with pytest.raises(ValueError, match="take one run out"):
        nalm.read(nalm.NMU(2, 1, runs=(3,)))
    with pytest.raises(ValueError, match="nothing to compare"):
        nalm.Expression((a + b,), (a, b)).residual([[1.0, 2.0]])
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"NMU\.W holds NaN or infinity"):
            nalm.read(put(nalm.NMU(2, 1), W=[bad, 1.0]))


def test_a_compiled_model_reads_as_the_model() -> None:
    model = nn.Sequential(nalm.NAU(3, 2, seed=0), nalm.NMU(2, 1, seed=0))
    compiled = torch.compile(model)  # nothing is compiled before a forward pass
    assert str(nalm.read(compiled, within=1.0)) == str(nalm.read(model, within=1.0))
    assert str(nalm.read(nn.Sequential(torch.compile(model[0]), model[1]))) == str(nalm.read(model))


@pytest.mark.parametrize("wrap", [nn.DataParallel, AveragedModel])
def test_what_wraps_a_model_reads_as_the_model(wrap: type[nn.Module]) -> None:
    model = nn.Sequential(nalm.NAU(3, 2, seed=0), nalm.NMU(2, 1, seed=0))
    wrapped = nalm.read(wrap(model))
    assert str(wrapped) == str(nalm.read(model))
    assert wrapped.residual(torch.rand(5, 3)) < 1e-6
