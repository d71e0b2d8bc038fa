"""The bookkeeping of a cohort, by a back end that answers what the test tells it: marks, success, ends, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

from nalm.bench.distribution import Distribution
from nalm.bench.engine.checkpoints import Checkpoint, group_key
from nalm.bench.engine.cohort import Cohort, train_cohort
from nalm.bench.engine.descent_step import DescentStep
from nalm.bench.engine.losses import EPSILON, huber, mape, pcc
from nalm.bench.engine.options import Options, Progress
from nalm.bench.engine.settings import Settings
from nalm.bench.engine.train import groups
from nalm.bench.engine.unit_on_task import Arrays
from nalm.bench.method import Descent
from nalm.bench.results.store import Store
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Adam, Late, Ramp, Recipe, Restart, Switch
from nalm.core.uniforms import Stream

Error = Callable[[int, int], float]  # of a step and a run


def always(error: float) -> Error:
    return lambda *_: error


class Told:
    """A back end that trains nothing; errors are told by step and run."""

    name = "told"
    resumable = True

    def __init__(self, test: Error, validation: Error, broken: dict[int, int] | None = None) -> None:
        self.errors = {int(Stream.TEST): test, int(Stream.VALIDATION): validation}
        self.broken = broken or {}  # after which step the weights of which run are no numbers
        self.step = 0
        self.spans: list[tuple[int, int]] = []

    def advance(
        self, state: Arrays, consts: Arrays, seeds: np.ndarray, first: int, count: int, alive: np.ndarray
    ) -> None:
        self.spans.append((first, count))
        self.step = first + count
        for step, index in self.broken.items():
            if first < step <= self.step:
                state["W"][index] = np.nan

    def evaluate(
        self, part: Distribution, stream: int, parameters: Arrays, consts: Arrays, chosen: np.ndarray
    ) -> Arrays:
        found = [self.errors[int(stream)](self.step, i) if of else np.nan for i, of in enumerate(chosen)]
        return {"error": np.asarray(found, np.float32)}


def cohort(recipe: Recipe, count: int = 2, every: int = 10, retire: bool = False) -> Cohort[Descent, DescentStep]:
    task = SingleModule(*RANGES["U[1,2)"], name="mul")
    return Cohort([Run(single("NMU", 2), task, Descent(recipe), s, every, retire) for s in range(count)], DescentStep)


def trained(backend: Told, recipe: Recipe, **options: object) -> list[dict[str, object]]:
    return train_cohort(cohort(recipe, **options), backend, None, Options(threads=1))  # type: ignore[arg-type]


def test_a_run_draws_anew_at_the_end_of_the_step_in_which_the_rule_fires() -> None:
    backend = Told(always(1.0), always(1.0))
    restarting = Recipe(Adam(), steps=60, restart=Restart(check=10, memory=20, error=0.5, validate=20))
    (record,) = trained(backend, restarting, count=1, every=60)
    # 21 notes at step 20; 20 at step 40 are too few, so that the next time is step 50
    assert backend.spans == [(0, 20), (20, 1), (21, 19), (40, 11), (51, 9)]
    assert record["reinitialisations"] == 2


def test_the_best_step_is_looked_for_among_the_last_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nalm.bench.engine.cohort.SETTINGS", Settings(window=3))
    backend = Told(always(1.0), lambda step, _: float(step if step else 0.5))  # best at the very beginning
    assert [r["selected_step"] for r in trained(backend, Recipe(steps=50))] == [30, 30]


def test_it_is_evaluated_at_every_mark_and_at_the_end() -> None:
    backend = Told(always(1.0), always(1.0))
    heard: list[Progress] = []
    told = Options(threads=1, progress=heard.append)
    records = train_cohort(cohort(Recipe(steps=25)), backend, None, told)
    assert [(h.step, h.advanced, h.solved) for h in heard] == [(0, 0, 0), (10, 10, 0), (20, 10, 0), (25, 5, 0)]
    assert backend.spans == [(0, 10), (10, 10), (20, 5)]
    assert records[0]["curve"]["step"].tolist() == [0, 10, 20, 25]


def test_the_time_of_a_cohort_is_shared_by_its_runs() -> None:
    began = time.monotonic()
    seconds = [record["seconds"] for record in trained(Told(always(1.0), always(1.0)), Recipe(steps=25), count=4)]
    spent = time.monotonic() - began
    assert len(set(seconds)) == 1
    assert 0 < sum(seconds) <= spent  # type: ignore[arg-type]


def test_the_step_of_least_validation_error_is_kept_and_success_counts_from_the_first_crossing() -> None:
    threshold = cohort(Recipe(steps=1)).thresholds[0]
    test = {0: 9.0, 10: threshold / 2, 20: 9.0, 30: threshold / 3, 40: 9.0}
    nearly = float(np.float32(threshold))  # the errors are float32, the threshold is not
    backend = Told(lambda step, run: (test[step], 2 * threshold, nearly)[run], lambda step, _: abs(step - 30.0))
    first, second, third = trained(backend, Recipe(steps=40), count=3)
    assert (first["solved"], first["solved_at"], first["selected_step"]) == (True, 10, 30)
    assert first["test_error"] == pytest.approx(threshold / 3)
    assert (first["validation_error"], first["reinitialisations"], first["nonfinite_step"]) == (0, 0, None)
    assert (second["solved"], second["solved_at"]) == (False, None)
    assert (third["solved"], third["solved_at"]) == ((True, 0) if nearly < threshold else (False, None))


def test_a_run_whose_weights_are_no_numbers_ends_there_and_the_others_go_on() -> None:
    backend = Told(always(0.0), always(1.0), broken={15: 1})
    first, second = trained(backend, Recipe(steps=40))
    assert first["nonfinite_step"] is None
    assert second["nonfinite_step"] == 20
    assert np.isnan(second["curve"]["test_error"]).tolist() == [False, False, True, True, True]
    assert backend.step == 40
    backend = Told(always(0.0), always(1.0), broken={5: 0, 15: 1})
    trained(backend, Recipe(steps=40))
    assert backend.step == 20, "nobody is left"


def test_a_run_that_may_retire_does_so_once_solved_on_the_grid_and_past_its_ramp() -> None:
    group = cohort(Recipe(steps=60, penalties={"to_grid": Ramp(1, 0, 30)}), count=3, retire=True)
    for index, weight in enumerate((1.0, 1.0, 0.99)):  # the last is not on the grid
        group.state["W"][index] = weight
    backend = Told(lambda _, run: (0.0, 1.0, 0.0)[run], always(1.0))
    group.train(backend, lambda _: None)
    assert group.retired.tolist() == [True, False, False]
    assert np.isnan([mark["test_error"][0] for mark in group.marks]).tolist() == [False] * 4 + [True] * 3
    assert group.solved == 2  # the retired one, and the one that is below its threshold


def test_waiting_penalties_are_asked_every_thousand_steps() -> None:
    group = cohort(Recipe(steps=2_500, penalties={"to_grid": Late(1.0, after=0, error=0.5)}), every=5_000)
    backend = Told(always(1.0), lambda step, run: 0.4 if (step, run) == (1_000, 1) else 0.5)
    seen: list[list[float]] = []
    advance = backend.advance

    def watched(state: Arrays, consts: Arrays, *others: object) -> None:
        seen.append(consts["awake:to_grid"].tolist())
        advance(state, consts, *others)  # type: ignore[arg-type]

    backend.advance = watched  # type: ignore[method-assign]
    group.train(backend, lambda _: None)
    assert backend.spans == [(0, 1_000), (1_000, 1_000), (2_000, 500)]
    assert seen == [[0, 0], [0, 1], [0, 0]]


def test_a_checkpoint_of_other_runs_is_not_read() -> None:
    one, other = cohort(Recipe(steps=10)), cohort(Recipe(steps=10), count=3)
    one.train(Told(always(1.0), always(1.0)), lambda _: None)
    with pytest.raises((ValueError, KeyError)):
        other.load(one.dump())
    again = cohort(Recipe(steps=10))
    again.load(one.dump())
    assert (again.step, len(again.marks), again.alive.tolist()) == (10, 2, [True, True])


def test_checkpoints_are_kept_when_enough_time_has_passed(tmp_path: object) -> None:
    group = cohort(Recipe(steps=10)).runs
    with Store(f"{tmp_path}/runs.db") as store:
        for seconds, kept in ((1e6, False), (-1.0, True)):
            checkpoint = Checkpoint(store, group, "told", Options(settings=Settings(checkpoint_seconds=seconds)))
            checkpoint.offer(7, lambda: b"state")
            assert store.has_checkpoint(group_key(group)) == kept
        found: list[bytes] = []
        checkpoint.resume(found.append)
        assert found == [b"state"]


def test_the_clock_of_a_step() -> None:
    recipe = Recipe(
        Adam(0.1),
        steps=100,
        loss=Switch("mape", "mse", 3),
        penalties={"to_grid": Ramp(10, 2, 4)},
        gradient_noise=0.25,
    )
    step = cohort(recipe).unit_on_task
    clock = dict(zip(step.clock_names, step.clock(2, 3).T.tolist(), strict=True))
    assert clock["penalty:to_grid:0"] == [0, 5, 10]
    assert clock["switched"] == [0, 1, 1]
    assert clock["noise"] == pytest.approx([(0.25 / n**0.55) ** 0.5 for n in (3, 4, 5)])
    y, t = torch.tensor([[[3.0]]]), torch.tensor([[[1.0]]])
    assert step._loss(y, t, {"switched": torch.tensor(0.0)}).item() == 2  # relative
    assert step._loss(y, t, {"switched": torch.tensor(1.0)}).item() == 4  # squared


def test_losses_by_hand() -> None:
    y, t = torch.tensor([[[0.5, 3.0]]]), torch.tensor([[[0.0, 1.0]]])
    assert huber(y, t).item() == pytest.approx((0.5 * 0.25 + 1.5) / 2)
    assert mape(y, t + 1).item() == pytest.approx((0.5 + 0.5) / 2)
    assert pcc(y, y).item() == pytest.approx(0, abs=1e-6)
    assert pcc(y, -y).item() == pytest.approx(2, abs=1e-6)
    constant = torch.ones(1, 1, 2)
    assert pcc(constant, t).item() == 1  # a constant has no correlation, and no division by zero
    assert EPSILON == 2.0**-23


def test_a_group_holds_every_run_once_and_at_most_as_many_as_its_method_allows() -> None:
    class Few(Descent):
        together = 2

    task = SingleModule(*RANGES["U[1,2)"], name="mul")
    runs = [Run(single("NMU", 2), task, Few(Recipe(steps=10)), seed) for seed in range(5)]
    runs += [Run(single("NAU", 2), task, Few(Recipe(steps=10)), 0)]
    assert [[run.seed for run in group] for group in groups(runs)] == [[0, 1], [2, 3], [4], [0]]


def test_runs_of_a_group_choose_their_own_schedule() -> None:
    task = SingleModule(*RANGES["U[1,2)"], name="mul")
    recipes = [
        Recipe(Adam(rate), steps=60, penalties={"to_grid": Ramp(to, 10, 40)})
        for rate, to in ((0.1, 1), (0.2, 5), (0.3, 1))
    ]
    group = Cohort([Run(single("NMU", 2), task, Descent(recipe), 0, 10) for recipe in recipes], DescentStep)
    assert group.consts["choice:to_grid"].tolist() == [[1, 0], [0, 1], [1, 0]]
    assert group.consts["rate"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    step = group.unit_on_task
    clock = dict(zip(step.clock_names, step.clock(25, 1)[0].tolist(), strict=True))
    assert (clock["penalty:to_grid:0"], clock["penalty:to_grid:1"]) == (0.5, 2.5)
    now = {name: torch.tensor(value) for name, value in clock.items()}
    consts = {name: torch.from_numpy(value) for name, value in group.consts.items()}
    assert step._strength("to_grid", consts, now).tolist() == [0.5, 2.5, 0.5]
