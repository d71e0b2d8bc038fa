"""Writes docs/results/training-rule.md from benchmarks/results/rule.json: `python benchmarks/rule_page.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from nalm.bench.results.stats import wilson

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "rule.json"
REAL = HERE / "results" / "rule_real.jsonl"
ROUNDING = 1e-10  # relative errors below this are alike
PAGE = HERE.parent / "docs" / "results" / "training-rule.md"
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
        lines.append([name, share([by[2]]), by[2]["on_grid"], steps, published, of([by[10]])])
    head = ["inputs", "solved, 2 hidden", "on the grid", "median / last step", "published NMU / sNMU (5 million steps)"]
    return table([*head, "10 hidden"], lines)


def networks(rows: list[Row]) -> str:
    """Cohorts of networks."""
    lines = [
        [
            r["kind"] + ("" if r["tuned"] else " *"), r["case"], share([r], "exact"),
            f"{r['median_step']:g} / {r['last_step']}" if r["median_step"] else "-", r["median_loss"],
            share([r["adam"]], "exact"), r["adam"]["median_loss"],
        ]
        for r in rows
    ]  # fmt: skip
    head = ["network", "target", "unit exact", "median / last step", "median deployed loss", "Adam, as many steps"]
    return table([*head, "its median deployed loss"], lines)


def real(rows: list[Row]) -> str:
    """Single networks."""
    lines = []
    for case in dict.fromkeys(r["case"] for r in rows):
        own = [r for r in rows if r["case"] == case]
        ways = {way: [r[way] for r in own] for way in ("rule", "adam", "adam_time")}
        middle = {way: median(r["error"] for r in done) for way, done in ways.items()}
        worst = max(r["rule"]["error"] / max(r["adam_time"]["error"], ROUNDING) for r in own)
        cells = [f"{sum(r['exact'] for r in done)}/{len(done)}, {middle[way]:.1e}" for way, done in ways.items()]
        slower = median(r["rule"]["seconds"] / r["adam"]["seconds"] for r in own)
        lines.append([case, f"{own[0]['rate']:g}", *cells, f"{worst:.2g}", f"{slower:.1f}"])
    head = ["network", "rate", "rule: exact, error", "Adam, equal steps", "Adam, equal time", "worst ratio of errors"]
    return table([*head, "cost of a step"], lines)


def beyond(rows: list[Row]) -> str:
    """The issue's list."""
    lines = []
    for item, target in dict.fromkeys((r["item"], r["target"]) for r in rows):
        own = [r for r in rows if (r["item"], r["target"]) == (item, target)]
        each = "; ".join(f"{r['data']}: {share([r])}" for r in own) if len(own) > 1 else own[0]["data"]
        lines.append([item, target, of(own), each])
    return table(["item", "target", "solved (latest step)", "by range"], lines)


def cost(rows: list[Row]) -> str:
    """Time per step."""
    lines = [[r["case"], r["runs"], r["adam"], r["rule"], f"{r['rule'] / r['adam']:.1f}"] for r in rows]
    return table(["model", "runs in the cohort", "Adam, µs", "rule, µs", "ratio"], lines)


SECTIONS = {"singles": singles, "two_layer": two_layer, "networks": networks, "beyond": beyond, "cost": cost}


def page() -> str:
    """The template with each part's table in its place; a part that was not measured is said to be missing."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = (HERE / "rule_page.in.md").read_text(encoding="utf-8")
    for name, section in SECTIONS.items():
        shown = f"*Not measured with this version yet: `python benchmarks/rule.py {name}`.*"
        if name in kept:
            shown = f"{section(kept[name]['rows'])}\n\n*`python benchmarks/rule.py {name}`.*"
        text = text.replace("{{ " + name + " }}", shown)
    rows = [json.loads(line) for line in REAL.read_text(encoding="utf-8").splitlines()]
    seeds = sorted({row["seed"] for row in rows})
    made = f"*`python benchmarks/rule_real.py {seeds[0]} {seeds[-1]}`.*"
    return text.replace("{{ real }}", f"{real(rows)}\n\n{made}")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
