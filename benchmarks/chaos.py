"""Faults by the hundred against the store and the engines: `make chaos`, or `python benchmarks/chaos.py --seed 7`.

Every fault is drawn from the seed. After each one, what the store says is compared with the truth: no finished run may
be lost, doubled or changed, and whatever is damaged must be said. Prints one line per kind of fault; the exit code is
the number of broken promises. `--faults N` scales the whole, `--minutes M` ends it early and says so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nalm.bench.engine.cluster import Processes, train_on
from nalm.bench.engine.options import Options
from nalm.bench.engine.settings import Settings
from nalm.bench.engine.train import train
from nalm.bench.method import Descent
from nalm.bench.results.columns import CURVE_COLUMNS, RecordError
from nalm.bench.results.doctor import examine
from nalm.bench.results.schema import Depth
from nalm.bench.results.store import Store, StoreError, merge
from nalm.bench.results.writing import WriteRefused, write_safely
from nalm.bench.run import Run, single
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Recipe

Record = dict[str, Any]
STEPS = 400
OFTEN = Settings(checkpoint_seconds=-1.0)  # a checkpoint after every evaluation
UNCOMPARED = ("seconds", "created_at", "curve")
RUNS = [
    Run(single("NMU", 2), SingleModule(*RANGES[label], name=operation), Descent(Recipe(steps=STEPS)), seed, 40)
    for operation in ("mul", "add")
    for label in ("U[1,2)", "U[-2,2)")
    for seed in range(3)
]


class Broken(AssertionError):
    """A promise that was not kept."""


def promise(kept: bool, what: str) -> None:
    if not kept:
        raise Broken(what)


def comparable(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in UNCOMPARED}


@dataclass
class Chaos:
    """What all faults need.

    Attributes:
        truth: what an undisturbed training gives, by id.
        filled: a store with many records, to be copied and harmed.
    """

    chance: random.Random
    folder: Path
    truth: dict[str, Record]
    filled: Path
    known: dict[str, Record]

    def fresh(self, name: str = "runs.db") -> Path:
        """A place for a new store."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        return place / name

    def copy(self) -> Path:
        path = self.fresh()
        shutil.copyfile(self.filled, path)
        return path

    def check_complete(self, path: Path) -> None:
        """The store holds every run once, as the truth has it."""
        with Store(path, readonly=True, say=complain) as store:
            found = {record["id"]: record for record in store.records()}
        promise(found.keys() >= self.truth.keys(), f"{len(self.truth.keys() - found.keys())} runs are lost")
        for name, record in self.truth.items():
            promise(comparable(found[name]) == comparable(record), f"run {name} has changed")


def complain(line: str) -> None:
    raise Broken(f"said without a reason: {line}")


def forked(work: Callable[[], None]) -> int:
    """A child process that does the work and nothing else; returns its number."""
    sys.stdout.flush()
    if child := os.fork():
        return child
    code = 1
    try:
        work()
        code = 0
    except (KeyboardInterrupt, StoreError, OSError):
        code = 3  # what a command line would turn into a sentence
    finally:
        os._exit(code)


def trained(path: Path, engine: str) -> Callable[[], None]:
    def work() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        options = Options(threads=1, engine=engine, settings=OFTEN, say=lambda _: None)  # type: ignore[arg-type]
        with Store(path) as store:
            list(train(RUNS, store, options))

    return work


# -- faults ----------------------------------------------------------------------------------------------------------


def killed_while_training(chaos: Chaos, how: signal.Signals = signal.SIGKILL) -> None:
    """A training is killed at a random moment, several times, then goes to its end."""
    path = chaos.fresh()
    for _ in range(3):
        child = forked(trained(path, "native"))
        time.sleep(chaos.chance.expovariate(1 / 0.4))
        os.kill(child, how)
        os.waitpid(child, 0)
        with suppress(StoreError), Store(path, readonly=True, say=complain) as store:  # it may be empty yet
            for record in store.records():
                promise(comparable(record) == comparable(chaos.truth[record["id"]]), "a kept run has changed")
    child = forked(trained(path, "native"))
    promise(os.waitpid(child, 0)[1] == 0, "training does not go on after it was killed")
    chaos.check_complete(path)


def interrupted_while_training(chaos: Chaos) -> None:
    """The same with Ctrl-C and the polite signals."""
    killed_while_training(chaos, chaos.chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))


def writers_killed(chaos: Chaos) -> None:
    """Several writers on one store; one is killed while it writes. What a writer claimed is there."""
    path = chaos.fresh()
    records = list(chaos.known.values())
    claims = path.with_name("claims")

    def work(first: int) -> Callable[[], None]:
        def write() -> None:
            with Store(path) as store, claims.open("a") as claimed:
                for record in records[first : first + 40]:
                    store.add([record])
                    claimed.write(record["id"] + "\n")
                    claimed.flush()

        return write

    children = [forked(work(first)) for first in (0, 20, 40)]
    time.sleep(chaos.chance.uniform(0, 0.15))
    os.kill(children[0], signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    with Store(path, readonly=True, say=complain) as store:
        found = {record["id"]: record for record in store.records()}
    claimed = claims.read_text().split() if claims.exists() else []
    promise(set(claimed) <= found.keys(), "a run that was claimed is lost")
    promise(all(comparable(found[name]) == comparable(chaos.known[name]) for name in found), "a run has changed")


def bit_flipped(chaos: Chaos) -> None:
    """One bit of the file: everything that is still shown is true, what is not shown is said."""
    path = chaos.copy()
    content = bytearray(path.read_bytes())
    bit = chaos.chance.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    said: list[str] = []
    try:
        with Store(path, readonly=True, say=said.append) as store:
            for depth in Depth:
                found = store.records(depth=depth)
                for record in found:
                    same = all(chaos.known[record["id"]].get(n) == v for n, v in record.items() if n not in UNCOMPARED)
                    promise(same, f"bit {bit} changed a result unnoticed")
            promise(len(found) == len(chaos.known) or bool(said), f"bit {bit} hid a run unnoticed")
            for record in found[:5]:
                try:
                    curve = store.curve(record["id"])
                except (RecordError, KeyError):
                    continue
                truth = chaos.known[record["id"]]["curve"]
                promise(all(np.array_equal(curve[n], truth[n]) for n in truth), f"bit {bit} changed a curve unnoticed")
    except StoreError:
        pass
    with suppress(StoreError):
        examine(path)


def cut_short(chaos: Chaos) -> None:
    """The file ends too early: it is refused, and the doctor saves whole records only."""
    path = chaos.copy()
    os.truncate(path, chaos.chance.randrange(1, path.stat().st_size))
    said: list[str] = []
    try:
        with Store(path, readonly=True, say=said.append) as store:
            found = store.records()
        promise(bool(said), "a store that was cut short was read without a word")  # within its last page
        promise(all(comparable(r) == comparable(chaos.known[r["id"]]) for r in found), "a run has changed")
    except StoreError:
        pass
    try:
        diagnosis = examine(path, path.with_name("saved.db"))
    except StoreError:
        return
    with Store(path.with_name("saved.db"), readonly=True, say=complain) as saved:
        for record in saved.records():
            promise(comparable(record) == comparable(chaos.known[record["id"]]), "a saved run has changed")
        promise(len(saved.records()) == diagnosis.sound, "the doctor miscounts")


def lost_while_in_use(chaos: Chaos) -> None:
    """The file is deleted, renamed, emptied, cut or replaced between two writes, or before the end."""
    path = chaos.copy()
    said: list[str] = []
    records = [{**record, "id": f"new-{name}"} for name, record in list(chaos.known.items())[:30]]
    ways: list[Callable[[], object]] = [
        path.unlink,
        lambda: path.rename(path.with_name("elsewhere.db")),
        lambda: os.truncate(path, 0),
        lambda: os.truncate(path, path.stat().st_size // 2),
        lambda: shutil.copyfile(chaos.filled, path.with_name("other.db")) and path.with_name("other.db").rename(path),
    ]
    lose, moment = chaos.chance.choice(ways), chaos.chance.randrange(1, 4)
    store = Store(path, say=said.append)
    for number, batch in enumerate((records[:10], records[10:20], records[20:]), start=1):
        store.add(batch)
        if number == moment:
            lose()
    store.confirm()
    promise(len(said) == 1, "a lost store was not noticed")
    with Store(store.path, readonly=True, say=complain) as again:
        promise(again.missing([record["id"] for record in records]) == [], "runs are lost with their file")


def checkpoint_harmed(chaos: Chaos) -> None:
    """A checkpoint is changed at random: training ends where an undisturbed one ends."""
    path = chaos.fresh()
    child = forked(trained(path, chaos.chance.choice(["native", "torch"])))
    time.sleep(chaos.chance.uniform(0.3, 1.5))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if path.exists() and path.stat().st_size:
        with Store(path), closing(sqlite3.connect(path)) as connection, connection:
            for key, state in connection.execute("SELECT key, state FROM checkpoints").fetchall():
                harmed = bytearray(state)
                for _ in range(chaos.chance.randrange(1, 4)):
                    harmed[chaos.chance.randrange(len(harmed))] ^= 1 << chaos.chance.randrange(8)
                if chaos.chance.random() < 0.3:
                    harmed = harmed[: chaos.chance.randrange(len(harmed))]
                connection.execute("UPDATE checkpoints SET state = ? WHERE key = ?", [bytes(harmed), key])
    with Store(path) as store:  # those that torch finished would differ in the last digits
        done = {record["id"] for record in store.records() if record["engine"] != "native"}
    child = forked(trained(path, "native"))
    promise(os.waitpid(child, 0)[1] == 0, "a harmed checkpoint blocks the training")
    chaos_truth = {name: record for name, record in chaos.truth.items() if name not in done}
    replace(chaos, truth=chaos_truth).check_complete(path)


def disk_full(chaos: Chaos) -> None:
    """No file may grow beyond a random size: an error, and what was added before is kept."""
    path = chaos.fresh()
    records = list(chaos.known.values())
    limit = chaos.chance.randrange(4_096, 400_000)
    claims = path.with_name("claims")

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with Store(path) as store, claims.open("a") as claimed:
            for record in records:
                store.add([record])
                claimed.write(record["id"] + "\n")
                claimed.flush()

    code = os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])
    promise(code in (0, 3), f"a full disk ends in code {code}")
    claimed = claims.read_text().split() if claims.exists() else []
    if claimed:
        with Store(path, readonly=True, say=complain) as store:
            promise(store.missing(claimed) == [], "a claimed run is lost on a full disk")


def overwritten(chaos: Chaos) -> None:
    """Somebody asks for an export onto the store, a link to it or a pipe."""
    path = chaos.copy()
    before = path.read_bytes()
    link, pipe = path.with_name("table.csv"), path.with_name("pipe.csv")
    link.symlink_to(path)
    os.mkfifo(pipe)
    with Store(path, readonly=True, say=complain) as store:
        for target in (path, link, pipe):
            try:
                store.export(target, compact=chaos.chance.random() < 0.5, force=chaos.chance.random() < 0.5)
                raise Broken(f"{target.name} was overwritten")
            except (StoreError, WriteRefused):
                pass
    try:
        write_safely(path, lambda file: file.write_text("x"), force=True)
        raise Broken("a store was overwritten")
    except WriteRefused:
        pass
    promise(path.read_bytes() == before, "a refused export changed the store")


def merged_from_damaged(chaos: Chaos) -> None:
    """Shards with damaged records are joined: only sound ones arrive."""
    shard, target = chaos.copy(), chaos.fresh("all.db")
    victims = chaos.chance.sample(list(chaos.known), 3)
    with closing(sqlite3.connect(shard)) as connection, connection:
        for name in victims:
            column = chaos.chance.choice(["test_error", "solved", "seed", "unit", "run", "weights", "steps"])
            connection.execute(f"UPDATE runs SET {column} = 7 WHERE id = ?", [name])
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merge(target, shard)
    with Store(target, readonly=True, say=complain) as store:
        found = {record["id"]: record for record in store.records()}
    promise(found.keys() == chaos.known.keys() - set(victims), "a damaged run was merged, or a sound one left behind")


def worker_killed(chaos: Chaos) -> None:
    """A worker process dies at a random moment, also while it starts."""
    import multiprocessing
    import threading

    path = chaos.fresh()
    stop = threading.Event()

    def kill() -> None:
        time.sleep(chaos.chance.uniform(0, 6))
        while not stop.is_set():
            if children := [child.pid for child in multiprocessing.active_children() if child.pid]:
                os.kill(chaos.chance.choice(children), signal.SIGKILL)
                return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    with Store(path) as store:
        killer.start()
        list(train_on(Processes(1), RUNS, store, Options(engine="native", settings=OFTEN)))
        stop.set()
        killer.join()
    chaos.check_complete(path)


SHARES: dict[Callable[[Chaos], None], tuple[int, int]] = {
    bit_flipped: (400, 1),
    writers_killed: (150, 1),
    lost_while_in_use: (150, 1),
    cut_short: (100, 1),
    merged_from_damaged: (60, 3),
    overwritten: (50, 3),
    disk_full: (50, 1),
    checkpoint_harmed: (30, 2),
    killed_while_training: (30, 3),
    interrupted_while_training: (15, 3),
    worker_killed: (3, 1),
}
"""How often each happens in a thousand or so, and how many faults it is each time."""


def prepared(folder: Path, seed: int) -> Chaos:
    """The truth and a filled store."""
    with Store(folder / "truth.db") as store:
        list(train(RUNS, store, Options(engine="native", threads=1)))
        truth = {record["id"]: record for record in store.records()}
    filled, generator = folder / "filled.db", np.random.default_rng(seed)
    records = []
    for number in range(120):
        run = replace(RUNS[0], seed=1000 + number)
        curve = {name: generator.lognormal(size=11).astype(np.float32) for name in CURVE_COLUMNS}
        weights = {"W": generator.normal(size=(1, 2)).tolist()}
        records.append({"id": run.id, "unit": "NMU", "seed": run.seed, "solved": number % 2 == 0, "run": run.json})
        records[-1] |= {"weights": weights, "curve": curve, "test_error": float(generator.lognormal()), "accuracy": 0.5}
    with Store(filled) as store:
        store.add(records)
        known = {record["id"]: record for record in store.records()}
    for record in records:
        known[record["id"]]["curve"] = record["curve"]
    return Chaos(random.Random(seed), folder, truth, filled, known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=int, default=1_300, help="about how many")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", choices=[fault.__name__ for fault in SHARES])
    options = parser.parse_args()
    torch.set_num_threads(1)
    total = sum(times * weight for times, weight in SHARES.values())
    end = time.monotonic() + 60 * options.minutes
    counts: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as name:
        chaos = prepared(Path(name), options.seed)
        for fault, (times, weight) in SHARES.items():
            if options.only not in (None, fault.__name__):
                continue
            wanted = max(1, round(times * options.faults / total))
            done = broken = 0
            while done < wanted and time.monotonic() < end:
                done += 1
                try:
                    fault(chaos)
                except Broken as error:
                    broken += 1
                    print(f"{fault.__name__} {done}: {error}", flush=True)
            counts[fault.__name__] = {"faults": done * weight, "broken": broken}
            note = "" if done == wanted else f" (of {wanted * weight}: time is up)"
            print(f"{fault.__name__}: {done * weight} faults, {broken} broken promises{note}", flush=True)
    faults = sum(count["faults"] for count in counts.values())
    broken = sum(count["broken"] for count in counts.values())
    print(json.dumps({"seed": options.seed, "faults": faults, "broken": broken}))
    sys.exit(min(broken, 100))


if __name__ == "__main__":
    main()
