"""Writes docs/results/training-rule.md from benchmarks/results/rule.json: `python benchmarks/rule_page.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nalm.stats import wilson

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "rule.json"
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


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(c) for c in row) + " |" for row in rows)])


def of(rows: Iterable[Row]) -> str:
    """How many of how many, and how late the last of them."""
    rows = list(rows)
    if not rows:
        return "-"
    solved, runs = sum(r["solved"] for r in rows), sum(r["runs"] for r in rows)
    last = max((r["last_step"] or 0 for r in rows), default=0)
    return f"{solved}/{runs} (≤ {last})"


def singles(rows: list[Row]) -> str:
    """Section 2."""
    solved, runs = sum(r["solved"] for r in rows), sum(r["runs"] for r in rows)
    _, low, high = wilson(solved, runs)
    whole = sum(r["on_grid"] for r in rows)
    last = max(r["last_step"] for r in rows)
    units = {"mul": ["NMU"], "div": ["NMRU", "NRU", "ModifiedRealNPU"]}
    names = list(dict.fromkeys(r["data"] for r in rows if r["op"] == "mul"))
    pick = {(r["unit"], r["op"], r["inputs"], r["data"]): r for r in rows}
    lines = []
    for name in names:
        cells = [of([pick[u, op, i, name]]) for op, us in units.items() for u in us for i in (2, 10)]
        lines.append([name, *cells[:2], PUBLISHED_MUL.get(name, ""), *cells[2:], PUBLISHED_DIV.get(name, "")])
    head = ["inputs", "mul 2", "mul 10", "published NMU 2", "NMRU 2", "NMRU 10", "NRU 2", "NRU 10", "Real NPU mod. 2"]
    head += ["Real NPU mod. 10", "published NMRU 10"]
    sums = [
        [f"{op}, {i} inputs", of(r for r in rows if r["op"] == op and r["inputs"] == i)]
        for op in ("add", "sub")
        for i in (2, 10, 100)
    ]
    return (
        f"{solved} of {runs} runs solved (95 % interval {low:.4f} to {high:.4f}), {whole} of them with every weight "
        f"exactly on the grid, the last one at step {last}. Published budgets are 50,000 and 100,000 steps.\n\n"
        + table(head, lines)
        + "\n\nSums, NAU, all nine ranges together:\n\n"
        + table(["task", "solved (latest step)"], sums)
    )


def two_layer(rows: list[Row]) -> str:
    """Section 3."""
    lines = []
    for name, published in PUBLISHED_STACK.items():
        by = {r["hidden"]: r for r in rows if r["data"] == name}
        first = by[2]
        steps = f"{first['median_step']:g} / {first['last_step']}"
        lines.append([name, f"{first['solved']}/{first['runs']}", first["on_grid"], steps, published])
        lines[-1] += [of([by[k]]) if k in by else "-" for k in (3, 6, 10)]
    head = ["inputs", "solved, 2 hidden", "on the grid", "median / last step", "published NMU / sNMU (5 million steps)"]
    return table([*head, "3 hidden", "6 hidden", "10 hidden"], lines)


def held_out(rows: list[Row]) -> str:
    """Families not used while tuning."""
    lines = [[r["family"], r["case"], f"{r['solved']}/{r['runs']}", r["on_grid"], r["last_step"] or "-"] for r in rows]
    return table(["family", "case", "solved", "on the grid", "last step"], lines)


def networks(rows: list[Row]) -> str:
    """Section 5."""
    lines = [
        [r["kind"], r["case"], f"{r['exact']}/{r['runs']}", r["median_step"] or "-", r["largest_loss"]] for r in rows
    ]
    return table(["network", "target", "unit exact", "median step on the grid", "largest last loss / variance"], lines)


def drift(rows: list[Row]) -> str:
    """Inputs that change while learning."""
    names = list(dict.fromkeys(r["drift"] for r in rows))
    ops = ("mul", "div", "add", "sub")
    pick = {(r["op"], r["drift"]): r for r in rows}
    return table(["drift", *ops], [[n, *(of([pick[op, n]]) for op in ops)] for n in names])


def ablations(rows: list[Row]) -> str:
    """One ingredient less."""
    lines = [
        [r["task"], r["variant"], f"{r['solved']}/{r['runs']}", r["on_grid"], ", ".join(r["failed"])] for r in rows
    ]
    return table(["task", "variant", "solved", "on the grid", "not all solved on"], lines)


def cost(rows: list[Row]) -> str:
    """Time per step."""
    lines = [[r["case"], r["runs"], r["adam"], r["rule"], f"{r['rule'] / r['adam']:.1f}"] for r in rows]
    return table(["unit", "runs in the cohort", "Adam, µs", "rule, µs", "ratio"], lines)


SECTIONS = {
    "singles": singles, "two_layer": two_layer, "held_out": held_out, "networks": networks, "drift": drift,
    "ablations": ablations, "cost": cost,
}  # fmt: skip


def page() -> str:
    """The template with each part's table in its place."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    text = (HERE / "rule_page.in.md").read_text(encoding="utf-8")
    for name, section in SECTIONS.items():
        if name in kept:
            shown = f"{section(kept[name]['rows'])}\n\n*Measured in {kept[name]['seconds']} s.*"
        else:
            shown = f"*Not measured yet: `python benchmarks/rule.py {name}`.*"
        text = text.replace("{{ " + name + " }}", shown)
    return text


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
