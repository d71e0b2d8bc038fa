"""Training of whole networks on the bundled digits, a few steps each: what is learned, kept, resumed and shown."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nalm
from nalm.bench.engine.network import train_network
from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.settings import Settings
from nalm.bench.engine.train import train
from nalm.bench.results.store import Store
from nalm.bench.run import Run
from nalm.bench.studies import find_study
from nalm.bench.study import Cell
from nalm.bench.vision.colour_task import ColourPairs
from nalm.bench.vision.measures import accuracies, rounded
from nalm.bench.vision.method import NetworkDescent, NetworkRule
from nalm.bench.vision.models import cell, head
from nalm.bench.vision.operations import relative_error, running
from nalm.bench.vision.pair_task import DigitPairs
from nalm.bench.vision.sequence_task import ELIGIBLE, DigitSequences
from nalm.bench.vision.training import Training
from nalm.core.recipe import Clip, Constant, Ramp, Recipe

TINY = DigitPairs(samples=2, measured=20, light=True)
HEAVY = replace(TINY, light=False)  # with dropout


def tiny_run(unit: str = "NMU", steps: int = 6, **recipe: Any) -> Run:
    descent = NetworkDescent(Recipe(steps=steps, batch=8, **recipe))
    return Run(head(unit), TINY, descent, seed=0, every=2)


def parameters(training: Training) -> torch.Tensor:
    return torch.cat([p.detach().reshape(-1) for p in training.network.parameters()])


@pytest.mark.parametrize(
    "run",
    [
        replace(tiny_run("SNMU", penalties={"to_grid": Ramp(100, 1, 3)}), task=HEAVY),
        Run(head("NMU"), TINY, NetworkRule(6, 8), seed=0, every=2),
        Run(cell("SNMU", 1.0), DigitSequences(lengths=(1, 2)), NetworkDescent(Recipe(steps=6, batch=8)), 0, every=2),
        Run(
            head("NMU"),
            ColourPairs(samples=2, measured=20, light=True, upright=True),
            NetworkDescent(Recipe(steps=6, batch=4)),
            0,
            every=2,
        ),
    ],
    ids=["pairs", "rule", "sequences", "colour"],
)
def test_a_resumed_run_goes_on_bit_for_bit(run: Run) -> None:
    straight, stopped, resumed = Training(run), Training(run), Training(run)
    straight.advance(4)
    straight.measured()
    straight.advance(2)
    stopped.advance(3)
    resumed.load(stopped.dump())
    torch.rand(7)  # what others draw in between does not matter
    resumed.advance(3)
    assert resumed.step == 6
    assert torch.equal(parameters(resumed), parameters(straight))
    assert resumed.measured()["test_error"] == straight.measured()["test_error"]


def test_training_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    training = Training(tiny_run("SNMU"))
    training.advance(2)
    training.measured()
    assert torch.equal(torch.rand(3), expected)


def test_a_checkpoint_with_code_in_it_is_refused() -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (print, ("executed",))

    buffer = io.BytesIO()
    torch.save({"network": Evil()}, buffer)
    with pytest.raises(Exception, match=r"[Ww]eights"):
        Training(tiny_run()).load(buffer.getvalue())


def test_a_solved_head_lets_the_network_learn_to_read() -> None:
    """A few dozen steps on few images are enough to fit them, although only products are told."""
    task = DigitPairs(samples=1, measured=90, light=True)
    training = Training(Run(head("ExactProduct"), task, NetworkDescent(Recipe(steps=80, batch=30)), seed=1))
    before = training.measured()
    training.advance(80)
    after = training.measured()
    assert after["validation_error"] < 0.25 * before["validation_error"]
    assert after["digit_rounded"] > before["digit_rounded"] + 0.1  # unseen images of unseen pairs


def test_penalty_projection_and_clipping_reach_the_unit() -> None:
    pulled = Training(tiny_run("NMU", penalties={"to_grid": Constant(1e6)}))
    start = torch.tensor(pulled.weights()["W"])
    pulled.advance(6)
    end = torch.tensor(pulled.weights()["W"])
    towards = (start.round() - start).sign()  # the pull outweighs the loss: both move to their nearest grid value
    assert torch.equal((end - start).sign(), towards)
    free = Training(tiny_run("NMU", steps=900))
    with torch.no_grad():
        free.units[0].weights["W"].raw(free.units[0])[0].fill_(1.5)
    free.advance(1)
    assert max(free.weights()["W"][0]) <= 1
    clipped = Training(tiny_run("NMU", clip=Clip(norm=1e-12)))
    plain = Training(tiny_run("NMU"))
    for one in (clipped, plain):
        one.advance(1)
    moved = [float((parameters(one) - parameters(Training(tiny_run("NMU")))).abs().max()) for one in (clipped, plain)]
    assert moved[0] < 1e-4 < moved[1]  # Adam's epsilon counts once gradients are tiny


def test_weight_decay_concerns_the_head_alone() -> None:
    method = NetworkDescent(Recipe(steps=5, batch=8), decay=1e-3)
    optimiser = method.learner(Training(tiny_run("MLP")).network).optimiser  # type: ignore[attr-defined]
    below, above = optimiser.param_groups
    assert (below["weight_decay"], above["weight_decay"]) == (0, 1e-3)
    assert len(below["params"]) == 8  # two convolutions and two dense layers, each with a bias
    assert len(above["params"]) == 4  # the MLP has one hidden layer


def test_what_a_network_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="squared error"):
        Training(tiny_run(loss="pcc"))
    with pytest.raises(ValueError, match="'sub'"):
        DigitPairs(name="sub")
    with pytest.raises(ValueError, match="'digit'"):
        DigitPairs(data="digit")


def test_accuracies_are_counted_as_published() -> None:
    digits = torch.tensor([[3.0, 2.0], [2.6, 3.0], [1.0, 9.4]])
    true = torch.tensor([[3.0, 2.0], [3.0, 3.0], [1.0, 8.0]])
    found = accuracies(digits, true, digits.prod(1), true.prod(1), decimals=0)
    assert found.result_exact == pytest.approx(1 / 3)
    assert found.result_rounded == pytest.approx(1 / 3)  # 7.8 is 8, not 9
    assert found.digit_exact == pytest.approx(4 / 6)
    assert found.digit_rounded == pytest.approx(5 / 6)
    assert (found.first_digit, found.second_digit) == (1.0, pytest.approx(2 / 3))
    assert found.confusion[8][9] == 1
    assert sum(map(sum, found.confusion)) == 6
    thirds = torch.tensor([1 / 3, 0.333334])
    assert torch.equal(rounded(thirds, 5)[:1], rounded(thirds, 5)[1:])


def test_the_unit_is_exact_if_it_is_right_on_true_digits() -> None:
    assert relative_error(torch.tensor([2.0, 8.0]), torch.tensor([2.0, 10.0])) == pytest.approx(0.2)
    assert relative_error(torch.tensor([float("nan")]), torch.tensor([1.0])) == float("inf")
    training = Training(tiny_run("NMU"))
    assert training.measured()["unit_error"] > 0.1
    exact = Training(tiny_run("ExactProduct"))
    assert exact.measured()["unit_error"] == 0


def test_long_products_do_not_overflow() -> None:
    assert running(torch.full((1, 20), 9), "mul")[0, -1] == 9.0**20
    task = DigitSequences(lengths=(1, 20))
    training = Training(Run(cell("ExactProduct", 1.0), task, NetworkDescent(Recipe(steps=1, batch=8)), 0))
    errors = training.measured()["errors"]
    assert list(errors) == [1, 20]
    assert np.isfinite(errors[20])
    assert errors[20] > 1e20


def test_lengths_that_the_data_cannot_fill_are_left_out() -> None:
    task = DigitSequences(name="add", length=10, lengths=(1, 10, 1000))
    training = Training(Run(cell("ExactSum", 0.0), task, NetworkDescent(Recipe(steps=1, batch=8)), 0))
    assert list(training.measured()["errors"]) == [1, 10]


@pytest.mark.parametrize(("name", "head", "smallest"), [("mul", "ExactProduct", 1), ("add", "ExactSum", 0)])
def test_a_cell_is_judged_on_every_pair_of_true_digits(name: str, head: str, smallest: int) -> None:
    task = DigitSequences(name=name, lengths=(2,))
    training = Training(Run(cell(head, 1.0 - (name == "add")), task, NetworkDescent(Recipe(steps=1, batch=8)), 0))
    seen: list[torch.Tensor] = []
    training.network.head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    assert training.measured()["unit_error"] == 0
    pairs = [[a, b] for a in range(smallest, 10) for b in range(smallest, 10)]
    assert any(digits.tolist() == pairs for digits in seen)


def test_sequences_are_measured_without_noise_unless_asked_as_published() -> None:
    errors = {}
    for noisy in (False, True):
        task = DigitSequences(lengths=(2,), noisy=noisy)
        training = Training(Run(cell("SNMU", 1.0), task, NetworkDescent(Recipe(steps=2, batch=8)), 0))
        errors[noisy] = training.measured()["errors"][2]
        training.advance(1)
        training.network.head.cell.eval()  # type: ignore[union-attr,operator]
    assert errors[True] != errors[False]


@pytest.mark.parametrize(
    ("task", "batch"),
    [(DigitPairs(), 128), (DigitPairs(name="div"), 128), (ColourPairs(samples=20), 16), (DigitSequences(), 64)],
    ids=["product", "division", "colour", "sequence"],
)
def test_an_epoch_shows_every_sample(task: DigitPairs, batch: int) -> None:
    assert task.epoch(batch) == -(-task.loaded(0).count // batch)


def test_the_table_of_eligible_digits_is_right() -> None:
    for name in ("mul", "add"):
        task = DigitSequences(name=name, length=1, lengths=(1,))
        assert task.loaded(0).count == ELIGIBLE["digits", name]


def test_records_progress_and_store(tmp_path: Path) -> None:
    heard: list[Progress] = []
    run = tiny_run("NMU", steps=5)
    with Store(tmp_path / "runs.db") as store:
        (record,) = train([run], store, Options(progress=heard.append))
        (kept,) = store.records()
        curve = store.curve(run.id)
    assert [p.step for p in heard] == [0, 2, 4, 5]
    assert sum(p.advanced for p in heard) == 5
    assert "digits read" in heard[-1].note
    assert kept["digit_rounded"] == record["digit_rounded"]
    assert (kept["engine"], kept["recipe"], kept["range"]) == ("network", "published", "digits")
    assert kept["solved"] is False
    assert curve["step"].tolist() == [0, 2, 4, 5]
    assert [line["step"] for line in json.loads(kept["path"])] == [0, 2, 4, 5]
    assert np.array(json.loads(kept["confusion"])).sum() == 40
    assert kept["weights"]["W"] == json.loads(kept["path"])[-1]["weights"]["W"]


class Killed(BaseException):
    """As `kill -9`: nothing is done on the way out."""


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    run = tiny_run("SNMU", steps=60)
    run = replace(run, every=10)
    (straight,) = train([run], None, Options())

    def die(progress: Progress) -> None:
        if progress.step >= 40:
            raise Killed

    options = Options(settings=Settings(checkpoint_seconds=0.0))
    with Store(tmp_path / "runs.db") as store:
        with pytest.raises(Killed):
            list(train([run], store, replace(options, progress=die)))
        heard: list[Progress] = []
        (resumed,) = train([run], store, replace(options, progress=heard.append))
    assert heard[0].step >= 30  # not from the beginning
    assert resumed["test_error"] == straight["test_error"]
    ways = [[(line["step"], line["weights"]) for line in json.loads(r["path"])] for r in (resumed, straight)]
    assert ways[0] == ways[1]


def test_a_run_on_another_kind_of_task_is_refused() -> None:
    other = find_study("single-module/mul").cells[0]
    run = Run(head("NMU"), other.task, NetworkDescent(Recipe(steps=1)), 0)
    with pytest.raises(ValueError, match="no images"):
        list(train([run]))


def small_cells() -> list[Cell]:
    """One cell of each row of each study, made tiny."""
    found: dict[tuple[str, str], Cell] = {}
    for name in ("product", "division", "compare", "colour", "sequence", "sum"):
        for c in find_study(f"mnist/{name}").quick().cells:
            found.setdefault((name, c.row), c)
    return list(found.values())


@pytest.mark.parametrize("c", small_cells(), ids=lambda c: f"{c.task.operation} {type(c.task).__name__} {c.row}")
def test_every_row_of_every_study_trains(c: Cell) -> None:
    task: Any = c.task
    task = replace(task, samples=1, measured=10) if hasattr(task, "samples") else replace(task, lengths=(1, 3))
    method = c.method.with_batch(4).scaled(3)  # type: ignore[attr-defined]
    (record,) = train([Run(c.model, task, method, 0, every=2)])
    assert record["selected_step"] in (0, 2, 3)
    assert np.isfinite(record["test_error"])
    assert 0 <= record["digit_rounded"] <= 1
    assert record["seconds"] > 0
    assert record["solved"] == (c.row in ("MUL", "DIV", "reference"))


def test_train_network_needs_no_store() -> None:
    from nalm.bench.engine.checkpoints import Checkpoint

    run = tiny_run(steps=1)
    record = train_network(run, Checkpoint(None, [run], "network", Options()), Options())
    assert record["id"] == run.id


def test_a_register_is_exact_when_it_decides_every_pair_right() -> None:
    """A register of a < b with large weights, its reader untrained: only what it decides of true digits counts."""
    descent = NetworkDescent(Recipe(steps=1, batch=4))
    training = Training(Run(head("NSR", outputs=2), replace(TINY, name="<"), descent, seed=0))
    x, target = training.loaded.batch(torch.tensor([0, 1, 2]), 0)
    labels = training.loaded.train.labels[:3]  # type: ignore[attr-defined]
    assert target.tolist() == [[float(a < b), float(a >= b)] for a, b in labels.tolist()]
    assert training.network(x).shape == target.shape
    raw = dict(training.network.head.named_parameters())
    values = {"V1_hat": [[[50.0, -50.0]]], "V2_hat": [[[-50.0, 50.0]]], "w_sign": [[-9.0]], "w_zero": [[-2.0]]}
    with torch.no_grad():
        for name, value in {**values, "b": [[0.0]]}.items():
            raw[name].copy_(torch.tensor(value))
    training.network.eval()
    assert training.loaded.measure(training.network)["unit_error"] == 0
    with torch.no_grad():
        raw["w_zero"].fill_(2.0)  # now equal digits count as less: ten of a hundred pairs are wrong
    assert training.loaded.measure(training.network)["unit_error"] == pytest.approx(0.1)


def test_records_show_the_weights_of_small_heads_only() -> None:
    training = Training(tiny_run())
    for size, shown in ((16, True), (17, False)):
        training.units = [nalm.NAU(size, 1, seed=0)]
        assert ("W" in training.weights()) == shown


def test_denormals_count_as_zero_in_training_and_nowhere_else() -> None:
    training = Training(tiny_run())
    seen: list[float] = []
    training.network.register_forward_hook(lambda *_: seen.append((torch.tensor(1e-40) * 1).item()))
    training.advance(1)
    assert seen == [0.0]
    assert torch.tensor(1e-40) * 1 > 0
