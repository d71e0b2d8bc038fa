"""Bad input: errors name the unit, what it got and what it needs; a zero input never turns into a silent NaN."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune

import nalm
from nalm.bench.find import from_file, nearest
from nalm.core.start import constant, uniform
from nalm.core.weight import LOGISTIC, Weight
from tests.units.by_hand import put
from tests.units.catalogue import CASES, UNITS, Make

every_unit = pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())


@every_unit
def test_wrong_inputs(make: Make) -> None:
    unit = make()
    name = type(unit).__name__
    if unit.in_features:
        with pytest.raises(ValueError, match=rf"{name}\(3, 2\) got inputs of shape \(7, 4\); .* needs 3 features"):
            unit(torch.ones(7, 4))
    with pytest.raises(TypeError, match=rf"{name} got torch.int64 inputs; .*x.float\(\)"):
        unit(torch.ones(7, 3, dtype=torch.int64))
    with pytest.raises(ValueError, match="got inputs of shape"):
        unit(torch.tensor(1.0))
    with pytest.raises(ValueError, match=r"with runs=\(2,\) got inputs of shape \(5, 7, 3\)"):
        make((2,))(torch.ones(5, 7, 3))


@pytest.mark.parametrize("cls", UNITS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("sizes", [(0, 2), (3, 0), (-1, 2), (3, 2.0)], ids=str)
def test_impossible_sizes(cls: type[nalm.Unit], sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"needs a whole number of at least 1|needs an even number"):
        cls(*sizes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": ()}, r"NMU\.W: the grid is empty"),
        ({"box": (1, 0)}, r"NMU\.W: box \(1, 0\) is empty"),
        ({"grid": (0, 1, 2)}, r"NMU\.W: grid values \[2\] lie outside the box"),
        ({"start": (constant(0), constant(1))}, r"NMU\.W: 2 starts for 1 raw parameters"),
        ({"link": LOGISTIC}, r"NMU\.W: its box bounds the value, .* keep='clamp'"),
    ],
)
def test_contradictory_weights(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nalm.NMU(2, 1, weights={"W": replace(nalm.NMU.W, **change)})  # type: ignore[arg-type]


def test_contradictions_in_a_class_body_are_found_when_it_is_defined() -> None:
    with pytest.raises(ValueError, match=r"Wrong\.W: box \(1, -1\) is empty"):
        type("Wrong", (nalm.Unit,), {"W": Weight("out in", start=uniform(0, 1), box=(1, -1))})
    with pytest.raises(TypeError, match="write compute"):
        type("Wrong", (nalm.Unit,), {"forward": lambda _self, x: x})
    with pytest.raises((ValueError, RuntimeError)) as caught:  # Python 3.11 wraps errors of __set_name__
        type("Wrong", (nalm.Unit,), {"V": nalm.NMU.W})
    assert "V is the declaration of W" in str(caught.value.__cause__ or caught.value)
    assert nalm.NMU.W.name == "W"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: nalm.Chain(), "Chain needs at least one unit"),
        (lambda: nalm.Chain(nalm.NAU(2, 3), nalm.NMU(2, 1)), "NAU gives 3 outputs, but NMU takes 2"),
        (lambda: nalm.Chain(nalm.NAU(2, 2, (3,)), nalm.NMU(2, 1)), "different runs axes"),
        (lambda: nalm.Gated(nalm.NAU(2, 1), nalm.NMU(3, 1)), r"same sizes, got \(2, 1\) and \(3, 1\)"),
        (lambda: nalm.Fold(nalm.NMU(3, 1)), r"sizes \(3, 1\); it needs \(2, 1\)"),
        (lambda: nalm.Foreign(lambda: nn.BatchNorm1d(2), 2, 2), "BatchNorm1d has buffers"),
        (lambda: nalm.SNMU(2, 1, noise="fixed"), "noise is 'fixed'"),
        (lambda: nalm.SNMU(2, 1, noise=(5.0, 1.0)), "0 < low < high"),
        (lambda: nalm.NLRL(2, 1, block="xor"), "block is 'xor'"),  # type: ignore[arg-type]
        (lambda: nalm.NSR(2, 3), "out_features is 3; it needs an even number"),
        (lambda: nalm.NMU(2, 1, runs=(3,), seed=[1, 2]), r"seed has the shape \(2,\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_contradictory_constructions(wrong, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        wrong()


def test_a_chain_of_foreign_layers_names_the_adapter() -> None:
    with pytest.raises(TypeError, match=r"Chain got a Linear; wrap foreign layers in nalm\.Foreign"):
        nalm.Chain(nn.Linear(2, 2))  # type: ignore[arg-type]


@pytest.mark.parametrize(("cls", "name"), [(nalm.NMU, "W"), (nalm.NAC, "W_hat")])
def test_a_unit_whose_parameter_was_taken_away_says_who_does_so(cls: type[nalm.Unit], name: str) -> None:
    said = f"{cls.__name__}: its parameter '{name}' was taken away, as torch.nn.utils.parametrize and"
    unit = cls(2, 1)
    with pytest.raises(TypeError, match=said):
        parametrize.register_parametrization(unit, name, nn.Identity())(torch.ones(1, 2))
    pruned = cls(2, 1)
    prune.l1_unstructured(pruned, name, amount=1)
    uses = [pruned.on_grid, pruned.sparsity, pruned.penalty]
    for use in [*uses, pruned.project_] if cls.declared["W"].projection else uses:
        with pytest.raises(TypeError, match=said):
            use()


@pytest.mark.parametrize(
    ("unit", "values", "message"),
    [
        (
            nalm.NMU(2, 1, seed=0),
            {"W": [[1, 2]]},
            r"NMU.W cannot hold \[\[1, 2\]\]; it holds finite numbers from 0 to 1\.",
        ),
        (nalm.NAC(2, 1, seed=0), {"W": [[0, -1.1]]}, r"NAC.W cannot hold .*; it holds finite numbers from -1 to 1\."),
        (nalm.RealNPU(2, 1, seed=0), {"W": [[0, torch.nan]]}, r"RealNPU.W cannot hold .*; it holds finite numbers\."),
        (
            nalm.NSR(2, 2, seed=0),
            {"V1": [[[1.0, 1.0]]]},
            r"NSR.V1 cannot hold .*; each of its rows is a choice: a 1, and",
        ),
        (nalm.NMU(2, 1, seed=0), {"W": [[1, 0, 1]]}, r"NMU.W is given .*; it needs numbers of the shape \(1, 2\)\."),
        (nalm.NMU(2, 1, 3, seed=0), {"W": "much"}, r"NMU.W is given 'much'; it needs numbers of the shape \(1, 2\)\."),
    ],
    ids=str,
)
def test_values_that_a_weight_cannot_have_are_refused_and_change_nothing(
    unit: nalm.Unit, values: dict[str, object], message: str
) -> None:
    before = {name: parameter.clone() for name, parameter in unit.named_parameters()}
    with pytest.raises(ValueError, match=message):
        unit.set_(**values)
    assert all(torch.equal(parameter, before[name]) for name, parameter in unit.named_parameters())


def test_a_weight_that_is_not_there_is_named_beside_those_that_are() -> None:
    with pytest.raises(AttributeError, match=r"RealNPU has no weight 'V'; it has W, g\."):
        nalm.RealNPU(2, 1).value("V")


def test_a_sequence_of_nothing_is_named() -> None:
    with pytest.raises(ValueError, match=r"Fold.* got inputs of shape \(4, 0\); the last axis needs one or more"):
        nalm.Fold(nalm.NMU(2, 1))(torch.ones(4, 0))


def test_a_layer_is_not_a_list() -> None:
    with pytest.raises(IndexError, match=r"NMU has runs=\(\); there is no run 0"):
        nalm.NMU(2, 1)[0]
    with pytest.raises(IndexError):
        nalm.NMU(2, 1, runs=(2,))[2]
    with pytest.raises(TypeError, match="not iterable"):
        list(nalm.NMU(2, 1, runs=(2,)))


# -- zero inputs ----------------------------------------------------------------------------------------------------


@every_unit
def test_zero_inputs_never_give_nan_in_eval_mode(make: Make) -> None:
    one = torch.tensor([[0.0, 1.5, -2.0], [-0.0, 1.0, 1.0], [3.0, -1.0, 0.0]])
    several = torch.tensor([[0.0, 0.0, 3.0], [0.0, -0.0, 0.0]])
    for seed in range(5):
        unit = make(seed=seed).eval()
        assert not bool(unit(one).isnan().any())
        if not isinstance(unit, nalm.ProductUnit):  # 0 to a positive times 0 to a negative power is 0/0
            assert not bool(unit(several).isnan().any())


def divide(unit: nalm.Unit, **weights: list[float]) -> Tensor:
    """a / b for (1, 0), (-1, 0), (0, 2) in eval mode."""
    return put(unit, **weights).eval()(torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]], dtype=torch.float64))[:, 0]


@pytest.mark.parametrize(
    ("unit", "weights"),
    [
        (nalm.NRU(2, 1), {"W": [1.0, -1.0]}),
        (nalm.SeparateSignNRU(2, 1), {"W": [1.0, -1.0]}),
        (nalm.NMRU(2, 1), {"W": [1.0, 0.0, 0.0, 1.0]}),
        (nalm.NMRU(2, 1, gate=True), {"W": [1.0, 0.0, 0.0, 1.0], "g": [1.0, 0.0, 0.0, 1.0]}),
        (nalm.ProductUnit(2, 1), {"W": [1.0, -1.0]}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nalm.Unit) else "",
)
def test_exact_dividers_give_infinity(unit: nalm.Unit, weights: dict[str, list[float]]) -> None:
    quotients = [float("inf"), float("-inf"), 0.0]
    assert divide(unit, **weights).tolist() == quotients
    assert [unit.formula(row)[0] for row in ([1.0, 0.0], [-1.0, 0.0], [0.0, 2.0])] == quotients
    assert bool(unit(torch.zeros(1, 2, dtype=torch.float64)).isnan().all())  # 0/0, as for plain floats


@pytest.mark.parametrize("runs", [(), (2,)], ids=str)
def test_a_zero_that_is_not_divided_by_leaves_the_gradient_below_alone(runs: tuple[int, ...]) -> None:
    unit = nalm.NMRU(3, 1, runs).set_(W=[[0.0, 1.0, 0.0, 0.0, 0.0, 1.0]]).eval()  # b / c
    x = torch.tensor([[0.0, 2.0, 4.0]], requires_grad=True)
    unit(x).mean().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 1 / 4, -2 / 16]]


def test_a_closed_gate_hides_the_reciprocal_of_zero() -> None:
    unit = put(nalm.NMRU(2, 1, gate=True), W=[0.0, 1.0, 0.5, 0.0], g=[1.0, 1.0, 0.0, 1.0]).eval()
    assert unit(torch.tensor([[0.0, 3.0]], dtype=torch.float64)).item() == 1.5  # 3 times the half that is left open


def test_a_term_that_is_left_out_stays_out_where_its_divisor_vanishes() -> None:
    layer = nalm.FormulaLayer(2, 1, terms=2, factors=1)
    put(layer, W=[1.0, 0.0, 0.0, 1.0], P=[1.0, -1.0], c=[1.0, 0.0], e=[1.0]).eval()  # a + 0 / b
    assert layer(torch.tensor([[3.0, 0.0]], dtype=torch.float64)).item() == 3.0
    assert layer.formula([3.0, 0.0]) == [3.0]


@pytest.mark.parametrize(
    ("unit", "weights", "epsilon"),
    [
        (nalm.MulNAC(2, 1), {"W_hat": [40.0, -40.0], "W_gate": [40.0, 40.0]}, 1e-7),
        (nalm.IMNAC(2, 1), {"W_hat": [40.0, -40.0], "W_gate": [40.0, 40.0]}, 1e-7),
        (nalm.RealNPU(2, 1), {"W": [1.0, -1.0], "g": [1.0, 1.0]}, 1.1920929e-7),
        (nalm.NPU(2, 1), {"W": [1.0, -1.0], "W_im": [0.0, 0.0], "g": [1.0, 1.0]}, 1.1920929e-7),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nalm.Unit) else "",
)
def test_guarded_dividers_take_zero_for_their_epsilon(
    unit: nalm.Unit, weights: dict[str, list[float]], epsilon: float
) -> None:
    quotient = divide(unit, **weights).abs()
    expected = 0.0 if isinstance(unit, nalm.IMNAC) else 1 / epsilon  # iNALU's sign of 0 is 0
    assert quotient[0].item() == pytest.approx(expected, rel=1e-4)
    assert quotient[2].item() == pytest.approx(0.0, abs=1e-6)


def test_names_are_suggested() -> None:
    assert nearest("nmu2", ["NAU", "NMU"]) == "Did you mean NMU?"
    assert nearest("zebra", ["NAU", "NMU"]) == "Valid names: NAU, NMU."


def test_classes_from_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    pass\n")
    assert from_file(f"{file}:Mine").__name__ == "Mine"
    with pytest.raises(ValueError, match="Did you mean Mine"):
        from_file(f"{file}:Mini")
    with pytest.raises(ValueError, match="there is no file"):
        from_file(f"{tmp_path}/absent.py:Mine")


def test_a_distance_to_the_grid_is_not_negative() -> None:
    with pytest.raises(ValueError, match=r"within is -1\.0; it needs a distance of at least 0"):
        nalm.NMU(2, 1).snapped(-1.0)


def test_weights_at_the_very_distance_are_moved_to_the_grid() -> None:
    unit = nalm.NMU(2, 1)
    with torch.no_grad():
        unit.W.copy_(torch.tensor([[0.875, 0.75]]))
    assert unit.snapped(within=0.125).W.tolist() == [[1.0, 0.75]]
