"""Build the playground, docs/playground/index.html, one page that needs no network: `python -m pages.playground.build`.

The page is put together from the files beside this one and `data.json`: declarations and recipes of the units, the
starts of a few seeds, and the paths on which `nalm.LocalGaussNewton` walks from them. `--record` asks the library for
all of that anew (a minute); without it the page is only put together again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import nalm
from nalm.bench.distribution import Uniform, Union
from nalm.bench.tasks.arithmetic import OPERATIONS, RANGES
from nalm.core.unit import Unit
from nalm.core.weight import IDENTITY, LOGISTIC, Weight
from nalm.units.nac import TANH_SIGMOID
from pages.committed import DOCS

HERE = Path(__file__).parent
PAGE = DOCS / "playground" / "index.html"
DATA = HERE / "data.json"
PARTS = {
    "{{ style }}": ["style.css"],
    "{{ script }}": ["engine.js", "formula.js", "stories.js", "pictures.js", "page.js"],
}

UNITS: dict[str, tuple[str, ...]] = {
    "NAU": ("add", "sub"),
    "NMU": ("mul",),
    "SNMU": ("mul",),
    "NAC": ("add", "sub"),
    "MulNAC": ("mul", "div"),
    "NALU": ("add", "sub", "mul", "div"),
    "INALU": ("add", "sub", "mul", "div"),
    "NRU": ("mul", "div"),
    "NMRU": ("mul", "div"),
    "RealNPU": ("mul", "div"),
    "NPU": ("mul", "div"),
}
"""The units shown, with the operations each is meant for."""

ALL_RANGES = RANGES | {"U[-0.1,0.1)": (Uniform(-0.1, 0.1), Uniform(-0.3, 0.3))}
"""The nine ranges of the literature, and one of our own for the singularity of division."""

SEEDS = range(6)  # starts on offer
SAMPLES = 1  # per step of the rule: with the 128 that Adam sees, most paths would be a single jump
STEPS = 60  # the longest path
CALM = 12  # steps the rule has to stay at the solution before its path counts as finished

LINKS = {IDENTITY: "identity", LOGISTIC: "logistic", TANH_SIGMOID: "tanh-sigmoid"}
LETTERS = {
    "W": "w",
    "W_im": "v",
    "W_hat": "ŵ",
    "W_gate": "m̂",
    "G": "G",
    "g": "g",
    "g_hat": "ĝ",
    "add.W_hat": "ŵ",
    "add.W_gate": "m̂",
    "multiply.W_hat": "v̂",
    "multiply.W_gate": "n̂",
}


# -- what the library says about its units -------------------------------------------------------------------------


def declarations(unit: Unit) -> Iterator[tuple[str, Weight, Unit]]:
    """Every weight of a unit with its full name, in the order of the parameters."""
    for path, part in unit.named_modules():
        for name, weight in part.weights.items() if isinstance(part, Unit) else ():
            yield f"{path}.{name}".lstrip("."), weight, part


def facts(name: str) -> dict[str, Any]:
    """Declaration, recipe and starts of a unit, as plain data."""
    unit: Unit = getattr(nalm, name)(2, 1, seed=0)
    weights = []
    for path, weight, part in declarations(unit):
        parameters = [path + suffix for suffix in weight.link.suffixes]
        weights.append(
            {
                "name": path,
                "link": LINKS[weight.link],
                "parameters": parameters,
                "letters": [LETTERS[p] for p in parameters],
                "size": weight.raw(part)[0].numel(),
                "box": weight.box,
                "keep": weight.keep,
                "grid": weight.grid,
                "pulls": [pull.__name__ for pull in weight.pulls],
            }
        )
    recipe = unit.recipe
    return {
        "weights": weights,
        "recipe": {
            "rate": recipe.rate,
            "steps": recipe.steps,
            "batch": recipe.batch,
            "penalties": {key: {"kind": type(s).__name__, **vars(s)} for key, s in recipe.penalties.items()},
            "clip": asdict(recipe.clip),
        },
        "paper": unit.paper,
        "starts": [rounded(flat(getattr(nalm, name)(2, 1, seed=seed))) for seed in SEEDS],
        **({"noise": unit.noise} if isinstance(unit, nalm.SNMU) else {}),
    }


def flat(unit: Unit) -> Tensor:
    """All raw parameters of a unit as one vector, in the order of the declarations."""
    return torch.cat([raw.detach().reshape(-1) for _, w, part in declarations(unit) for raw in w.raw(part)])


def rounded(vector: Tensor) -> list[float]:
    """Numbers short enough to be embedded: four decimals, whole ones as such."""
    return [int(v) if v.is_integer() else v for v in (round(v, 4) for v in vector.double().tolist())]


def ranges() -> dict[str, dict[str, list[float]]]:
    """For each range where training inputs come from, and the ends of what is shown: training and test range."""
    spans = {}
    for label, (train, test) in ALL_RANGES.items():
        tests = [test.first, test.second] if isinstance(test, Union) else [test]
        shown = [min(u.low for u in (train, *tests)), max(u.high for u in (train, *tests))]
        spans[label] = {"train": [train.low, train.high], "shown": shown}
    return spans


# -- the rule ------------------------------------------------------------------------------------------------------


def path_of(name: str, operation: str, train: Uniform, seed: int) -> dict[str, Any]:
    """The walk of the rule from the start of a seed: weights after each step, and whether it ended on the solution."""
    unit: Unit = getattr(nalm, name)(2, 1, seed=seed)
    rule = nalm.LocalGaussNewton(unit)
    target = OPERATIONS[operation]
    generator = torch.Generator().manual_seed(seed)

    def inputs(count: int) -> Tensor:
        return train.low + (train.high - train.low) * torch.rand(count, 2, generator=generator)

    check = inputs(64)

    def evaluate(x: Tensor) -> tuple[Tensor, Tensor]:
        output = unit(x)
        return output, (output - target(x[:, :1], x[:, 1:])).square().mean()

    def solved() -> bool:
        with torch.no_grad():
            output = unit.eval()(check)
        unit.train()
        # two grid points differ by far more than a percent, the NPU's epsilon changes small inputs by less
        return unit.on_grid() and torch.allclose(output, target(check[:, :1], check[:, 1:]), rtol=0.01, atol=0)

    walk, since = [rounded(flat(unit))], None
    for step in range(1, STEPS + 1):
        rule.step(evaluate, inputs(SAMPLES))
        walk.append(rounded(flat(unit)))
        since = (since or step) if solved() else None
        if since is not None and step >= since + CALM:
            break
    return {"walk": walk[: since + 1] if since else walk, "solved": since is not None}


def record() -> dict[str, Any]:
    """Everything the page needs from the library."""
    torch.set_num_threads(1)
    units = {name: facts(name) for name in UNITS}
    paths: dict[str, list[dict[str, Any]]] = {}
    for name, operations in UNITS.items():
        if getattr(nalm, name).form is None:  # a gate: the rule leaves it to the base optimiser
            continue
        for operation in operations:
            for label, (train, _) in ALL_RANGES.items():
                paths[f"{name} {operation} {label}"] = [path_of(name, operation, train, seed) for seed in SEEDS]
    return {"units": units, "ranges": ranges(), "samples": SAMPLES, "paths": paths}


# -- the page ------------------------------------------------------------------------------------------------------


def page() -> str:
    """The page from its parts."""
    html = (HERE / "template.html").read_text(encoding="utf-8")
    for place, names in PARTS.items():
        html = html.replace(place, "\n".join((HERE / name).read_text(encoding="utf-8") for name in names))
    # "</" would end the script element that holds the data
    return html.replace("{{ data }}", DATA.read_text(encoding="utf-8").strip().replace("</", "<\\/"))


def summary(paths: dict[str, list[dict[str, Any]]]) -> str:
    """How many recorded paths end on the solution, and the longest."""
    walks = [path for group in paths.values() for path in group]
    solved = [len(path["walk"]) - 1 for path in walks if path["solved"]]
    failed = [f"{key} seed {seed}" for key, g in paths.items() for seed, p in enumerate(g) if not p["solved"]]
    text = f"{len(solved)} of {len(walks)} paths of the rule reach the solution, the longest in {max(solved)} steps"
    return text + (f"; not: {', '.join(failed)}" if failed else "")


def main() -> None:
    """Write the page, with `--record` from what the library does now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="ask the library for starts and paths anew")
    if parser.parse_args().record:
        data = record()
        DATA.write_text(json.dumps(data, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
        print(summary(data["paths"]))
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {PAGE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
