"""What every unit must do, run over all of them: a new unit needs no test of its own to be held to these."""

from __future__ import annotations

import copy
import doctest
import inspect
import io
import pickle
import re

import pytest
import sympy
import torch
from torch import Tensor

import nalm
from nalm.bench.find import subclasses
from nalm.core.uniforms import Stream, uniforms
from nalm.units.straight_through import HARD_GATE, HARD_MODULE, HARD_SOFTMAX
from tests.units.catalogue import BASES, CASES, CONTAINERS, UNITS, Make, inputs

HARD = (HARD_GATE, HARD_MODULE, HARD_SOFTMAX)
RUNS = [(), (5,), (2, 3)]
every_unit = pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())


def assert_close(got: Tensor, expected: Tensor, tolerance: float) -> None:
    """Largest difference, relative to the largest number in sight."""
    scale = max(float(expected.detach().abs().max()), 1.0)
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance * scale)


def has_grid(unit: nalm.Unit) -> bool:
    """Every weight has values it should end on, so a snapped unit can be read exactly."""
    return all(weight.grid for inner in unit.units() for weight in inner.weights.values())


def chooses(unit: nalm.Unit) -> bool:
    """Choices are hard in the forward pass: what was not chosen has no gradient (see tests/units/test_selector.py)."""
    return any(weight.link in HARD for inner in unit.units() for weight in inner.weights.values())


def readable(unit: nalm.Unit) -> bool:
    return not any(isinstance(inner, nalm.Foreign) for inner in unit.units())


def test_every_unit_is_in_the_catalogue() -> None:
    # The heads of the image studies are units, too, and are tested beside the images: whether they are imported here
    # depends on which tests share this process.
    rooms = ("nalm.core.", "nalm.units.", "nalm.training.")
    found = {cls for cls in subclasses(nalm.Unit) if cls.__module__.startswith(rooms)}
    found = {cls for cls in found if not cls.__name__.startswith("_")}
    listed = {cls for cls in (*UNITS, *CONTAINERS, *BASES) if not cls.__name__.startswith("_")}
    assert found == listed
    assert len(UNITS) >= 25


@every_unit
@pytest.mark.parametrize("runs", RUNS, ids=str)
def test_shapes(make: Make, runs: tuple[int, ...]) -> None:
    unit = make(runs)
    assert unit(inputs(7)).shape == (*runs, 7, 2)
    assert unit(inputs(*runs, 7)).shape == (*runs, 7, 2)
    assert unit(inputs(*runs, 4, 7)).shape == (*runs, 4, 7, 2)
    assert unit(inputs()).shape == (*runs, 2)
    assert unit.penalty().shape == runs
    assert unit.sparsity().shape == runs


@every_unit
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)], ids=str)
def test_a_cohort_is_a_stack_of_single_units(make: Make, dtype: torch.dtype, tolerance: float) -> None:
    seeds = torch.arange(6).reshape(2, 3)
    cohort = make((2, 3), seed=seeds).to(dtype).eval()
    x = inputs(2, 3, 7, dtype=dtype)
    together, penalties = cohort(x), cohort.penalty()
    for i in range(2):
        for j in range(3):
            alone = make(seed=int(seeds[i, j])).to(dtype).eval()
            taken = cohort[i, j]
            for name, parameter in alone.named_parameters():
                assert torch.equal(parameter, dict(taken.named_parameters())[name])
            assert taken.runs == ()
            assert_close(taken(x[i, j]), alone(x[i, j]), 0.0)
            assert_close(together[i, j], alone(x[i, j]), tolerance)
            assert_close(penalties[i, j], alone.penalty(), tolerance)


@every_unit
def test_a_row_of_a_cohort_is_a_cohort(make: Make) -> None:
    cohort = make((2, 3)).eval()
    row = cohort[1]
    assert row.runs == (3,)
    assert all(p.requires_grad for p in row.parameters())
    assert not any(p.requires_grad for p in make((2,)).requires_grad_(False)[0].parameters())
    x = inputs(7)
    assert_close(row(x), cohort(x)[1], 1e-6)


@every_unit
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_gradient_reaches_every_parameter_and_the_input(make: Make, training: bool) -> None:
    unit = make((2,), seed=3).double().train(training)
    x = inputs(64, dtype=torch.float64).requires_grad_()
    y = unit(x)
    (y * torch.randn_like(y)).sum().backward()
    for name, parameter in unit.named_parameters():
        if chooses(unit) and parameter.grad is None:
            continue
        assert parameter.grad is not None, name
        assert bool(torch.isfinite(parameter.grad).all()), name
        if not chooses(unit):
            assert bool((parameter.grad.abs().amax(tuple(range(1, parameter.dim()))) > 0).all()), name
    assert x.grad is not None
    assert bool(x.grad.any())


@every_unit
@pytest.mark.parametrize("state", ["begun", "trained", "snapped"])
def test_formula_on_numbers_equals_forward(make: Make, state: str) -> None:
    unit = make(seed=1).double().eval()
    if state == "trained":  # a weight that begins at 0 or 1 could stand anywhere in a formula
        with torch.no_grad():
            for number, parameter in enumerate(unit.parameters()):
                parameter.add_(0.2 * uniforms(5, Stream.NOISE, number, parameter.shape) - 0.1)
        unit.project_()
    unit = unit.snapped() if state == "snapped" else unit
    x = inputs(8, dtype=torch.float64)
    assert bool((x < 0).any())
    if not readable(unit):
        with pytest.raises(TypeError, match="no formula"):
            unit.formula(x[0].tolist())
        return
    by_formula = torch.tensor([[float(v) for v in unit.formula(row)] for row in x.tolist()], dtype=torch.float64)
    assert_close(unit(x), by_formula, 1e-12)


@every_unit
def test_penalty_and_sparsity_vanish_on_the_grid_only(make: Make) -> None:
    unit = make((3,), seed=1)
    snapped = unit.snapped()
    pulled = "to_grid" in unit.penalties()
    counted = any(w.counts and w.grid for inner in unit.units() for w in inner.weights.values())
    assert bool((snapped.penalty().abs() < 1e-15).all())
    assert bool((snapped.sparsity() < 1e-15).all())
    assert bool((unit.penalty() > 0).all()) is pulled
    assert bool((unit.sparsity() > 0).all()) is counted


@every_unit
def test_projection_lands_in_the_box_and_is_idempotent(make: Make) -> None:
    unit = make((3,))
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.add_(5 * torch.randn_like(parameter))
    before = copy.deepcopy(unit.state_dict())
    after = copy.deepcopy(unit.project_().state_dict())
    boxes = dict(unit.boxes())
    for name, value in after.items():
        if name in boxes:
            low, high = boxes[name]
            assert bool(((low <= value) & (value <= high)).all())
            assert not torch.equal(value, before[name])
        else:
            assert torch.equal(value, before[name])
    for name, value in unit.project_().state_dict().items():
        assert torch.equal(value, after[name])


@every_unit
def test_reading(make: Make) -> None:
    unit = make(seed=2).double()
    if not readable(unit):
        with pytest.raises(TypeError, match="no formula"):
            nalm.read(unit)
        return
    between, snapped = nalm.read(unit, ["a", "b", "c"]), nalm.read(unit.snapped(), ["a", "b", "c"])
    assert between.exact is unit.on_grid()
    assert snapped.exact is has_grid(unit)
    if snapped.exact:
        assert not any(output.atoms(sympy.Float) for output in snapped.outputs)
    assert unit.training  # reading leaves the mode alone
    x = inputs(16, dtype=torch.float64)
    scale = float(snapped.model(x).abs().max().detach())  # type: ignore[misc]
    assert snapped.residual(x) < 1e-5 * max(scale, 1)  # epsilons are not part of the reading


@every_unit
@pytest.mark.parametrize("runs", [(), (2,)], ids=str)
def test_weights_that_are_set_are_what_the_forward_pass_uses(make: Make, runs: tuple[int, ...]) -> None:
    whole = make(runs, seed=0)
    for unit in whole.units():
        for name, weight in unit.weights.items():
            now = unit.value(name)
            low, high = weight.box or (min(weight.grid or (-2,)), max(weight.grid or (2,)))
            between = low + (high - low) * uniforms(9, Stream.NOISE, 0, now.shape)
            wanted = weight.nearest(between) if weight.link.simplex or weight.link in HARD else between
            assert unit.set_(**{name: wanted.tolist()}) is unit
            assert_close(unit.value(name), wanted, 1e-6)
            if weight.grid:
                assert bool(weight.on_grid(unit.set_(**{name: weight.nearest(now)}).value(name)).all())


@every_unit
def test_copies(make: Make) -> None:
    unit = make((2,)).eval()
    x = inputs(5)
    expected = unit(x)
    assert torch.equal(copy.deepcopy(unit)(x), expected)
    revived = pickle.loads(pickle.dumps(unit))
    assert torch.equal(revived(x), expected)
    assert torch.equal(revived.penalty(), unit.penalty())
    file = io.BytesIO()
    torch.save(unit.state_dict(), file)
    file.seek(0)
    other = make((2,)).eval()
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(x), expected)


@every_unit
def test_functional_call(make: Make) -> None:
    unit, other = make(seed=1).eval(), make(seed=2).eval()
    x = inputs(5)
    result = torch.func.functional_call(unit, dict(other.named_parameters()), (x,))
    assert torch.equal(result, other(x))


@every_unit
def test_precision_and_modes(make: Make) -> None:
    unit = make().double()
    assert unit(inputs(5, dtype=torch.float64)).dtype == torch.float64
    assert unit.penalty().dtype == torch.float64
    unit.eval()
    x = inputs(5, dtype=torch.float64)
    before = x.clone()
    assert torch.equal(unit(x), unit(x))  # eval mode has no noise
    unit.train()(x)
    assert torch.equal(x, before)  # and training never changes the caller's tensor


@every_unit
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_compiles_in_one_graph(make: Make, training: bool) -> None:
    torch._dynamo.reset()
    unit = make((2,)).train(training)
    compiled = torch.compile(unit, fullgraph=True, backend="eager")
    x = inputs(5)
    torch.manual_seed(1)
    expected = unit(x)
    torch.manual_seed(1)
    assert_close(compiled(x), expected, 1e-6)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("name", ["NMU", "NMRU", "Chain"])
def test_compiles_to_machine_code(name: str) -> None:
    torch._dynamo.reset()
    unit = CASES[name]().eval()
    x = inputs(5)
    compiled = torch.compile(unit, fullgraph=True)
    assert_close(compiled(x), unit(x), 1e-6)


@every_unit
def test_exports(make: Make) -> None:
    unit = make().eval()
    x = inputs(5)
    exported = torch.export.export(unit, (x,), dynamic_shapes=({0: torch.export.Dim("samples")},))
    longer = inputs(9)
    assert_close(exported.module()(longer), unit(longer), 1e-6)


@pytest.mark.parametrize("cls", UNITS, ids=lambda cls: cls.__name__)
def test_documentation(cls: type[nalm.Unit]) -> None:
    text = inspect.getdoc(cls) or ""
    headings = re.findall(r"^(Formula|Reads as|Trained as|Paper):", text, re.M)
    assert headings == ["Formula", "Reads as", "Trained as", "Paper"]
    assert cls.paper
    assert cls.operations
    examples = doctest.DocTestFinder(recurse=False).find(cls, globs={cls.__name__: cls})
    runner = doctest.DocTestRunner()
    results = [runner.run(example) for example in examples]
    assert sum(r.attempted for r in results) >= 2
    assert not any(r.failed for r in results)
