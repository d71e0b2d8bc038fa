"""`nalm report` on a store: every run with its curve, its weights, and what trained it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.commands import works


def told(page: Path) -> dict[str, Any]:
    """The multiplication study on a page; others share its runs."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    studies: dict[str, dict[str, Any]] = {study["name"]: study for study in json.loads(found[1])["studies"]}
    return studies["single-module/mul --quick"]


def test_a_report_of_a_store_has_curves_and_one_of_a_table_has_none(tmp_path: Path) -> None:
    store, table = tmp_path / "runs.db", tmp_path / "runs.csv"
    chosen = ("single-module/mul", "--quick", "--seeds", "2", "--unit", "NMU", "--range", "U[1,2)", "--store", store)
    works("run", *chosen)
    works("export", table, "--store", store)
    works("report", "--store", store, "--output", tmp_path / "store.html")
    works("report", "--store", table, "--output", tmp_path / "table.html")
    (cell,) = told(tmp_path / "store.html")["cells"]
    assert (cell["row"], cell["column"]) == ("NMU", "U[1,2)")
    for seed, run in enumerate(cell["runs"]):
        assert run["seed"] == seed
        steps, _, errors = run["curve"]
        assert (steps[0], steps[-1]) == (0, 5000)
        assert errors[-1] < errors[0]
        assert re.fullmatch(r"nalm \S+, torch \S+", run["versions"])
        assert run["expression"] == "x0*x1"
    (cell,) = told(tmp_path / "table.html")["cells"]
    assert [run["curve"] for run in cell["runs"]] == [None, None]
