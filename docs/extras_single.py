"""What the single-module page shows beside its tables."""

from __future__ import annotations

from build_results import ROOT

from nalm.bench.results.store import read_table


def cost() -> str:
    """Runs, solved runs and seconds of each way of training, summed over the committed table."""
    rows = read_table(ROOT / "results" / "single-module.csv.gz")
    names = {"native": "published recipes, native engine", "rule": "local Gauss-Newton rule", "solver": "solver"}
    lines = [
        "| trained by | inputs | runs | solved | wall seconds, all runs | ms per run |",
        "|---|---|---|---|---|---|",
    ]
    for engine, name in names.items():
        for inputs in (2, 10, 100):
            own = [row for row in rows if row["engine"] == engine and row["inputs"] == inputs]
            if own:
                seconds = sum(row["seconds"] for row in own)
                solved = sum(row["solved"] for row in own)
                numbers = f"{len(own):,} | {solved:,} | {seconds:,.0f} | {1e3 * seconds / len(own):,.0f}"
                lines.append(f"| {name} | {inputs} | {numbers} |")
    return "\n".join(lines)
