"""`nalm report` on a store: every run with its curve, its weights, and what trained it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.commands import works


def studies(page: Path) -> dict[str, dict[str, Any]]:
    """The studies on a page, by name."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    return {study["name"]: study for study in json.loads(found[1])["studies"]}


def told(page: Path) -> dict[str, Any]:
    """The multiplication study on a page; others share its runs."""
    return studies(page)["single-module/mul --quick"]


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


def test_studies_that_only_share_runs_of_another_are_left_out(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    words = ("single-module/mul", "--quick", "--seeds", "1", "--range", "U[1,2)", "--store", store)
    works("run", *words, "--unit", "NMU,NPU")  # hillspace/mul and scaling/multiplication have the NMU, too
    works("report", "--store", store, "--output", tmp_path / "page.html")
    assert list(studies(tmp_path / "page.html")) == ["single-module/mul --quick"]
    works("run", "scaling/multiplication", *words[1:], "--unit", "z-score")
    works("report", "--store", store, "--output", tmp_path / "both.html")
    assert list(studies(tmp_path / "both.html")) == ["scaling/multiplication --quick", "single-module/mul --quick"]
