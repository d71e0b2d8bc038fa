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
from nalm.bench.results.stats import wilson
from nalm.bench.run import single
from nalm.bench.studies import find_study
from nalm.bench.studies.mnist_sequences import REFERENCE
from nalm.bench.study import Study, cells_over
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.recipe import Adam, Recipe
from tests.browser import CHROMIUM, MISSING, OPTIONS, PATIENCE

HOSTILE = "</script><img src=x onerror=alert(1)>"


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
    assert run["engine"] == records[0]["engine"]
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


def full_study() -> tuple[Study, list[dict[str, Any]]]:
    """The field's multiplication study, ten units on nine ranges, with made-up records: even seeds are solved."""
    chosen = replace(find_study("single-module/mul"), seeds=4)
    solved = {"solved_at": 2000, "sparsity": 1e-6, "test_error": 1e-9}
    records = [{"id": name, "solved": i % 2 == 0, "seed": i, **solved} for i, name in enumerate(chosen.ids())]
    return chosen, records


def test_totals_are_counted_over_all_columns_and_by_seeds() -> None:
    """A seed is solved in every column or in none, so that four seeds on nine ranges tell as much as four runs."""
    chosen, records = full_study()
    (shown,) = content([chosen], records[: len(records) // 2])["studies"]
    expected = wilson(2, 4)
    assert shown["totals"]["NMU"] == pytest.approx([expected.estimate, expected.low, expected.high], rel=1e-3)
    assert set(shown["totals"]) == set(chosen.rows[: len(chosen.rows) // 2]), "rows without a run have no total"


def test_runs_of_sequences_are_judged_by_the_references_of_their_own_study() -> None:
    """Their record says nothing of it, and a store may hold the references of another study."""
    own, other = (replace(find_study(f"mnist/{name}"), seeds=2) for name in ("sequence", "sum"))
    told = {REFERENCE: 1.0, "NMU": 0.9}
    records = [
        {"id": name, "unit": row, "solved": False, "errors": json.dumps({"1": error + seed / 100})}
        for row, error in told.items()
        for seed, name in enumerate(next(cell for cell in own.cells if cell.row == row).ids(2))
    ]
    strict = next(cell for cell in other.cells if cell.row == REFERENCE)
    records += [{"id": n, "unit": REFERENCE, "solved": False, "errors": '{"1": 0.0}'} for n in strict.ids(2)]
    shown = content([own], records)["studies"][0]
    cells = {(cell["row"], cell["column"]): cell for cell in shown["cells"]}
    assert [run["solved"] for run in cells["NMU", "1"]["runs"]] == [True, True]
    assert [run["solved"] for run in cells["NMU", "2"]["runs"]] == [False, False], "nothing is known of this length"
    assert cells["NMU", "1"]["success"][0] == 1


class Visit:
    """The report in a browser without a network, and what the page complained about."""

    def __init__(self, html: str, folder: Path, width: int = 390, scheme: str = "light") -> None:
        playwright = pytest.importorskip(
            "playwright.sync_api", reason="playwright is not installed: pip install playwright"
        )
        if CHROMIUM is None:
            pytest.skip(MISSING)
        self.path = folder / "report.html"
        self.path.write_text(html, encoding="utf-8")
        self.manager = playwright.sync_playwright()
        self.size = {"width": width, "height": 800}
        self.scheme = scheme
        self.complaints: list[str] = []

    def __enter__(self) -> Any:
        self.browser = self.manager.__enter__().chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = self.browser.new_page(viewport=self.size, offline=True, color_scheme=self.scheme)
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.goto(self.path.as_uri())
        return page

    def __exit__(self, *problem: Any) -> None:
        self.browser.close()
        self.manager.__exit__(*problem)


def test_a_browser_draws_it_without_a_network(records: list[dict[str, Any]], tmp_path: Path) -> None:
    visit = Visit(report_page([study(HOSTILE)], records, "runs.db"), tmp_path)
    with visit as page:
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
    assert not visit.complaints


def test_the_overview_of_a_small_store_leaves_no_unit_out(records: list[dict[str, Any]], tmp_path: Path) -> None:
    """Studies share runs, so that a store of one study is often a report of several."""
    own, also = study(), replace(study(), name="mine/again")
    others = full_study()[0].only(["NMU"])
    made_up = [{"id": name, "solved": True, "seed": i, "solved_at": 1} for i, name in enumerate(others.ids())]
    with Visit(report_page([own, also, others], [*records, *made_up], "runs.db"), tmp_path) as page:
        assert page.locator("#overview thead th").all_inner_texts() == ["study", "NAU", "NMU"]


OVERLAPPING_LABELS = """() => {
  const texts = [...document.querySelectorAll("#figure text")];
  const boxes = texts.map((node) => ({ name: node.textContent, box: node.getBoundingClientRect() }));
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  const pairs = boxes.flatMap((one, i) => boxes.slice(i + 1).map((other) => [one, other]));
  return pairs.filter(([one, other]) => meet(one.box, other.box)).map(([one, other]) => `${one.name} on ${other.name}`);
}"""


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_ten_units_on_nine_ranges_fit_and_labels_do_not_overlap(tmp_path: Path, width: int, scheme: str) -> None:
    chosen, records = full_study()
    visit = Visit(report_page([study(), chosen], records, "runs.db"), tmp_path, width, scheme)
    with_grid = {cell.row for cell in chosen.cells if cell.model.has_grid}
    with visit as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(OVERLAPPING_LABELS) == []
        published = sum(said.success is not None for said in chosen.published.values())
        drawn = (2 * len(chosen.rows) + len(with_grid)) * len(chosen.columns)  # only grids have a sparsity error
        assert page.locator("#figure .mark").count() == drawn + published
        assert page.locator("#legend li").count() == len(chosen.rows) + 1
        assert page.locator("#study").input_value() == chosen.name  # the largest study is shown first
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert not visit.complaints
