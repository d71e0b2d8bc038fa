"""The report: one file with everything inside, drawn by a browser without a network, whatever names a store holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nalm.bench.engine.train import train
from nalm.bench.report.content import content
from nalm.bench.report.page import report_page
from nalm.bench.run import single
from nalm.bench.study import Study, cells_over
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Adam, Recipe

HOSTILE = "</script><img src=x onerror=alert(1)>"
CHROMIUM = Path("/usr/bin/chromium")


def study(label: str = "NAU") -> Study:
    model = replace(single("NAU", 2), label=label)
    tasks = {column: SingleModule(*RANGES[column], name="add") for column in ("U[-2,2)", "U[1,2)")}
    cells = cells_over([(model, Recipe(Adam(1e-2), steps=300))], tasks, every=100)
    return Study(name="mine/add", title="Sums", reproduces="nothing", cells=cells, seeds=2)


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return list(train([run for _, run in study().runs()]))


def test_content_counts_cells_and_tells_each_run(records: list[dict[str, Any]]) -> None:
    (shown,) = content([study()], records)["studies"]
    assert [(cell["row"], cell["column"], len(cell["runs"])) for cell in shown["cells"]] == [
        ("NAU", "U[-2,2)", 2),
        ("NAU", "U[1,2)", 2),
    ]
    run = shown["cells"][0]["runs"][0]
    assert run["id"] in {record["id"] for record in records}
    assert run["curve"][0] == [0, 100, 200, 300]
    assert len(run["weights"]["W"]) == 2
    assert isinstance(run["expression"], str)


def test_a_store_without_known_runs_is_told(records: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="nalm run"):
        report_page([], records, "runs.db")


def test_the_page_holds_its_data_and_nothing_from_elsewhere(records: list[dict[str, Any]]) -> None:
    page = report_page([study(HOSTILE)], records, "runs.db")
    assert HOSTILE not in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    assert json.loads(found[1])["studies"][0]["rows"] == [HOSTILE]
    assert not re.findall(r'(?:src|href)="', page)


def test_a_browser_draws_it_without_a_network(records: list[dict[str, Any]], tmp_path: Path) -> None:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if not CHROMIUM.exists():
        pytest.skip("no chromium here; on Debian: apt-get install chromium")
    path = tmp_path / "report.html"
    path.write_text(report_page([study(HOSTILE)], records, "runs.db"), encoding="utf-8")
    with playwright.sync_playwright() as browsers:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        browser = browsers.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        page = browser.new_page(viewport={"width": 390, "height": 800}, offline=True)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(path.as_uri())
        assert page.locator("#figure .mark").count() >= 2
        assert page.locator("#overview").inner_text().count(HOSTILE) == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#cells td button").first.click()
        assert page.locator("#runs tbody tr").count() == 2
        assert page.locator("#curves .mark").count() == 2
        page.locator("#filter").fill("nothing like it")
        assert page.locator("#overview thead th").count() == 1
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("#theme").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        browser.close()
    assert not complaints
