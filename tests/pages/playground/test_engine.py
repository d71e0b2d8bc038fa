"""The page's engine computes what the library computes: output, error, gradient, steps of Adam, perfect weights."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
import torch
from torch import Tensor

import nalm
from nalm.core.uniforms import supplied
from nalm.core.unit import Unit
from nalm.core.weight import IDENTITY
from pages.playground import build
from tests.pages.playground.engine import load_data, needs_node, run_engine

pytestmark = needs_node
NAMES = list(build.UNITS)
SAMPLES = 24
STEPS = 4
LATE = 30_000  # a step at which every scheduled penalty is on

# -- random cases, computed by the library -------------------------------------------------------------------------


def set_raw(unit: Unit, numbers: Tensor) -> None:
    """Write one vector into all raw parameters, in the order of the page."""
    numbers = numbers.double()
    with torch.no_grad():
        for _, weight, part in build.declarations(unit):
            for raw in weight.raw(part):
                raw.copy_(numbers[: raw.numel()].reshape(raw.shape))
                numbers = numbers[raw.numel() :]
    assert numbers.numel() == 0


def random_raw(unit: Unit) -> Tensor:
    """Weights anywhere they may be; those a clamp keeps in their box also outside of it, squashed ones also far out."""
    parts = []
    for _, weight, part in build.declarations(unit):
        for raw in weight.raw(part):
            squashed = weight.link is not IDENTITY
            low, high = weight.box or ((-4, 4) if squashed else (-1.5, 1.5))
            wide = 0.0 if weight.projection else 0.3
            parts.append((low - wide) + (high - low + 2 * wide) * torch.rand(raw.numel(), dtype=torch.float64))
            if squashed:
                parts[-1][-1] = 21.0  # beyond 20 the iNALU's penalty ends
    return torch.cat(parts)


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the page's engine is asked, and what the library answers."""
    torch.manual_seed(NAMES.index(name))
    unit: Unit = getattr(nalm, name)(2, 1).double()
    raw = random_raw(unit)
    set_raw(unit, raw)
    x = torch.rand(SAMPLES, 2, dtype=torch.float64) * 5 - 2.5
    target = torch.randn(SAMPLES, 1, dtype=torch.float64)
    u = torch.rand(2, SAMPLES, dtype=torch.float64)
    asked = {
        "unit": name,
        "p": raw.tolist(),
        "x": x.flatten().tolist(),
        "target": target.flatten().tolist(),
        "noise": (1 + 4 * u).T.flatten().tolist(),
        "late": LATE,
        "steps": STEPS,
    }

    outputs = unit.eval()(x).flatten().tolist()
    unit.train()
    optimiser = torch.optim.Adam(unit.parameters(), unit.recipe.rate)
    guide = nalm.guide(unit, optimiser)
    guide.load_state_dict({"step": LATE, "validation_error": 0.5})
    answer: dict[str, Any] = {"outputs": outputs, "steps": []}
    for _ in range(STEPS):
        with supplied(lambda _: u):
            error = (unit(x) - target).square().mean()
        loss = error + guide.penalty()
        optimiser.zero_grad()
        loss.backward()
        gradient = [raw.grad for _, w, part in build.declarations(unit) for raw in w.raw(part)]
        told = torch.cat([torch.zeros(0) if g is None else g.reshape(-1).clone() for g in gradient])
        optimiser.step()
        guide.report(error.item())
        answer["steps"].append({"error": error.item(), "gradient": told.tolist(), "p": build.flat(unit).tolist()})
    return asked, answer


COMPUTE = """
say(given.map(({ unit: name, p, x, target, noise, late, steps }) => {
  const one = unit(name);
  const outputs = target.map((_, s) => one.inference.output(p, x.slice(2 * s, 2 * s + 2)));
  const state = Engine.adam(one, p);
  Object.assign(state, { step: late, error: 0.5 });
  const batch = { x, target, noise };
  const told = [];
  for (let k = 0; k < steps; k++) {
    const { gradient } = state.gradient(batch);
    const alone = one.training.error(state.p, x, target, noise);
    const error = state.advance(batch);
    told.push({ error, alone, gradient: [...gradient], p: [...state.p] });
  }
  return { outputs, steps: told };
}));
"""


@functools.cache
def compared() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """By unit, the library's answer and the page's; node is started once for all of them."""
    cases = [case(name) for name in NAMES]
    answers = run_engine(COMPUTE, [asked for asked, _ in cases])
    return {name: (expected, got) for name, (_, expected), got in zip(NAMES, cases, answers, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_outputs(name: str) -> None:
    expected, got = compared()[name]
    assert got["outputs"] == pytest.approx(expected["outputs"], rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_error_gradient_and_steps_of_adam(name: str) -> None:
    expected, got = compared()[name]
    assert len(got["steps"]) == STEPS
    for want, have in zip(expected["steps"], got["steps"], strict=True):
        assert have["error"] == pytest.approx(want["error"], rel=1e-9)
        assert have["alone"] == have["error"]
        assert have["gradient"] == pytest.approx(want["gradient"], rel=1e-7, abs=1e-10)
        assert have["p"] == pytest.approx(want["p"], rel=1e-9, abs=1e-11)
    assert got["steps"][-1]["p"] != got["steps"][0]["p"]


def test_projection_puts_back_the_same_weights() -> None:
    cases = []
    for name in NAMES:
        unit = getattr(nalm, name)(2, 1).double()
        cases.append((name, (3 * torch.randn(build.flat(unit).numel(), dtype=torch.float64)).tolist()))
    script = "say(given.map(([name, p]) => [...unit(name).project(Float64Array.from(p))]));"
    for (name, raw), got in zip(cases, run_engine(script, cases), strict=True):
        unit = getattr(nalm, name)(2, 1).double()
        set_raw(unit, torch.tensor(raw, dtype=torch.float64))
        assert got == build.flat(unit.project_()).tolist(), name


# -- what weights mean ---------------------------------------------------------------------------------------------

WANTED = {"add": "a + b", "sub": "a - b", "mul": "a*b", "div": "a/b"}


def test_perfect_weights_read_as_the_operation() -> None:
    script = "say(given.map(([name, operation, p]) => [...unit(name).solution(operation, p)]));"
    data = load_data()
    cases = [(n, o, data["units"][n]["starts"][0]) for n in NAMES for o in build.UNITS[n] if n != "NALU"]
    assert len(cases) >= 20
    for (name, operation, _), raw in zip(cases, run_engine(script, cases), strict=True):
        unit = getattr(nalm, name)(2, 1).double()
        set_raw(unit, torch.tensor(raw))
        text = str(nalm.read(unit, names=["a", "b"]))
        assert text.replace("Abs(a)", "a").replace("Abs(b)", "b") == WANTED[operation], (name, operation)


def test_the_reading_of_rounded_weights_is_what_the_rounded_unit_computes() -> None:
    script = "say(given.map(([name, p]) => unit(name).reading(p)));"
    cases = []
    for name in NAMES:
        unit = getattr(nalm, name)(2, 1).double()
        cases += [(name, random_raw(unit).tolist()) for _ in range(8)]
    x = torch.tensor([[1.7, -2.3]], dtype=torch.float64)
    for (name, raw), found in zip(cases, run_engine(script, cases), strict=True):
        unit = getattr(nalm, name)(2, 1).double()
        set_raw(unit, torch.tensor(raw))
        if name == "NALU":
            assert found is None
            continue
        size = x.abs() if found.get("magnitudes") else x
        told = torch.tensor(found.get("sum") or found["product"], dtype=torch.float64)
        y = float((told * size).sum() if "sum" in found else size.pow(told).prod())
        assert unit.snapped().eval()(x).item() == pytest.approx(y, rel=1e-6), (name, raw)


def test_every_unit_offers_the_operations_it_is_recorded_for() -> None:
    offered = run_engine("say(Object.keys(data.units).map((n) => [n, unit(n).operations]));", None)
    assert {name: tuple(operations) for name, operations in offered} == build.UNITS


# -- the stories ---------------------------------------------------------------------------------------------------

TRAIN = """
say(STORIES.map((story) => {
  const one = unit(story.unit);
  const state = Engine.adam(one, data.units[story.unit].starts[story.seed]);
  const next = Engine.batches(one, data.ranges[story.range].train, story.operation, story.seed);
  const { shown } = data.ranges[story.range];
  const arrived = () => one.gap(story.operation, state.p) < 1e-6 && one.solves(story.operation, state.p, shown);
  for (let step = 0; step < one.recipe.steps && !arrived(); step++) state.advance(next());
  const ruled = story.ruleUnit ?? story.unit;
  const path = data.paths[`${ruled} ${story.operation} ${story.range}`][story.seed];
  const end = path.walk[path.walk.length - 1];
  return { ...story, arrived: one.solves(story.operation, state.p, shown), solved: path.solved,
    ruleGap: unit(ruled).gap(story.operation, end), ruleSteps: path.walk.length - 1, from: path.walk[0],
    start: data.units[ruled].starts[story.seed] };
}));
"""


@pytest.mark.slow
def test_in_every_story_adam_ends_as_told_and_the_rule_at_the_solution() -> None:
    stories = run_engine(TRAIN, None)
    assert {s["adam"] for s in stories} == {"solved", "stuck"}
    for story in stories:
        assert story["arrived"] == (story["adam"] == "solved"), story["id"]
        assert story["solved"], story["id"]
        assert story["ruleGap"] < 1e-6, story["id"]
        assert story["from"] == story["start"], story["id"]


def test_the_library_still_walks_every_story() -> None:
    stories = run_engine("say(STORIES);", None)
    for story in stories:
        train, _ = build.ALL_RANGES[story["range"]]
        path = build.path_of(story.get("ruleUnit", story["unit"]), story["operation"], train, story["seed"])
        assert path["solved"], story["id"]


@pytest.mark.parametrize("name", NAMES)
def test_declarations_recipes_and_starts_are_those_of_the_library(name: str) -> None:
    assert load_data()["units"][name] == json.loads(json.dumps(build.facts(name))), "run build.py --record"
