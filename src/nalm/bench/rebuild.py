"""From a run's exact description back to the run: the inverse of `Run.json`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Any

import nalm.bench.tasks
from nalm.bench import distribution, method
from nalm.bench.find import import_all, subclasses
from nalm.bench.method import Descent, Method, Rule, Solve
from nalm.bench.run import Layer, Model, Run
from nalm.bench.task import Task
from nalm.core import optimiser, recipe
from nalm.core.recipe import Recipe


class CannotRebuild(ValueError):
    """A run that its description does not tell completely. The message says what is missing."""


def rebuilt(text: str, label: str = "", study: str = "") -> Run:
    """The run that `text` describes; its id is checked against the text.

    Args:
        label: the name its model has in tables, which the description leaves out.

    >>> from nalm.bench.run import single
    >>> from nalm.bench.tasks.arithmetic import RANGES, SingleModule
    >>> run = Run(single("NMU", 2), SingleModule(*RANGES["U[1,2)"]), Rule(100), seed=3)
    >>> rebuilt(run.json, "NMU") == run
    True
    """
    try:
        content = json.loads(text)
        layers = tuple(_layer(layer) for layer in content["model"])
        run = Run(
            model=Model(label or "+".join(layer.unit for layer in layers), layers),
            task=_object(content["task"]),
            method=_method(content["recipe"]),
            seed=content["seed"],
            every=content["every"],
            retire=content.get("retire", False),
            study=study,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise CannotRebuild(f"the description of the run cannot be read: {error!r}") from error
    if run.json != text:
        raise CannotRebuild("the description of the run leaves something out, such as the numbers of a table")
    return run


def _layer(content: Mapping[str, Any]) -> Layer:
    if "text" in content:
        raise CannotRebuild(f"{content['unit']} is a unit from a file of yours, of which only a fingerprint is kept")
    if set(content) != {"unit", "sizes", "options"}:
        raise CannotRebuild("the model is not a stack of layers")
    inputs, outputs = content["sizes"]
    return Layer(content["unit"], inputs, outputs, content["options"])


def _method(content: Mapping[str, Any]) -> Method:
    """Descent is written as its recipe; the rule and the solver as the optimisers that they once were."""
    if content["kind"] != "Recipe":
        found: Method = _object(content)
        return found
    kind = content.get("optimiser", {}).get("kind")
    plain: Recipe = _object({name: value for name, value in content.items() if name != "optimiser"})
    if kind == "LocalGaussNewton":
        return Rule(plain.steps, plain.batch)
    if kind == "Solver":
        return Solve(plain.batch)
    return Descent(_object(content))


def _object(content: Any) -> Any:
    """Nested plain data with its kinds back to the objects."""
    if isinstance(content, Mapping):
        values = {name: _object(value) for name, value in content.items() if name != "kind"}
        if "kind" not in content:
            return values
        if content["kind"] not in (kinds := _kinds()):
            raise CannotRebuild(f"there is no {content['kind']!r} in this version of nalm")
        return kinds[content["kind"]](**values)
    return tuple(_object(value) for value in content) if isinstance(content, list) else content


def _kinds() -> dict[str, Any]:
    """All data classes of which descriptions are made, by name."""
    import_all(nalm.bench.tasks)
    found: list[type] = [*subclasses(Task), *subclasses(Method)]  # type: ignore[type-abstract]
    for module in (distribution, method, recipe, optimiser, *_task_modules(found)):
        found += [value for value in vars(module).values() if isinstance(value, type)]
    return {kind.__name__: kind for kind in found if dataclasses.is_dataclass(kind)}


def _task_modules(kinds: list[type]) -> list[Any]:
    """Where tasks are defined: their own distributions stand beside them."""
    return [sys.modules[name] for name in dict.fromkeys(kind.__module__ for kind in kinds)]
