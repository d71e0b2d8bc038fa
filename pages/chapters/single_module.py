"""What the single-module page shows beside its tables."""

from __future__ import annotations

from pages.committed import rows_of
from pages.markdown import markdown_table


def cost() -> str:
    """Runs, solved runs and seconds of each way of training, summed over the committed table."""
    rows = rows_of("single-module")
    names = {"native": "published recipes, native engine", "rule": "local Gauss-Newton rule", "solver": "solver"}
    lines = []
    for engine, name in names.items():
        for inputs in (2, 10, 100):
            own = [row for row in rows if row["engine"] == engine and row["inputs"] == inputs]
            if own:
                seconds = sum(row["seconds"] for row in own)
                solved = sum(row["solved"] for row in own)
                numbers = [f"{len(own):,}", f"{solved:,}", f"{seconds:,.0f}", f"{1e3 * seconds / len(own):,.0f}"]
                lines.append([name, str(inputs), *numbers])
    return markdown_table(["trained by", "inputs", "runs", "solved", "wall seconds, all runs", "ms per run"], lines)
