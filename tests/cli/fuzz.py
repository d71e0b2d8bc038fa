"""Random command lines, tables and unit files: whatever is typed or stands in a file, a command ends with a sentence.

`make test` tries some; many, with a seed of one's own:

    python -m tests.cli.fuzz lines 10000 --seed 1
    python -m tests.cli.fuzz tables 2000 --seed 1
    python -m tests.cli.fuzz units 1000 --seed 1
    python -m tests.cli.fuzz stores 1000 --seed 1
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from nalm.bench.results.store import Store
from nalm.cli.run import _train
from tests.cli.commands import Said, nalm
from tests.cli.test_own_files import STUDY, TASK, UNIT

# -- what is tried -------------------------------------------------------------------------------------------------

# Anything that a shell can pass on: no NUL, and bytes that are not UTF-8 as Python shows them.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
ODD = st.one_of(
    TEXT, st.sampled_from(["\udcff", "[/red]", ":x:", "\x1b[2J", "..", ".", "/", "~", "-", "--", "a" * 300])
)
NUMBERS = ["0", "1", "2", "-1", "3.5", "nan", "inf", "-inf", "1e400", "9" * 40, "1_0", "٣", "", "0x10", "1e-400"]
STUDIES = ["single-module/mul", "division/uniform", "two-layer/static", "single-module/mull", "study.py:STUDY"]
STUDIES += ["task.py:TASK", "task.py:Square", "study.py:nothing", "unit.py:Twice", ":", "::", "x:y"]
UNITS = ["NMU", "sNMU", "NMU,NAC•", "nmu", "NMUU", "unit.py:Twice", "unit.py:Nothing", "none.py:X", ",", "unit.py:"]
RANGES = ["U[1,2)", "U[-2,2)", "U[1,2),U[-2,2)", "U[1,3)", "u[1,2)", ")", "),", "U[1,2):U[2,6)", "U[2,1):U[1,2)"]
FILES = ["runs.db", "empty.db", "broken.db", "foreign.db", "table.csv", "results.csv", "results.csv.gz", "folder"]
FILES += [
    "none.db",
    "none.csv",
    "unit.py",
    "pipe",
    "out.csv",
    "out.csv.gz",
    "out.parquet",
    "out.png",
    "out.svg",
    "out.py",
]
COMMANDS = [
    "list",
    "run",
    "show",
    "figure",
    "compare",
    "solve",
    "export",
    "merge",
    "weights",
    "landscape",
    "starts",
    "speed",
    "doctor",
    "verify",
]

VALUES = {
    "--unit": UNITS,
    "--range": RANGES,
    "--ranges": RANGES,
    "--seeds": NUMBERS,
    "--seed": NUMBERS,
    "--steps": NUMBERS,
    "--rate": NUMBERS,
    "--batch": NUMBERS,
    "--epochs": NUMBERS,
    "--threads": NUMBERS,
    "--count": ["2", "3", "-1", "x"],
    "--noise": NUMBERS,
    "--recipe": ["published", "lgn", "solver", "lgm"],
    "--data": ["digits", "mnistt", ""],
    "--engine": ["auto", "native", "torch", "x"],
    "--device": ["cpu", "cuda", "meta", "mps", "x", "cuda:99"],
    "--effort": ["quick", "quickk"],
    "--target": ["y", "a", "nothing"],
    "--store": FILES,
    "--output": FILES,
    "--export": FILES,
    "--onnx": FILES,
    "--cluster": ["local:0", "local:x", "nowhere"],
}
FLAGS = ["--quick", "--retire", "--markdown", "--json", "--compact", "--force", "--help", "--version", "-x"]


def options() -> st.SearchStrategy[list[str]]:
    """One option, mostly with a value it might have."""
    named = [st.tuples(st.just(name), st.sampled_from(values)) for name, values in VALUES.items()]
    odd = st.tuples(st.sampled_from(sorted(VALUES)), ODD)
    return st.one_of(*named, odd, st.tuples(st.sampled_from(FLAGS))).map(list)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line: a command, arguments that mostly suit it, and options in any order."""
    command = draw(st.one_of(st.sampled_from(COMMANDS), st.sampled_from(COMMANDS), ODD))
    if command == "speed":  # times every case: only its mistakes are tried
        return [command, "--unit", draw(ODD) + "?"]
    suits = {"solve": ["table.csv", "results.csv", *FILES], "export": FILES, "merge": FILES}.get(command, STUDIES)
    words = draw(st.lists(st.one_of(st.sampled_from(suits), st.sampled_from(suits), ODD), max_size=3))
    words += [word for option in draw(st.lists(options(), max_size=5)) for word in option]
    tail = {"starts": ["--steps", "3", "--count", "3"], "weights": ["--steps", "3"]}.get(command, [])
    if command == "solve":
        tail = ["--effort", "quick"]
    return [command, *words, *tail]


CELLS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.integers(-5, 5).map(str),
    st.sampled_from(["", "1e200", "-1e308", "1e-320", "nan", "inf", "x", "1,5", '"', "0", "1e999", " 1 ", "١"]),
    TEXT,
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """The text of a table: mostly numbers, sometimes nothing like it."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=80))
    columns = draw(st.integers(1, 3))
    names = draw(
        st.lists(
            st.one_of(st.sampled_from(["a", "b", "x y", "sqrt", "a [m]"]), TEXT), min_size=columns, max_size=columns
        )
    )
    tame = draw(st.booleans())
    cell = st.floats(0.5, 9, width=32).map(repr) if tame else CELLS
    width = columns + 1
    body = draw(st.lists(st.lists(cell, min_size=width, max_size=width), max_size=8))
    if tame and draw(st.booleans()):  # something that has a formula, so that the way to its end is tried too
        body = [[*row[:-1], repr(float(row[0]) * float(row[-2]))] for row in body]
    head = [*(f'"{name}"' for name in names), "y"]
    return "\n".join(",".join(row) for row in [head, *body]).encode("utf-8", "surrogatepass")


@st.composite
def unit_files(draw: st.DrawFn) -> str:
    """A unit with some of its lines dropped, doubled or changed."""
    rows = UNIT.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(rows) - 1))
        change = draw(st.integers(0, 4))
        if change == 0:
            rows[at] = ""
        elif change == 1:
            rows.insert(at, rows[at])
        elif change == 2:
            rows[at] = rows[at].replace(
                draw(st.sampled_from(["out", "in", "W", "-1", "-2", "0", "x", "("])), draw(TEXT)
            )
        elif change == 3:
            rows.insert(
                at, draw(st.sampled_from(["import sys; sys.exit()", "raise KeyError", "1/0", "class Twice: pass"]))
            )
        else:
            rows[at] = rows[at] + draw(
                st.sampled_from([".long()", "[0]", ".sum()", "* None", ")", "  # é", ".detach()"])
            )
    return "\n".join(rows)


@st.composite
def results(draw: st.DrawFn) -> bytes:
    """A table of results, or almost."""
    names = draw(st.lists(st.sampled_from(["id", "solved", "solved_at", "sparsity", "seed", "more", ""]), max_size=5))
    known = st.sampled_from([run.id for _, run in nmu_study().runs()])
    cells = st.one_of(known, st.sampled_from(["true", "false", "", "nan", "-1", "1e999", "x", "None", "1000"]))
    body = draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), max_size=4))
    text = "\n".join(",".join(row) for row in [names, *body]).encode()
    return draw(st.sampled_from([text, text, text, b"\xff" + text, text[:-1] + b'"']))


@cache
def nmu_study() -> Any:
    from nalm.bench.studies import find_study

    return find_study("single-module/mul").only(["NMU"]).quick()


# -- what must hold ------------------------------------------------------------------------------------------------


def ends_with_a_sentence(*words: object) -> Said:
    """The property itself. `nalm` in `commands` already refuses a traceback and what the program did not expect."""
    said = nalm(*words)
    assert said.code in (0, 2), (words, said)
    if said.code == 2:
        assert said.errors.splitlines()[-1].startswith("nalm: "), (words, said)
    if "--json" in words and "--help" not in words and "--version" not in words:
        json.loads(said.output)
    assert "\x1b" not in said.output + said.errors, (words, said)
    return said


def _train_a_little(todo: list[Any], kept: Any, options: Any, cluster: Any) -> Counter[str]:
    """In place of training: how long a valid command trains is not what is tried here."""
    short = [run for run in todo[:1] if run.method.steps <= 20]
    return _train(short, kept, options, cluster)


@contextmanager
def playground() -> Iterator[Path]:
    """A folder with a file of every kind, as the current directory."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, mock.patch("nalm.cli.run._train", _train_a_little):
        shutil.copytree(_pattern().name, folder, dirs_exist_ok=True)
        os.mkfifo(f"{folder}/pipe")
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


@cache
def _pattern() -> tempfile.TemporaryDirectory[str]:
    """What every playground begins with, made once."""
    kept = tempfile.TemporaryDirectory()
    folder = Path(kept.name)
    for name, text in (("unit.py", UNIT), ("task.py", TASK), ("study.py", STUDY)):
        (folder / name).write_text(text)
    with Store(folder / "runs.db") as store:
        store.add([{"id": run.id, "solved": True, "solved_at": 1000} for _, run in nmu_study().runs()])
    (folder / "empty.db").touch()
    (folder / "broken.db").write_bytes((folder / "runs.db").read_bytes()[:2000])
    (folder / "foreign.db").write_bytes(b"not a database" * 100)
    lines = [f"{a},{b},{a * b}" for a in (1, 2, 3) for b in (2, 5, 7)]
    (folder / "table.csv").write_text("\n".join(["a,b,y", *lines]))
    (folder / "results.csv").write_text("id,solved\n")
    (folder / "results.csv.gz").write_bytes(gzip.compress(b"id,solved\nx,true\n"))
    (folder / "folder").mkdir()
    return kept


def try_line(line: list[str]) -> None:
    with playground():
        ends_with_a_sentence(*line)


def try_table(content: bytes) -> None:
    with playground():
        Path("drawn.csv").write_bytes(content)
        words = ("solve", "drawn.csv", "--target", "y", "--effort", "quick")
        ends_with_a_sentence(*words, "--export", "out.py")
        ends_with_a_sentence(*words, "--json")
        if Path("out.py").exists():
            compile(Path("out.py").read_text(encoding="utf-8"), "out.py", "exec")


def try_unit(drawn: tuple[str, str]) -> None:
    text, engine = drawn
    with playground():
        Path("unit.py").write_text(text, encoding="utf-8", errors="surrogatepass")
        words = ("run", "single-module/mul", "--unit", "unit.py:Twice", "--range", "U[1,2)")
        ends_with_a_sentence(*words, "--seeds", 1, "--steps", 5, "--engine", engine)


def try_results(content: bytes) -> None:
    with playground():
        Path("drawn.csv").write_bytes(content)
        for command in ("show", "compare"):
            ends_with_a_sentence(command, "single-module/mul", "--quick", "--unit", "NMU,sNMU", "--store", "drawn.csv")


def try_store(flips: list[tuple[int, int]]) -> None:
    with playground():
        content = bytearray(Path("runs.db").read_bytes())
        for place, bit in flips:
            content[place % len(content)] ^= 1 << bit
        Path("flipped.db").write_bytes(content)
        for words in (("show", "single-module/mul", "--quick", "--unit", "NMU"), ("export", "out.csv")):
            ends_with_a_sentence(*words, "--store", "flipped.db")
        ends_with_a_sentence("merge", "new.db", "flipped.db")


ENGINES = st.sampled_from(["torch"] * 9 + ["auto"])  # compiling takes a hundred times as long as five steps
FLIPS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 7)), min_size=1, max_size=3)
TRIALS: dict[str, tuple[Callable[[Any], None], st.SearchStrategy[Any]]] = {
    "lines": (try_line, lines()),
    "tables": (try_table, tables()),
    "units": (try_unit, st.tuples(unit_files(), ENGINES)),
    "results": (try_results, results()),
    "stores": (try_store, FLIPS),
}


def many(kind: str, count: int, failures: list[str] | None = None) -> Callable[[], None]:
    """A test of so many examples; with a list of failures it goes on after each."""
    trial, strategy = TRIALS[kind]
    phases = list(Phase) if failures is None else [Phase.generate]

    @settings(max_examples=count, deadline=None, database=None, phases=phases, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def test(example: Any) -> None:
        try:
            trial(example)
        except AssertionError as error:
            if failures is None:
                raise
            failures.append(f"{example!r}: {error}")
            print(failures[-1], flush=True)

    return test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(TRIALS))
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    began = time.perf_counter()
    failures: list[str] = []
    seed(chosen.seed)(many(chosen.kind, chosen.count, failures))()
    spent = time.perf_counter() - began
    print(f"{chosen.count} {chosen.kind}, seed {chosen.seed}: {len(failures)} ended otherwise ({spent:.0f} s)")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
