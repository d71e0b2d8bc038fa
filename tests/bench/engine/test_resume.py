"""A killed run continues where it was, and ends bit for bit where an uninterrupted one ends; retirement."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from nalm.bench.engine.options import Options
from nalm.bench.engine.settings import Settings
from nalm.bench.engine.train import train
from nalm.bench.method import Descent
from nalm.bench.results.store import Store
from nalm.bench.run import Layer, Model, Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.bench.tasks.two_layer import TwoLayer
from nalm.core.recipe import SGD, Ramp, Recipe, Restart
from tests.bench.curves import same_curve

STEPS, EVERY = 2_000, 100
NOISY = Recipe(steps=STEPS, penalties={"to_grid": Ramp(1, 400, 1_200)}, gradient_noise=1e-4)
STOCHASTIC = Model("NAU-sNMU", (Layer("NAU", 8, 2), Layer("SNMU", 2, 1)))
# without learning the error never falls, which is when the rule restarts
RESTARTING = Recipe(SGD(0.0), steps=STEPS, restart=Restart(check=10, memory=300, error=1e-9, validate=EVERY))


def runs(case: str) -> list[Run]:
    """What the killed process and the test both train."""
    ranges = [RANGES[label] for label in ("U[1,2)", "U[10,20)")]
    if case == "noise":
        tasks = [TwoLayer(*pair, inputs=8, size=3, overlap=1) for pair in ranges]
        return [Run(STOCHASTIC, task, Descent(NOISY), seed, EVERY) for task in tasks for seed in range(3)]
    return [
        Run(single("NAU", 2), SingleModule(*pair), Descent(RESTARTING), seed, EVERY)
        for pair in ranges
        for seed in (0, 1)
    ]


KILLED_AT_MARK = 11
BY_TORCH = Options(threads=1, engine="torch")  # nothing to compile
CHILD = """
import os, signal, sys
import torch
from nalm.bench.engine.options import Options
from nalm.bench.engine.settings import Settings
from nalm.bench.engine.train import train
from nalm.bench.results.store import Store
sys.path.insert(0, sys.argv[1])
from test_resume import EVERY, KILLED_AT_MARK, runs

torch.set_num_threads(1)
often = Settings(checkpoint_seconds=-1.0)  # after every evaluation

def kill(heard):
    if heard.step == KILLED_AT_MARK * EVERY:
        os.kill(os.getpid(), signal.SIGKILL)

with Store(sys.argv[2]) as store:
    list(train(runs(sys.argv[3]), store, Options(threads=1, progress=kill, settings=often)))
"""


@pytest.mark.parametrize("case", ["noise", "restarts"])
def test_killed_and_continued_equals_uninterrupted(tmp_path, case):
    path = tmp_path / "runs.db"
    child = subprocess.run([sys.executable, "-c", CHILD, os.path.dirname(__file__), str(path), case], check=False)
    assert child.returncode == -signal.SIGKILL
    marks = []

    def note(heard):
        marks.append(heard.step)

    wanted = runs(case)
    with Store(path) as store:
        assert store.missing([run.id for run in wanted]) == [run.id for run in wanted]
        continued = list(train(wanted, store, Options(threads=1, progress=note)))
        assert store.missing([run.id for run in wanted]) == []
    assert marks[0] == KILLED_AT_MARK * EVERY  # evaluated anew; everything before came from the checkpoint
    for again, straight in zip(continued, train(wanted, None, Options(threads=1)), strict=True):
        assert same_curve(again["curve"], straight["curve"])
        assert {k: again[k] for k in again if k not in ("curve", "seconds")} == {
            k: straight[k] for k in straight if k not in ("curve", "seconds")
        }
        assert again["engine"] == "native"
    if case == "restarts":
        assert sum(row["reinitialisations"] for row in continued) > 0


def test_done_runs_retire_and_say_so():
    recipe = Recipe(steps=20_000, penalties={"to_grid": Ramp(1, 2_000, 4_000)})
    full = [Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Descent(recipe), seed) for seed in range(4)]
    retiring = [replace(run, retire=True) for run in full]
    assert not {run.id for run in full} & {run.id for run in retiring}
    assert '"retire":true' in retiring[0].json
    assert "retire" not in full[0].json
    for run_on, stopped in zip(train(full), train(retiring), strict=True):
        assert stopped["solved"]
        assert (stopped["solved_at"], stopped["seed"]) == (run_on["solved_at"], run_on["seed"])
        assert stopped["sparsity"] < 1e-5
        alive = np.isfinite(stopped["curve"]["validation_error"])
        last = int(stopped["curve"]["step"][alive][-1])
        assert recipe.penalties["to_grid"].end <= last < recipe.steps
        assert stopped["nonfinite_step"] is None
        cut = {name: values[: alive.sum()] for name, values in run_on["curve"].items()}
        assert same_curve({name: values[alive] for name, values in stopped["curve"].items()}, cut)


def stopped_with_a_checkpoint(path, wanted, mark=KILLED_AT_MARK):
    """A store in which training by torch was broken off."""

    class Stop(Exception):
        pass

    def stop(heard):
        if heard.step == mark * EVERY:
            raise Stop

    options = Options(threads=1, engine="torch", progress=stop, settings=Settings(checkpoint_seconds=-1.0))
    with Store(path) as store, pytest.raises(Stop):
        list(train(wanted, store, options))


def checkpoints(path):
    with closing(sqlite3.connect(path)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM checkpoints")]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A store with the checkpoint of a training that was stopped, and the weights of one that was not."""
    path = tmp_path_factory.mktemp("stopped") / "runs.db"
    wanted = [replace(run, method=Descent(Recipe(steps=3 * EVERY))) for run in runs("restarts")]
    stopped_with_a_checkpoint(path, wanted, mark=2)
    return path, wanted, [record["weights"] for record in train(wanted, None, BY_TORCH)]


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text"])
def test_a_damaged_checkpoint_is_said_and_dropped(tmp_path, stopped, harm):
    original, wanted, straight = stopped
    path, said = tmp_path / "runs.db", []
    shutil.copy(original, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        (state,) = connection.execute("SELECT state FROM checkpoints").fetchone()
        middle = len(state) // 2
        harmed = {
            "cut": state[:middle],
            "flipped": state[:middle] + bytes([state[middle] ^ 16]) + state[middle + 1 :],
            "empty": b"",
            "text": b"hello",
        }
        connection.execute("UPDATE checkpoints SET state = ?", [harmed[harm]])
    with Store(path) as store:
        anew = list(train(wanted, store, replace(BY_TORCH, say=said.append)))
    assert len(said) == 1
    assert "is damaged and dropped; these runs begin anew" in said[0]
    assert checkpoints(path) == []
    assert [record["weights"] for record in anew] == straight


def test_a_checkpoint_of_another_engine_or_version_is_not_continued(tmp_path):
    path, wanted, said = tmp_path / "runs.db", runs("restarts"), []
    stopped_with_a_checkpoint(path, wanted)
    assert len(checkpoints(path)) == 1
    with Store(path) as store:
        anew = list(train(wanted, store, Options(threads=1, engine="native", say=said.append)))
    assert "of another engine or version; these runs begin anew" in said[0]
    assert checkpoints(path) == []
    for again, pure in zip(anew, train(wanted, None, Options(threads=1, engine="native")), strict=True):
        assert again["engine"] == "native"
        assert again["weights"] == pure["weights"]
        assert same_curve(again["curve"], pure["curve"])
