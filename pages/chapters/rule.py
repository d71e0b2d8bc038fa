"""What the training rule reaches: tables of `rule.json`, `rule-real.jsonl` and `rule-adverse.jsonl` in results/."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import geometric_mean, median
from typing import Any

from nalm.bench.results.stats import wilson
from pages.committed import RESULTS
from pages.markdown import markdown_table

ROUNDING = 1e-10  # relative errors below this are alike
Row = dict[str, Any]

PUBLISHED_DIV = {  # Mistry et al. 2022, NMRU, ten inputs
    "Benford": ".16", "TN(-1,3)": ".48", "TN(0,1)": ".04", "TN(1,3)": ".92", "U[-50,50)": "0", "U[-100,100)": "0",
}  # fmt: skip
PUBLISHED_MUL = {"U[-1.2,-1.1)": ".68", "U[-2,-1)": ".80"}  # NMU, two inputs, re-run of its authors; 1 elsewhere
PUBLISHED_STACK = {  # NMU / stochastic NMU, 5 million steps
    "U[-20,-10)": "figure only", "U[-2,-1)": "1 / -", "U[-1.2,-1.1)": "0 / 0", "U[-0.2,-0.1)": ".75 / .90",
    "U[-2,2)": ".78 / 1", "U[0.1,0.2)": ".80 / .90", "U[1,2)": "1 / -", "U[1.1,1.2)": "0 / 0", "U[10,20)": "1 / -",
}  # fmt: skip
PUBLISHED_SINGLE = {  # what is printed, by unit, operation and inputs
    ("NMU", "mul", 2): "1, but .80 and .68 on two negative ranges",
    ("NMRU", "div", 10): ".92 mean of nine ranges, .99 on mixed signs, 0 to .92 elsewhere",
    ("ModifiedRealNPU", "div", 2): ".64 on U[-2,2), .44 on mixed signs",
    ("ModifiedRealNPU", "div", 10): ".85 mean of nine ranges, .77 on mixed signs, 0 on most others",
    ("NAU", "add", 2): "1", ("NAU", "sub", 2): "1",
    ("NAU", "add", 10): "1, but fails on ±[1.1,1.2)", ("NAU", "sub", 10): "1",
    ("NAU", "sub", 100): "1, but fails on ±[1.1,1.2)",
}  # fmt: skip


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table of anything."""
    return markdown_table(head, [[str(cell) for cell in row] for row in rows])


@cache
def _measured(name: str) -> list[Row]:
    lines = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if "rule" in row]


def folded(title: str, body: str) -> str:
    """Details that open on a click."""
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def share(rows: Iterable[Row], key: str = "solved") -> str:
    """How many of how many."""
    rows = list(rows)
    return f"{sum(r[key] for r in rows)}/{sum(r['runs'] for r in rows)}"


def of(rows: Iterable[Row], key: str = "solved") -> str:
    """How many of how many, and how late the last of them."""
    rows = list(rows)
    return f"{share(rows, key)} (≤ {max((r['last_step'] or 0 for r in rows), default=0)})" if rows else "-"


def _singles(rows: list[Row]) -> str:
    """Single units: one row for each unit, operation and number of inputs."""
    solved, runs = sum(r["solved"] for r in rows), sum(r["runs"] for r in rows)
    _, low, high = wilson(solved, runs)
    kinds = list(dict.fromkeys((r["unit"], r["op"], r["inputs"]) for r in rows))
    kinds.sort(key=lambda k: (["NMU", "NAU", "NMRU", "NRU", "ModifiedRealNPU"].index(k[0]), k[1], k[2]))
    lines = []
    for kind in kinds:
        own = [r for r in rows if (r["unit"], r["op"], r["inputs"]) == kind]
        lines.append([*kind, len(own), of(own), share(own, "on_grid"), PUBLISHED_SINGLE.get(kind, "")])
    head = ["unit", "operation", "inputs", "distributions", "solved (latest step)", "on the grid", "published success"]
    return (
        f"{solved} of {runs} runs solved (95 % interval {low:.4f} to {high:.4f}), "
        f"{sum(r['on_grid'] for r in rows)} of them with every weight exactly on the grid, the last one at step "
        f"{max(r['last_step'] or 0 for r in rows)}. Published budgets are 50,000 and 100,000 steps.\n\n"
        + table(head, lines)
        + "\n\n"
        + folded("Every distribution", _every_distribution(rows))
    )


def _every_distribution(rows: list[Row]) -> str:
    units = {"mul": ["NMU"], "div": ["NMRU", "NRU", "ModifiedRealNPU"]}
    pick = {(r["unit"], r["op"], r["inputs"], r["data"]): r for r in rows}
    lines = []
    for name in dict.fromkeys(r["data"] for r in rows if r["op"] == "mul"):
        cells = [of([pick[u, op, i, name]]) for op, us in units.items() for u in us for i in (2, 10)]
        lines.append([name, *cells[:2], PUBLISHED_MUL.get(name, ""), *cells[2:], PUBLISHED_DIV.get(name, "")])
    head = ["inputs", "mul 2", "mul 10", "published NMU 2", "NMRU 2", "NMRU 10", "NRU 2", "NRU 10", "Real NPU mod. 2"]
    return table([*head, "Real NPU mod. 10", "published NMRU 10"], lines)


def _two_layer(rows: list[Row]) -> str:
    """Products of two sums; a dash stands for what was not run."""
    lines = []
    for name, published in PUBLISHED_STACK.items():
        two, ten = ([r for r in rows if r["data"] == name and r["hidden"] == hidden] for hidden in (2, 10))
        found = [(share([r]), r["on_grid"], f"{r['median_step']:g} / {r['last_step']}") for r in two]
        lines.append([name, *(found[0] if found else ("-", "-", "-")), published, of(ten)])
    head = ["inputs", "solved, 2 hidden", "on the grid", "median / last step", "published NMU / sNMU (5 million steps)"]
    return table([*head, "10 hidden"], lines)


def _networks(rows: list[Row]) -> str:
    """Cohorts of networks."""
    lines = [
        [
            r["kind"] + ("" if r["tuned"] else " *"), r["case"], r["seeds"], share([r], "exact"),
            f"{r['median_step']:g} / {r['last_step']}" if r["median_step"] else "-", r["median_loss"],
            share([r["adam"]], "exact"), r["adam"]["median_loss"],
        ]
        for r in rows
    ]  # fmt: skip
    head = [
        "network",
        "target",
        "seeds",
        "unit exact",
        "median / last step",
        "median deployed loss",
        "Adam, as many steps",
    ]
    return table([*head, "its median deployed loss"], lines)


def real() -> str:
    """Single networks: the rule, Adam in as many steps, Adam in as much time."""
    rows, lines = _measured("rule-real.jsonl"), []
    for case in _cases(rows):
        own = [r for r in rows if r["case"] == case]
        ways = {way: [r[way] for r in own] for way in ("rule", "adam", "adam_time")}
        cells = [_exact_and_error(done, own[0]["findable"]) for done in ways.values()]
        slower = median(r["rule"]["seconds"] / r["adam"]["seconds"] for r in own)
        ratio = _mean_and_worst(_ratios(own, "rule", "adam_time"))
        lines.append([case, _seeds(own), f"{own[0]['rate']:g}", *cells, ratio, f"{slower:.2f}"])
    head = ["network", "seeds", "rate", "rule: exact, error", "Adam, equal steps", "Adam, equal time"]
    return table([*head, "ratio of errors, mean / worst", "cost of a step"], lines)


def adverse(unseen: bool) -> str:
    """Networks in which a rule could end far worse than Adam: those that led to changes, or those written later."""
    rows, lines = [r for r in _measured("rule-adverse.jsonl") if r["unseen"] is unseen], []
    for case in _cases(rows):
        own = [r for r in rows if r["case"] == case]
        by_steps, by_time, chance = (_ratios(own, *ways) for ways in COMPARED)
        lines.append([case, _seeds(own), _mean_and_worst(by_steps), _mean_and_worst(by_time), _mean_and_worst(chance)])
    head = ["network", "seeds", "as many steps: mean / worst", "as much time: mean / worst"]
    return table([*head, "Adam over itself: mean / worst"], lines)


def adverse_in_short() -> str:
    """How often one of these networks ends worse than Adam's by more than the aim, beside what chance does."""
    rows = [r for r in _measured("rule-adverse.jsonl") if r["unseen"]]
    means = [geometric_mean(_ratios([r for r in rows if r["case"] == c], "rule", "adam_time")) for c in _cases(rows)]
    by_steps, by_time, chance = (sum(ratio > AIM for ratio in _ratios(rows, *ways)) for ways in COMPARED)
    return (
        f"Of these {len(means)} networks {sum(mean <= AIM for mean in means)} end on average at no more than {AIM} "
        f"times Adam's error in as much time. Of the {len(rows)} single runs {by_time} are worse than that in as much "
        f"time and {by_steps} after as many steps. Adam, trained again from the same start on other batches of the "
        f"same kind, is more than {AIM} times worse than itself in {chance} of them."
    )


COMPARED = (("rule", "adam"), ("rule", "adam_time"), ("adam_again", "adam"))  # whose errors, over whose


def _ratios(rows: list[Row], one: str, other: str) -> list[float]:
    return [_floored(r[one]) / _floored(r[other]) for r in rows]


def _mean_and_worst(ratios: Sequence[float]) -> str:
    return f"{geometric_mean(ratios):.2g} / {max(ratios):.2g}"


def _cases(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(r["case"] for r in rows))


LINEAR_ABOVE = ("gain", "noise", "BatchNorm", "law and MLP")  # parts of the names of networks
LEARNED_BELOW = ("LayerNorm below", "Dropout below", "GRU below", "transformer below")
AIM = 1.2  # the largest ratio of errors at equal time that is wanted


def real_in_short() -> str:
    """The table of single networks in a few sentences."""
    rows = _measured("rule-real.jsonl")
    linear, learned = (
        [r for r in rows if any(part in r["case"] for part in parts)] for parts in (LINEAR_ABOVE, LEARNED_BELOW)
    )
    steps, time = (geometric_mean(_ratios(learned, "rule", way)) for way in ("adam", "adam_time"))
    by_case = {name: [r for r in rows if r["case"] == name] for name in _cases(rows)}
    means = {name: geometric_mean(_ratios(own, "rule", "adam_time")) for name, own in by_case.items()}
    missed = ", ".join(f"{name} ({mean:.2f})" for name, mean in means.items() if mean > AIM)
    over = sorted(ratio for ratio in _ratios(rows, "rule", "adam_time") if ratio > AIM)
    by_chance = sum(ratio > AIM for ratio in _ratios(rows, "adam_again", "adam"))
    met = sum(mean <= AIM for mean in means.values())
    return (
        f"In short: below a linear layer or BatchNorm, and beside an MLP, the rule finds the whole numbers in "
        f"{_exact(linear, 'rule')} runs, Adam in {_exact(linear, 'adam')}. Above a network that could fit the target "
        f"without the unit (MLP, GRU, transformer) it holds the right numbers, both 1, in {_exact(learned, 'rule')} "
        f"runs, Adam in {_exact(learned, 'adam')}; there its error is {steps:.2f} times Adam's for as many steps and "
        f"{time:.2f} times Adam's in as much time.\n\n"
        f"The aim was never to be more than {AIM} times worse than Adam in as much time. It is met on average in {met} "
        f"of the {len(means)} networks{f', not in {missed}' if missed else ''}. It is missed in {len(over)} of "
        f"{len(rows)} single runs, by a factor of {median(over):.1f} in the middle and {over[-1]:.1f} at most. How "
        f"much of that is chance: Adam, trained again from the same start on other batches of the same kind, is more "
        f"than {AIM} times worse than itself in {by_chance} of {len(rows)} runs."
    )


def _exact(rows: list[Row], way: str) -> str:
    return f"{sum(r[way]['exact'] for r in rows)} of {len(rows)}"


def _exact_and_error(done: list[Row], findable: bool) -> str:
    exact = f"{sum(r['exact'] for r in done)}/{len(done)}, " if findable else ""
    return f"{exact}{median(r['error'] for r in done):.1e}"


def _floored(trained: Row) -> float:
    return max(float(trained["error"]), ROUNDING)


def _seeds(rows: list[Row]) -> str:
    """Stretches of seeds without a gap."""
    seeds = sorted(row["seed"] for row in rows)
    starts = [seed for seed in seeds if seed - 1 not in seeds]
    ends = [seed for seed in seeds if seed + 1 not in seeds]
    return ", ".join(f"{first}-{last}" for first, last in zip(starts, ends, strict=True))


def _beyond(rows: list[Row]) -> str:
    """Harder stacks, by target."""
    lines = []
    for item, target in dict.fromkeys((r["item"], r["target"]) for r in rows):
        own = [r for r in rows if (r["item"], r["target"]) == (item, target)]
        each = "; ".join(f"{r['data']}: {share([r])}" for r in own) if len(own) > 1 else own[0]["data"]
        lines.append([item, target, of(own), each])
    return table(["item", "target", "solved (latest step)", "by range"], lines)


def _losses(rows: list[Row]) -> str:
    """Exact runs by loss and problem, the rule's and Adam's; then batches of few samples."""
    by_loss, by_batch = ([r for r in rows if key in r] for key in ("loss", "batch"))
    problems = list(dict.fromkeys(r["problem"] for r in by_loss))
    cells = {(r["loss"], r["problem"]): f"{r['exact']} / {r['adam']}" for r in by_loss}
    lines = [[loss, *(cells[loss, p] for p in problems)] for loss in dict.fromkeys(r["loss"] for r in by_loss)]
    batches = [[r["batch"], f"{r['on_grid']}/{r['runs']}", r["ratio"]] for r in by_batch]
    small = table(["samples in a batch", "on the grid", "error over Adam's, as many steps"], batches)
    return f"{table(['loss', *problems], lines)}\n\n{small}"


def _misfits(rows: list[Row]) -> str:
    """Lone units on targets they cannot be: the rule's errors over Adam's."""
    columns = list(dict.fromkeys((r["unit"], r["range"]) for r in rows))
    cells = {(r["target"], r["unit"], r["range"]): f"{r['mean']:.2g} / {r['worst']:.2g}" for r in rows}
    lines = [[t, *(cells[t, *column] for column in columns)] for t in dict.fromkeys(r["target"] for r in rows)]
    return table(["target", *(f"{unit}, {data}" for unit, data in columns)], lines)


def _gates(rows: list[Row]) -> str:
    """Chains of gated layers, by formula, and all of a kind together."""
    lines = []
    for units in dict.fromkeys(r["units"] for r in rows):
        own = [r for r in rows if r["units"] == units]
        lines += [[units, r["formula"], of([r]), share([r["adam"]])] for r in own]
        lines.append([units, f"**all {len(own)}**", of(own), share(r["adam"] for r in own)])
    return table(["layers", "formula", "rule: solved (latest step)", "Adam, as many steps"], lines)


def _cost(rows: list[Row]) -> str:
    """Time per step."""
    lines = [[r["case"], r["runs"], r["adam"], r["rule"], f"{r['rule'] / r['adam']:.1f}"] for r in rows]
    return table(["model", "runs in the cohort", "Adam, µs", "rule, µs", "ratio"], lines)


SECTIONS = {
    "singles": _singles, "two_layer": _two_layer, "networks": _networks,
    "beyond": _beyond, "losses": _losses, "misfits": _misfits, "gates": _gates, "cost": _cost,
}  # fmt: skip


def part(name: str) -> str:
    """A part's table and the command that measures it; one that was not measured is said to be missing."""
    kept = json.loads((RESULTS / "rule.json").read_text(encoding="utf-8"))
    command = f"`python benchmarks/rule.py {name}`"
    if name not in kept:
        return f"*Not measured with this version: {command}.*"
    return f"{SECTIONS[name](kept[name]['rows'])}\n\n*{command}.*"
