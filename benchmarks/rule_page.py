"""Writes docs/results/training-rule.md from benchmarks/results/rule.json: `python benchmarks/rule_page.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rule_figure import draw

from nalm.bench.results.stats import wilson

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "rule.json"
PAGE = HERE.parent / "docs" / "results" / "training-rule.md"
FIGURE = PAGE.parent / "figures" / "training-rule.svg"
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
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(c) for c in row) + " |" for row in rows)])


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


def singles(rows: list[Row]) -> str:
    """Section 2."""
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


def two_layer(rows: list[Row]) -> str:
    """Section 3."""
    lines = []
    for name, published in PUBLISHED_STACK.items():
        by = {r["hidden"]: r for r in rows if r["data"] == name}
        steps = f"{by[2]['median_step']:g} / {by[2]['last_step']}"
        lines.append([name, share([by[2]]), by[2]["on_grid"], steps, published, *(of([by[k]]) for k in (3, 6, 10))])
    head = ["inputs", "solved, 2 hidden", "on the grid", "median / last step", "published NMU / sNMU (5 million steps)"]
    return table([*head, "3 hidden", "6 hidden", "10 hidden"], lines)


def held_out(rows: list[Row]) -> str:
    """Families not used while tuning."""
    families = list(dict.fromkeys(r["family"] for r in rows))
    lines = []
    for family in families:
        own = [r for r in rows if r["family"] == family]
        weak = [f"{r['case']} ({share([r])})" for r in own if r["solved"] < r["runs"]]
        lines.append([family, len(own), of(own), share(own, "on_grid"), ", ".join(weak)])
    short = table(["family", "cases", "solved (latest step)", "on the grid", "not all solved on"], lines)
    each = [[r["family"], r["case"], of([r]), r["on_grid"]] for r in rows]
    return short + "\n\n" + folded("Every case", table(["family", "case", "solved (latest step)", "on the grid"], each))


def networks(rows: list[Row], same: list[Row]) -> str:
    """Section 5."""
    control = {(r["kind"], r["case"]): r for r in same}
    lines = [
        [
            r["kind"] + ("" if r["tuned"] else " *"), r["case"], share([r], "exact"),
            f"{r['median_step']:g} / {r['last_step']}" if r["median_step"] else "-", r["median_loss"],
            share([control[r["kind"], r["case"]]], "exact"), share([r["adam"]], "exact"), r["adam"]["median_loss"],
        ]
        for r in rows
    ]  # fmt: skip
    head = ["network", "target", "unit exact", "median / last step", "median last loss"]
    return table([*head, "Adam, as many steps", "Adam, twice as many", "its median last loss"], lines)


def beyond(rows: list[Row]) -> str:
    """The issue's list."""
    lines = []
    for item, target in dict.fromkeys((r["item"], r["target"]) for r in rows):
        own = [r for r in rows if (r["item"], r["target"]) == (item, target)]
        each = "; ".join(f"{r['data']}: {share([r])}" for r in own) if len(own) > 1 else own[0]["data"]
        lines.append([item, target, of(own), each])
    return table(["item", "target", "solved (latest step)", "by range"], lines)


def drift(rows: list[Row]) -> str:
    """Inputs that change while learning."""
    names = list(dict.fromkeys(r["drift"] for r in rows))
    ops = ("mul", "div", "add", "sub")
    pick = {(r["op"], r["drift"]): r for r in rows}
    return table(["drift", *ops], [[n, *(of([pick[op, n]]) for op in ops)] for n in names])


def ablations(rows: list[Row]) -> str:
    """One ingredient less."""
    tasks = list(dict.fromkeys(r["task"] for r in rows))
    stack, products = tasks[0], tasks[1:]
    lines = [[r["variant"], share([r]), r["on_grid"], ", ".join(r["failed"])] for r in rows if r["task"] == stack]
    first = table(["product of two sums", "solved", "on the grid", "not all solved on"], lines)
    variants = list(dict.fromkeys(r["variant"] for r in rows if r["task"] in products))
    pick = {(r["task"], r["variant"]): r for r in rows}
    lines = [[v, *(f"{share([pick[t, v]])}, {pick[t, v]['on_grid']} on the grid" for t in products)] for v in variants]
    return first + "\n\n" + table(["one unit", *products], lines)


def cost(rows: list[Row]) -> str:
    """Time per step."""
    lines = [[r["case"], r["runs"], r["adam"], r["rule"], f"{r['rule'] / r['adam']:.1f}"] for r in rows]
    return table(["model", "runs in the cohort", "Adam, µs", "rule, µs", "ratio"], lines)


def summary(kept: dict[str, Any]) -> str:
    """What a reader should see in a minute."""
    single, stacks, held = (kept[name]["rows"] for name in ("singles", "two_layer", "held_out"))
    lines = [
        ["single units, every published distribution", of(single), "0 to 1, in 50,000 or 100,000 steps"],
        ["product of two sums of 25 of 100 inputs", of(r for r in stacks if r["hidden"] == 2),
         "0 to 1, in 5 million steps; 0 on ±[1.1,1.2)"],
        ["the same with 3, 6 or 10 hidden units", of(r for r in stacks if r["hidden"] > 2), "about .6 with 10"],
        ["task families not used while tuning", of(held), "-"],
    ]  # fmt: skip
    inside, same = kept["networks"]["rows"], kept["controls"]["rows"]
    for kind in dict.fromkeys(r["kind"] for r in inside):
        own = [r for r in inside if r["kind"] == kind]
        equal = share((r for r in same if r["kind"] == kind), "exact")
        twice = share((r["adam"] for r in own), "exact")
        adam = f"Adam {equal} in {own[0]['steps']} steps, {twice} in twice as many"
        lines.append([f"inside a network: {kind}", of(own, "exact"), adam])
    open_ends = kept["beyond"]["rows"]
    for item in dict.fromkeys(r["item"] for r in open_ends):
        lines.append([item, of(r for r in open_ends if r["item"] == item), "-"])
    return table(["task", "rule: solved (latest step)", "published, or Adam re-run beside"], lines)


SECTIONS = {
    "singles": singles, "two_layer": two_layer, "held_out": held_out, "beyond": beyond, "drift": drift,
    "ablations": ablations, "cost": cost,
}  # fmt: skip


def page() -> str:
    """The template with each part's table in its place."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    missing = [name for name in (*SECTIONS, "networks", "controls") if name not in kept]
    if missing:
        raise SystemExit(f"Not measured yet: python benchmarks/rule.py {' '.join(missing)}")
    draw(kept, FIGURE)
    text = (HERE / "rule_page.in.md").read_text(encoding="utf-8").replace("{{ summary }}", summary(kept))
    inside = networks(kept["networks"]["rows"], kept["controls"]["rows"])
    seconds = kept["networks"]["seconds"] + kept["controls"]["seconds"]
    text = text.replace("{{ networks }}", f"{inside}\n\n*Measured in {seconds} s.*")
    for name, section in SECTIONS.items():
        shown = f"{section(kept[name]['rows'])}\n\n*Measured in {kept[name]['seconds']} s.*"
        text = text.replace("{{ " + name + " }}", shown)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
