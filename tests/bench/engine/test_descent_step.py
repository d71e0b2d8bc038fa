"""The one training step: its parts against PyTorch's own, its cohorts against single runs, its two engines."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from nalm.bench.engine.cohort import Cohort
from nalm.bench.engine.descent import choose
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.losses import mape, mse, pcc
from nalm.bench.engine.options import Options
from nalm.bench.engine.train import groups, train
from nalm.bench.method import Descent
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.table import Rows, Table
from nalm.core import semantics
from nalm.core.recipe import SGD, Adam, Clip, Constant, Late, Ramp, Recipe, Restart, Switch
from nalm.units import catalogue
from tests.bench.curves import same_curve

torch.set_num_threads(1)


def run(unit="NMU", operation="mul", label="U[1,2)", seed=0, recipe=None, inputs=2, every=100, **options):
    task = SingleModule(*RANGES[label], name=operation, inputs=inputs)
    recipe = recipe or catalogue()[unit].recipe.scaled(120)
    return Run(single(unit, inputs, **options), task, Descent(recipe), seed, every)


def weights(row):
    return np.concatenate([np.ravel(v) for v in row["weights"].values()])


def results(runs, engine):
    return {row["id"]: row for row in train(runs, options=Options(engine=engine, threads=1))}


@pytest.mark.parametrize(("ours", "theirs"), [(Adam(0.01), torch.optim.Adam), (SGD(0.1), torch.optim.SGD)])
def test_optimisers_equal_pytorch(ours, theirs):
    value = torch.randn(3, 2, dtype=torch.float64)
    parameter = torch.nn.Parameter(value.clone())
    reference = theirs([parameter], lr=ours.rate)
    assert type(ours.in_torch([parameter])) is theirs
    slots = {name: torch.from_numpy(start) for name, start in ours.start(value.numpy()).items()}
    for step in range(20):
        gradient = torch.randn_like(value)
        parameter.grad = gradient
        reference.step()
        now = {k: torch.tensor(v, dtype=torch.float64) for k, v in ours.clock(np.asarray(step)).items()}
        value, slots = ours.update(value, slots, gradient, torch.tensor(ours.rate, dtype=torch.float64), now)
    torch.testing.assert_close(value, parameter.detach(), rtol=1e-9, atol=1e-9)


def test_losses_per_run_against_definitions():
    y, t = torch.rand(4, 1, 50, dtype=torch.float64), torch.rand(4, 1, 50, dtype=torch.float64) + 0.5
    assert mse(y, t).shape == (4,)
    torch.testing.assert_close(mse(y, t)[2], torch.nn.functional.mse_loss(y[2], t[2]))
    correlation = torch.corrcoef(torch.stack([y[1, 0], t[1, 0]]))[0, 1]
    torch.testing.assert_close(pcc(y, t)[1], 1 - correlation, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(mape(y, t)[3], ((t[3] - y[3]) / t[3]).abs().mean())


def test_clipping_is_per_run_and_equals_pytorch():
    gradients = {"W": torch.tensor([[[3.0, 4.0]], [[0.1, 0.2]], [[-0.4, 0.1]]])}
    clipped = semantics.clipped(gradients, Clip(norm=0.5, value=0.3), runs=1)["W"]
    for index in range(3):
        parameter = torch.nn.Parameter(torch.zeros(1, 2))
        parameter.grad = gradients["W"][index].clone()
        torch.nn.utils.clip_grad_norm_([parameter], 0.5)
        torch.nn.utils.clip_grad_value_([parameter], 0.3)
        torch.testing.assert_close(clipped[index], parameter.grad)


CASES = [
    ("NMU", "mul", 2, {}),
    ("NAU", "sub", 10, {}),
    ("NAU", "add", 100, {}),
    ("NALU", "add", 2, {}),
    ("INALU", "mul", 2, {}),
    ("SNMU", "mul", 2, {}),
    ("SNMU", "mul", 2, {"noise": "batch"}),
    ("RealNPU", "div", 2, {}),
    ("ModifiedRealNPU", "div", 10, {}),
    ("NPU", "mul", 2, {}),
    ("NMRU", "div", 10, {}),
    ("NAC", "add", 2, {}),
    ("GNALU", "mul", 2, {}),
]


@pytest.mark.parametrize(("unit", "operation", "inputs", "options"), CASES)
def test_native_and_torch_train_alike(unit, operation, inputs, options):
    runs = [run(unit, operation, label, seed, inputs=inputs, **options) for label in RANGES for seed in range(1)]
    ours, oracle = results(runs, "auto"), results(runs, "torch")
    assert {row["engine"] for row in ours.values()} == {"native"}
    difference = [np.abs(weights(ours[id_]) - weights(row)).max() for id_, row in oracle.items()]
    # Adam turns the rounding of a vanishing gradient into a whole step, so single runs may drift; the cohort does not
    assert np.median(difference) < 1e-5
    assert np.quantile(difference, 0.75) < 1e-4


RECIPES = {
    "noise": Recipe(gradient_noise=0.01, steps=100),
    "pcc": Recipe(loss="pcc", steps=100),
    "mape": Recipe(loss="mape", steps=100),
    "switch": Recipe(loss=Switch("pcc", "mse", 50), steps=100),
    "sgd": Recipe(SGD(1e-2), steps=100),
    "clip": Recipe(clip=Clip(norm=0.1), steps=100),
    "penalty": Recipe(penalties={"to_grid": Constant(0.1)}, steps=100),
}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_runs_on_both_engines(name):
    runs = [run(label=label, recipe=RECIPES[name]) for label in ("U[1,2)", "U[-2,2)")]
    ours, oracle = results(runs, "auto"), results(runs, "torch")
    for id_, row in oracle.items():
        np.testing.assert_allclose(weights(ours[id_]), weights(row), atol=2e-5)
        for error in ("validation_error", "test_error"):  # before the first step: on the same samples
            np.testing.assert_allclose(ours[id_]["curve"][error][0], row["curve"][error][0], rtol=1e-4)


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_run_does_not_depend_on_its_neighbours(engine):
    runs = [run(label=label, seed=seed) for label in RANGES for seed in range(3)]
    together, alone = results(runs, engine), results([runs[7]], engine)
    row = together[runs[7].id]
    assert np.array_equal(weights(row), weights(alone[runs[7].id]))
    assert same_curve(row["curve"], alone[runs[7].id]["curve"])


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_a_diverged_run_retires_alone(engine):
    recipe = Recipe(SGD(1.0), steps=100)  # far too fast for large inputs, harmless for small ones
    bad, good = run(label="U[10,20)", recipe=recipe, unit="NAC"), run(label="U[0.1,0.2)", recipe=recipe, unit="NAC")
    linear = replace(bad, model=single("Linear", 2), method=Descent(recipe))
    fine = replace(good, model=single("Linear", 2), method=Descent(recipe))
    both, alone = results([linear, fine], engine), results([fine], engine)
    assert both[linear.id]["nonfinite_step"] is not None
    assert not both[linear.id]["solved"]
    assert both[fine.id]["nonfinite_step"] is None
    assert np.array_equal(weights(both[fine.id]), weights(alone[fine.id]))


def restless():
    """iNALU's conditions on validation, made to fire within few steps."""
    return Recipe(
        penalties={"saturate": Late(0.05, after=30, error=100.0)},
        clip=Clip(value=0.1),
        restart=Restart(check=10, memory=50, error=0.0, validate=40),
        steps=160,
    )


@pytest.mark.parametrize(("unit", "recipe"), [("NMU", None), ("INALU", restless())])
def test_evaluation_never_changes_training(unit, recipe):
    often, seldom = run(unit, every=20, recipe=recipe), run(unit, every=150, recipe=recipe)
    rows = [next(train([r], options=Options(threads=1))) for r in (often, seldom)]
    assert rows[0]["reinitialisations"] == rows[1]["reinitialisations"]
    assert (rows[0]["reinitialisations"] > 0) == (unit == "INALU")
    assert weights(rows[0]).tolist() == weights(rows[1]).tolist()
    assert len(rows[0]["curve"]["step"]) > len(rows[1]["curve"]["step"])


def test_two_waiting_penalties_wake_each_at_its_own_error():
    waits = {"saturate": Late(0.05, after=0, error=1e9), "to_grid": Late(1.0, after=0, error=0.0)}
    both = run("INALU", recipe=Recipe(penalties=waits, steps=20), every=10)
    only = run("INALU", recipe=Recipe(penalties={"saturate": waits["saturate"]}, steps=20), every=10)
    neither = run("INALU", recipe=Recipe(steps=20), every=10)
    found = [next(train([r], options=Options(threads=1, engine=e))) for e in ("native", "torch") for r in (both, only)]
    free = next(train([neither], options=Options(threads=1)))
    # the second waits for an error that never comes; the first must not be put to sleep with it
    assert np.array_equal(weights(found[0]), weights(found[1]))
    assert np.array_equal(weights(found[2]), weights(found[3]))
    assert not np.array_equal(weights(found[0]), weights(free))


def test_learning_rates_are_numbers_not_structure():
    runs = [run(recipe=Recipe(Adam(rate), steps=50)) for rate in (1e-3, 1e-2)]
    assert len(groups(runs)) == 1
    rows = results(runs, "native")
    single_rows = [results([r], "native")[r.id] for r in runs]
    for r, alone in zip(runs, single_rows, strict=True):
        assert np.array_equal(weights(rows[r.id]), weights(alone))


def test_compiled_torch_loop_equals_eager():
    from nalm.bench.engine.torch_backend import TorchBackend, can_compile

    if not can_compile():
        pytest.skip("no C++ compiler on this machine, so the compiled torch loop cannot run")
    runs = [run(seed=s, every=60) for s in range(2)]  # two chunks of equal length are compiled once
    eager, compiled = Cohort(runs, DescentStep), Cohort(runs, DescentStep)
    eager.train(TorchBackend(eager.unit_on_task), lambda _: None)
    compiled.train(TorchBackend(compiled.unit_on_task, compiled=True), lambda _: None)
    np.testing.assert_allclose(compiled.state["W"], eager.state["W"], atol=1e-6)


def test_a_refused_unit_falls_back_with_one_line():
    lines = []
    task = Table(
        Rows.of([[1.0, 2.0], [3.0, 4.0]], [2.0, 12.0]),
        Rows.of([[5.0, 6.0]], [30.0]),
    )
    cohort = Cohort([Run(single("NMU", 2), task, Descent(Recipe(steps=10)), 0, 10)], DescentStep)
    backend = choose(cohort, Options(say=lines.append))
    assert backend.name == "torch"
    assert len(lines) == 1
    assert "torch engine takes over" in lines[0]
    with pytest.raises(ValueError, match="--engine torch"):
        choose(cohort, Options(engine="native"))


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_runs_that_differ_in_a_ramp_train_as_one_group_as_if_alone(engine):
    recipes = [Recipe(steps=60, penalties={"to_grid": Ramp(to, 10, 40)}) for to in (0.1, 3.0, 3.0, 70.0)]
    runs = [run(seed=k, recipe=recipe, every=20) for k, recipe in enumerate(recipes)]
    assert len(groups(runs)) == 1
    together = results(runs, engine)
    for one in runs:
        alone = results([one], engine)[one.id]
        assert same_curve(together[one.id]["curve"], alone["curve"]), "the group must not change a run"
        assert np.array_equal(weights(together[one.id]), weights(alone))
    at_once = results([run(seed=0, recipe=recipe, every=20) for recipe in recipes[::3]], engine)
    assert len({weights(row).tobytes() for row in at_once.values()}) == 2, "each run has its own strength"


def test_ramps_that_end_elsewhere_do_not_share_a_group():
    recipes = [Recipe(steps=60, penalties={"to_grid": Ramp(1, 10, end)}) for end in (40, 50)]
    assert len(groups([run(recipe=recipe) for recipe in recipes])) == 2
