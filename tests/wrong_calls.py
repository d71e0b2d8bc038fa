"""Random wrong calls of the library: each is answered by a check of ours, in words, never by an error from below.

A call takes values that suit, with one or two replaced by something that mostly does not. It may succeed. If it fails,
the error must have been raised by a statement of the library itself (or of the language, for an argument that is
missing or unknown; or of scikit-learn's own checks of tables), as a TypeError, ValueError or one of our own kinds, and
it must say what was wrong: name the argument or show its value.

`make test` tries some; many, with a seed of one's own:

    python -m tests.wrong_calls 10000 --seed 1
"""

from __future__ import annotations

import argparse
import dis
import inspect
import math
import os
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import nalm
from nalm import bench
from nalm.bench.results.schema import Depth
from nalm.bench.studies import find_study
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.start import uniform

HOME = Path(inspect.getfile(nalm)).parent
CHECKERS = "sklearn/utils/"  # what it says of a table is what its users know
ALLOWED = (TypeError, ValueError, LookupError, ImportError, OSError, MemoryError)

# -- what is put in the place of an argument -------------------------------------------------------------------------


def _always(value: Any) -> Callable[[], Any]:
    return lambda: value


PLAIN: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 7, 2.5, -0.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, 10**30, -(10**30)),
    *(10**15, 1j, np.int64(3), np.float32(0.5), "", "x", "W", "mse", "cuda", "auto", "NMU", "\0", "a b", b"x"),
    *((), (1, 2), (2,), (-1, 1), (1, -1), [], [1.0], ["a"], ["a", "b"], ["a", "a"], [None], [1, "a"], [[1, 2], [3]]),
    *(range(3), ..., Path("nowhere/x.db")),
]
JUNK: dict[str, Callable[[], Any]] = {
    **{repr(value): _always(value) for value in PLAIN},
    "a dict": dict,
    "a dict of a number": lambda: {"a": 1},
    "a dict of a weight": lambda: {"W": nalm.NMU.W},
    "a dict of nonsense": lambda: {"W": 3, 5: None},
    "a set": lambda: {1, "a"},
    "an object": object,
    "a type": lambda: int,
    "a unit's class": lambda: nalm.NMU,
    "a function": lambda: lambda: None,
    "a function of anything": lambda: lambda *_, **__: None,
    "a generator": lambda: (i for i in "ab"),
    "a unit": lambda: nalm.NMU(2, 1, seed=0),
    "a cohort": lambda: nalm.NAU(3, 2, runs=4, seed=0),
    "a linear layer": lambda: torch.nn.Linear(2, 1),
    "an empty network": lambda: torch.nn.Sequential(),
    "a network": lambda: torch.nn.Sequential(torch.nn.Linear(2, 3), nalm.NAU(3, 1, seed=0)),
    "a scalar": lambda: torch.tensor(1.0),
    "no numbers": lambda: torch.zeros(0),
    "no rows": lambda: torch.zeros(0, 2),
    "a cube": lambda: torch.zeros(2, 3, 4),
    "whole numbers": lambda: torch.ones(4, 2, dtype=torch.int64),
    "complex numbers": lambda: torch.ones(4, 2, dtype=torch.complex64),
    "doubles": lambda: torch.rand(4, 2, dtype=torch.float64),
    "no place": lambda: torch.ones(4, 2, device="meta"),
    "an array": lambda: np.ones((4, 2)),
    "a vector": lambda: np.arange(8.0),
    "an array of text": lambda: np.array([["a", "b"]]),
    "an array of objects": lambda: np.array([[None, {}]], dtype=object),
    "an array of dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "an array of nan": lambda: np.full((8, 2), np.nan),
    "an empty array": lambda: np.zeros((0, 2)),
    "a dtype": lambda: torch.int32,
    "a device": lambda: torch.device("cpu"),
    "a recipe": lambda: nalm.Recipe(steps=10),
    "an optimiser": lambda: nalm.Adam(0.1),
    "a schedule": lambda: nalm.Ramp(1, 2, 3),
    "torch's optimiser": lambda: torch.optim.SGD(nalm.NMU(2, 1).parameters(), 0.1),
    "another's optimiser": lambda: torch.optim.Adam([torch.nn.Parameter(torch.zeros(2))], 0.1),
    "a model": lambda: bench.single("NMU", 2),
    "a task": lambda: SingleModule(*RANGES["U[1,2)"]),
    "a weight": lambda: nalm.Weight("out in", uniform(-1, 1)),
    "a study": lambda: find_study("single-module/mul"),
}

# -- what is called --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """Something of the library that is called with named values that suit, each made anew."""

    name: str
    function: Callable[..., Any]
    suits: Mapping[str, Callable[[], Any]]


def _is(**values: Any) -> dict[str, Callable[[], Any]]:
    return {name: _always(value) for name, value in values.items()}


def _unit() -> Any:
    return nalm.NMU(2, 1, seed=0)


def _x() -> torch.Tensor:
    return torch.rand(8, 2, generator=torch.Generator().manual_seed(0)) + 1


def _use(unit: nalm.Unit) -> None:
    """What anybody does with a unit."""
    size = 2
    for part in unit.runs:
        size *= part
    if max(unit.in_features, unit.out_features, size) > 100:
        return
    unit(torch.ones(3, unit.in_features or 2, dtype=next(unit.parameters()).dtype))
    unit.penalty()
    unit.sparsity()
    str(unit)


def units() -> list[Call]:
    """Constructors, each followed by use."""
    calls = []
    for name in nalm.__all__:
        source = getattr(nalm, name)
        if not (inspect.isclass(source) and issubclass(source, nalm.Unit)) or source is nalm.Unit:
            continue
        if source.__init__ is not nalm.Unit.__init__:
            continue
        options = {option: declared.default for option, declared in source.options.items()}
        suits = _is(in_features=2, out_features=1, runs=(), seed=0, weights=None, device=None, dtype=None, **options)
        if name.startswith("Hill") and name in ("HillAngles", "HillCircle"):
            suits |= _is(out_features=2)
        calls.append(Call(name, lambda source=source, **given: _use(source(**given)), suits))
    return calls


def containers() -> list[Call]:
    """Units made of units."""

    def make(**given: Any) -> Any:
        return lambda source: _use(source(**given))

    return [
        Call(
            "Chain",
            lambda first, second: _use(nalm.Chain(first, second)),
            {"first": _unit, "second": lambda: nalm.NAU(1, 1)},
        ),
        Call("Gated", lambda **given: _use(nalm.Gated(**given)), {"first": _unit, "second": lambda: nalm.NAU(2, 1)}),
        Call(
            "InputGated",
            lambda **given: _use(nalm.InputGated(**given)),
            {"first": _unit, "second": lambda: nalm.NAU(2, 1)},
        ),
        Call("Fold", lambda **given: _use(nalm.Fold(**given)), {"cell": _unit, **_is(start=1.0, every_step=False)}),
        Call(
            "Foreign",
            lambda **given: _use(nalm.Foreign(**given)),
            {"make": lambda: lambda: torch.nn.Linear(2, 1), **_is(in_features=2, out_features=1, runs=(), seed=0)},
        ),
        Call("NMU()", lambda x: _unit()(x), {"x": _x}),
        Call("NMU(runs=3)()", lambda x: nalm.NMU(2, 1, runs=3)(x), {"x": _x}),
        Call("NMU.snapped", lambda within: _unit().snapped(within), _is(within=0.1)),
        Call(
            "NMU.reset_parameters",
            lambda seed, attempt: _unit().reset_parameters(seed, attempt),
            _is(seed=0, attempt=0),
        ),
        Call("NMU[]", lambda index: nalm.NMU(2, 1, runs=(2, 3))[index], _is(index=1)),
        Call(
            "Weight",
            _declare,
            {
                "start": lambda: uniform(-1, 1),
                **_is(shape="out in", box=(-1, 1), grid=(-1, 0, 1), keep="project", pulls=(), counts=True),
            },
        ),
    ]


def _declare(**given: Any) -> None:
    class Own(nalm.Unit):
        W = nalm.Weight(**given)

        def compute(self, x: torch.Tensor) -> torch.Tensor:
            return self.W @ x

    _use(Own(2, 1))


def recipes() -> list[Call]:
    """Recipes and schedules, each followed by some steps of a guided loop."""

    def guided(recipe: Any) -> None:
        unit = _unit()
        optimiser = torch.optim.Adam(unit.parameters())
        guide = nalm.guide(unit, optimiser, recipe)
        repr(guide)
        for _ in range(2):
            (unit(_x()).mean() + guide.penalty()).backward()
            optimiser.step()
        guide.report(0.5)

    def scheduled(source: Any) -> Callable[..., None]:
        def call(**given: Any) -> None:
            schedule = source(**given)
            guided(nalm.Recipe(penalties={"to_grid": schedule}, steps=100).scaled(50))

        return call

    suits: dict[Any, dict[str, Callable[[], Any]]] = {
        nalm.Constant: _is(value=1.0),
        nalm.Ramp: _is(to=10.0, start=1, end=5),
        nalm.Staircase: _is(first=1e-3, last=1.0, every=10),
        nalm.Late: _is(strength=1.0, after=1, error=1.0),
    }
    calls = [Call(source.__name__, scheduled(source), own) for source, own in suits.items()]
    of_recipe = _is(steps=100, batch=8, loss="mse", gradient_noise=0.0, restart=None) | {
        "optimiser": lambda: nalm.Adam(0.01),
        "penalties": lambda: {"to_grid": nalm.Constant(1.0)},
        "clip": lambda: nalm.Clip(1.0),
    }
    return [
        *calls,
        Call("Adam", lambda rate: guided(nalm.Recipe(nalm.Adam(rate))), _is(rate=0.1)),
        Call("SGD", lambda rate: guided(nalm.Recipe(nalm.SGD(rate))), _is(rate=0.1)),
        Call("Clip", lambda **given: guided(nalm.Recipe(clip=nalm.Clip(**given))), _is(norm=1.0, value=None)),
        Call(
            "Restart",
            lambda **given: guided(nalm.Recipe(restart=nalm.Restart(**given))),
            _is(check=10, memory=50, error=1.0, validate=10),
        ),
        Call("Recipe", lambda **given: _trained(nalm.Recipe(**given)), of_recipe),
        Call("Recipe.scaled", lambda steps: guided(nalm.NMU.recipe.scaled(steps)), _is(steps=100)),
        Call("Recipe.at_rate", lambda rate: guided(nalm.NMU.recipe.at_rate(rate)), _is(rate=0.1)),
        Call("guide", _guide, {"model": _unit, **_is(optimizer=None, recipe=None, steps=100)}),
        Call(
            "Guide.report",
            lambda validation_error: _guide(_unit(), None, None, 100).report(validation_error),
            _is(validation_error=0.5),
        ),
        Call(
            "Guide.load_state_dict",
            lambda state: _guide(_unit(), None, None, 100).load_state_dict(state),
            {"state": lambda: _guide(_unit(), None, None, 100).state_dict()},
        ),
    ]


def _guide(model: Any, optimizer: Any, recipe: Any, steps: Any) -> nalm.Guide:
    if optimizer is None and isinstance(model, torch.nn.Module):
        optimizer = torch.optim.Adam([torch.zeros(1), *model.parameters()])
    guide = nalm.guide(model, optimizer, recipe, steps)
    guide.penalty()
    repr(guide)
    return guide


def _trained(recipe: nalm.Recipe) -> None:
    """A few steps by the benchmark's own engine; what would take long is only named."""
    task = SingleModule(*RANGES["U[1,2)"])
    run = bench.Run(bench.single("NMU", 2), task, bench.Descent(recipe), seed=0, every=50)
    assert run.id
    if recipe.steps <= 100 and recipe.batch <= 100:
        list(bench.train([run], options=_torch_options()))


def _torch_options() -> Any:
    from nalm.bench.engine.options import Options

    return Options(engine="torch", threads=1)


def readings() -> list[Call]:
    """Reading, training rules, solving."""

    def read(model: Any, names: Any, within: Any, x: Any) -> None:
        expression = nalm.read(model, names, within)
        expression.numpy()(x)
        expression.residual(x)

    def torch_function(x: Any) -> None:
        nalm.read(_unit().snapped()).torch()(x)

    def logic(model: Any, names: Any, x: Any) -> None:
        nalm.read_logic(model, names).disagreement(x)

    def ruled(model: Any, base: Any, settings: Any, evaluate: Any) -> None:
        rule = nalm.LocalGaussNewton(model, base, settings)
        given = _evaluate(model) if evaluate is None else evaluate
        for _ in range(2):
            rule.step(given)
        rule.report()

    def learned(model: Any, base: Any, seed: Any, settings: Any) -> None:
        learner = nalm.FormulaLearner(model, base, seed=seed, settings=settings)
        learner.step(_evaluate(model))

    def rule_state(state: Any) -> None:
        nalm.LocalGaussNewton(_unit()).load_state_dict(state)

    table: dict[str, Callable[[], Any]] = {
        "X": lambda: np.random.default_rng(0).uniform(1, 2, (16, 2)),
        "y": lambda: np.random.default_rng(0).uniform(1, 2, (16, 2)).prod(1),
    }
    options = _is(noise=None, effort="quick", functions=(), units=None, max_seconds=2.0)
    regressor: Any = nalm.ArithmeticRegressor
    fitted = regressor(effort="quick", functions=()).fit(table["X"](), table["y"]())
    return [
        Call("read", read, {"model": _unit, "x": _x, **_is(names=["a", "b"], within=0.1)}),
        Call("Expression.torch", torch_function, {"x": _x}),
        Call("read_logic", logic, {"model": lambda: nalm.NLRL(2, 1, seed=0), "x": _x, **_is(names=["a", "b"])}),
        Call("LocalGaussNewton", ruled, {"model": _unit, **_is(base=None, settings=None, evaluate=None)}),
        Call(
            "LocalGaussNewton.load_state_dict",
            rule_state,
            {"state": lambda: nalm.LocalGaussNewton(_unit()).state_dict()},
        ),
        Call(
            "FormulaLearner",
            learned,
            {"model": lambda: nalm.FormulaLayer(2, 1), **_is(base=None, seed=0, settings=None)},
        ),
        Call(
            "solve",
            nalm.solve,
            {
                **table,
                **options,
                **_is(names=["a", "b"], like=None, weights=None, seed=0),
                "report": lambda: lambda _: None,
            },
        ),
        Call(
            "ArithmeticRegressor",
            lambda X, y, sample_weight, **given: nalm.ArithmeticRegressor(**given).fit(X, y, sample_weight),
            {**table, **options, **_is(strict=False, verbose=False, random_state=0, sample_weight=None)},
        ),
        Call("ArithmeticRegressor.predict", fitted.predict, {"X": table["X"], **_is(index=0)}),
        Call("ArithmeticRegressor.sympy", fitted.sympy, _is(index=0)),
        Call("ArithmeticRegressor.latex", fitted.latex, _is(index=0)),
    ]


def _evaluate(model: Any) -> Callable[[], tuple[torch.Tensor, torch.Tensor]]:
    def evaluate() -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.rand(16, getattr(model, "in_features", 2) or 2)
        output = model(x)
        loss = (output - x[:, :1]).square()
        runs = getattr(model, "runs", ())
        return output, loss.flatten(len(runs)).mean(-1) if runs else loss.mean()

    return evaluate


def benchmark() -> list[Call]:
    """Runs, studies, stores."""

    def model() -> bench.Model:
        return bench.single("NMU", 2)

    def task() -> bench.Task:
        return SingleModule(*RANGES["U[1,2)"])

    def method() -> bench.Method:
        return bench.Descent(nalm.Recipe(steps=10, batch=8))

    def cell() -> bench.Cell:
        return bench.Cell("a", "b", model(), task(), method())

    def study() -> bench.Study:
        return bench.Study("s", "title", "nothing", (cell(),), seeds=2)

    def run(**given: Any) -> None:
        assert bench.Run(**given).id

    def of_cell(**given: Any) -> None:
        of_study(name="s", title="t", reproduces="n", cells=(bench.Cell(**given),), seeds=2)

    def of_study(**given: Any) -> None:
        made = bench.Study(**given)
        if made.seeds < 100:
            made.ids()
            made.quick().ids()
            [run.id for _, run in made.runs()]

    def layer(**given: Any) -> None:
        bench.Model("m", (bench.Layer(**given),)).build()

    def in_store(what: Callable[..., Any]) -> Callable[..., None]:
        def call(**given: Any) -> None:
            with tempfile.TemporaryDirectory() as folder, bench.Store(f"{folder}/runs.db") as store:
                store.add([{"id": "a", "unit": "NMU", "solved": True}])
                store.save_checkpoint("k", 1, b"x")
                found = what(store, **given)
                if inspect.isgenerator(found):
                    list(found)

        return call

    def opened(path: Any, readonly: Any, say: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                bench.Store(path, readonly, say).close()
            finally:
                os.chdir(before)

    def export(store: bench.Store, path: Any, **given: Any) -> None:
        store.export(store.path.parent / path if isinstance(path, str) else path, **given)

    def train(runs: Any, store: Any, options: Any) -> None:
        list(bench.train(runs, store, options))

    small = {"model": model, "task": task, "method": method}
    record = {"record": lambda: {"id": "b", "solved": True, "seed": 3}}
    return [
        Call("single", lambda **given: bench.single(**given).build(), _is(unit="NMU", inputs=2, outputs=1, label="x")),
        Call("Layer", layer, _is(unit="NMU", inputs=2, outputs=1, options={})),
        Call(
            "Model",
            lambda **given: bench.Model(**given).build(),
            {"layers": lambda: (bench.Layer("NMU", 2, 1),), **_is(label="m")},
        ),
        Call("Model.build", lambda runs: model().build(runs), _is(runs=(2,))),
        Call("Run", run, {**small, **_is(seed=0, every=5, retire=False, study="s")}),
        Call("Run.ids", lambda seeds: bench.Run(model(), task(), method(), 0).ids(seeds), _is(seeds=[0, 1])),
        Call("Cell", of_cell, {**small, **_is(row="a", column="b", every=5, retire=False)}),
        Call("Cell.ids", lambda seeds: cell().ids(seeds), _is(seeds=2)),
        Call(
            "Study",
            of_study,
            {
                "cells": lambda: (cell(),),
                **_is(name="s", title="t", reproduces="n", seeds=2, published={}, notes=(), measured=()),
            },
        ),
        Call("Study.only", lambda rows, columns: study().only(rows, columns), _is(rows=["a"], columns=["b"])),
        Call("Study.trained", lambda way: study().trained(way), _is(way="published")),
        Call("Study.row_called", lambda name: study().row_called(name), _is(name="a")),
        Call(
            "cells_over",
            lambda rows, columns, every: bench.cells_over(rows, columns, every),
            {"rows": lambda: [(model(), method())], "columns": lambda: {"c": task()}, **_is(every=5)},
        ),
        Call(
            "Descent",
            lambda recipe: bench.Run(model(), task(), bench.Descent(recipe), 0).id,
            {"recipe": lambda: nalm.Recipe(steps=10)},
        ),
        Call("Rule", lambda **given: bench.Run(model(), task(), bench.Rule(**given), 0).id, _is(steps=10, batch=8)),
        Call("Solve", lambda **given: bench.Run(model(), task(), bench.Solve(**given), 0).id, _is(samples=16)),
        Call(
            "train",
            train,
            {
                "runs": lambda: [bench.Run(model(), task(), method(), 0, every=5)],
                "options": _torch_options,
                **_is(store=None),
            },
        ),
        Call("Store", opened, {"say": lambda: lambda _: None, **_is(path="runs.db", readonly=False)}),
        Call("Store.add", in_store(lambda store, record: store.add([record])), record),
        Call("Store.add all", in_store(lambda store, records: store.add(records)), {"records": lambda: [{"id": "b"}]}),
        *(
            Call(
                f"Store.add {name}",
                in_store(lambda store, value, name=name: store.add([{"id": "b", name: value}])),
                _is(value=suits),
            )
            for name, suits in {
                "id": "c",
                "seed": 1,
                "solved": True,
                "unit": "NMU",
                "test_error": 0.5,
                "run": {"a": 1},
                "own": 2.0,
                "curve": None,
            }.items()
        ),
        Call("Store.missing", in_store(lambda store, ids: store.missing(ids)), _is(ids=["a"])),
        Call(
            "Store.records",
            in_store(lambda store, **given: store.records(**given)),
            _is(depth=Depth.OUTCOME, unit="NMU", seed=3, id=["a"]),
        ),
        Call("Store.curve", in_store(lambda store, run_id: store.curve(run_id)), _is(run_id="a")),
        Call("Store.export", in_store(export), _is(path="t.csv", compact=True, force=False, unit="NMU")),
        Call(
            "Store.save_checkpoint",
            in_store(lambda store, **given: store.save_checkpoint(**given)),
            _is(key="k", step=1, state=b"x", runs=["a"]),
        ),
        Call("Store.load_checkpoint", in_store(lambda store, key: store.load_checkpoint(key)), _is(key="k")),
        Call("Store.has_checkpoint", in_store(lambda store, key: store.has_checkpoint(key)), _is(key="k")),
        Call("Store.drop_checkpoint", in_store(lambda store, key: store.drop_checkpoint(key)), _is(key="k")),
    ]


CALLS = [*units(), *containers(), *recipes(), *readings(), *benchmark()]


@st.composite
def wrong_calls(draw: st.DrawFn) -> tuple[Call, dict[str, str]]:
    """A call, and which of its arguments are replaced by what."""
    chance = random.Random(draw(st.integers(0, 2**64 - 1)))  # every choice as likely: none is simpler than another
    call = chance.choice(CALLS)
    replaced = chance.sample(sorted(call.suits), min(chance.choice((1, 1, 2)), len(call.suits)))
    return call, {name: chance.choice(sorted(JUNK)) for name in replaced}


# -- what must hold --------------------------------------------------------------------------------------------------


def complaint(call: Call, replaced: Mapping[str, str]) -> str | None:
    """What is wrong with how the library answers, if anything."""
    values = {name: JUNK[replaced[name]]() if name in replaced else make() for name, make in call.suits.items()}
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere), quiet():
        try:
            call.function(**values)
        except Exception as error:
            return _judged(error, call, values, replaced)
    return None


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings are not what is tried here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _judged(error: Exception, call: Call, values: Mapping[str, Any], replaced: Mapping[str, str]) -> str | None:
    last = _innermost(error.__traceback__)
    where = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
    said = f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:200]}"
    if _by_the_language(error) or any(
        CHECKERS in frame.filename for frame in traceback.extract_tb(error.__traceback__)
    ):
        return None
    if not _raised_by_a_check(last):
        return f"from below: {said}"
    if not isinstance(error, ALLOWED) and not type(error).__module__.startswith("nalm."):
        return f"of the wrong kind: {said}"
    if not any(word in str(error).replace(",", "") for word in _words(call, values, replaced)) or len(str(error)) < 15:
        return f"does not say which: {said}"
    return None


def _words(call: Call, values: Mapping[str, Any], replaced: Mapping[str, str]) -> Iterator[str]:
    """Any of these tells a reader which argument is meant: its name, value, kind, a part of it, who was called."""
    yield from re.split(r"[ .(\[]", call.name)
    for name in replaced:
        yield name
        value = values[name]
        yield type(value).__name__
        yield repr(value)[:40].replace(",", "")
        yield str(value)[:40].replace(",", "") or "''"
        yield {"run_id": "run", "sample_weight": "weights"}.get(name, name)
        if isinstance(value, list | tuple):
            yield from map(repr, value)


def _innermost(trace: TracebackType | None) -> TracebackType:
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _raised_by_a_check(last: TracebackType) -> bool:
    """Whether the innermost frame is the library's and stands at a `raise`."""
    if not Path(last.tb_frame.f_code.co_filename).is_relative_to(HOME):
        return False
    at = next(step for step in dis.get_instructions(last.tb_frame.f_code) if step.offset == last.tb_lasti)
    return at.opname in ("RAISE_VARARGS", "RERAISE")


def _by_the_language(error: Exception) -> bool:
    """Python itself refuses an argument that is missing or unknown, and says which."""
    return isinstance(error, TypeError) and "argument" in str(error) and "()" in str(error).split(" ")[0]


def many(count: int, found: list[str] | None = None) -> Callable[[], None]:
    """A test of so many calls; with a list it goes on after each complaint."""
    phases = list(Phase) if found is None else [Phase.generate]

    @settings(max_examples=count, deadline=None, database=None, phases=phases, suppress_health_check=list(HealthCheck))
    @given(wrong_calls())
    def test(example: tuple[Call, dict[str, str]]) -> None:
        call, replaced = example
        complained = complaint(call, replaced)
        if complained is not None and found is None:
            raise AssertionError(f"{call.name} with {replaced}: {complained}")
        if complained is not None and found is not None:
            found.append(f"{call.name} with {replaced}: {complained}")

    return test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    began = time.perf_counter()
    found: list[str] = []
    seed(chosen.seed)(many(chosen.count, found))()
    print("\n".join(sorted(found)))
    print(
        f"{chosen.count} calls, seed {chosen.seed}: {len(found)} answered badly ({time.perf_counter() - began:.0f} s)"
    )
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
