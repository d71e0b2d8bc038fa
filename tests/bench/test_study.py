"""Studies: names of runs in bulk, units of the user's own beside rows of the same name."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nalm.bench.results.store import Store
from nalm.bench.results.summary import compare, summarise
from nalm.bench.run import Run
from nalm.bench.studies import find_study, studies

UNIT = """
import nalm

class NMU(nalm.NMU):
    pass
"""


def test_names_in_bulk_are_the_names_of_the_runs() -> None:
    for study in studies().values():
        cells = (study.cells[0], study.cells[-1])
        for cell in (*cells, *(cell.quick() for cell in cells), *(replace(cell, retire=True) for cell in cells)):
            assert cell.ids(3) == [cell.run(seed).id for seed in range(3)]
    study = replace(find_study("single-module/mul"), seeds=2)
    assert study.ids() == [run.id for _, run in study.runs()]


def test_a_unit_of_your_own_trains_as_long_as_the_others_or_as_its_recipe_says(tmp_path: Path) -> None:
    text = "import nalm\nclass Long(nalm.NMU):\n    recipe = nalm.Recipe(steps=70_000)\n"
    (tmp_path / "long.py").write_text(text)
    for name, steps in (("single-module/mul", 70_000), ("division/uniform-10", 100_000)):
        study = find_study(name).only([f"{tmp_path / 'long.py'}:Long"])
        assert {cell.method.steps for cell in study.cells} == {steps}


def own_units(tmp_path: Path) -> list[str]:
    references = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my_nmu.py").write_text(UNIT + f"# {folder}\n")
        references.append(f"{tmp_path / folder / 'my_nmu.py'}:NMU")
    return references


def test_a_unit_of_ones_own_is_told_apart_from_a_row_of_the_same_name(tmp_path: Path) -> None:
    first, second = own_units(tmp_path)
    whole = find_study("single-module/mul")
    study = whole.only([first, second, "nmu"], ["U[1,2)"])
    names = ["NMU", "NMU (my_nmu.py)", f"NMU ({tmp_path / 'b' / 'my_nmu.py'})"]
    assert sorted(study.rows) == sorted(names)
    assert [study.row_called(name) for name in ("nmu", first, second)] == names
    assert [cell.model.label for cell in study.cells] == [cell.row for cell in study.cells]
    alone = whole.only([first], ["U[1,2)"])
    assert alone.rows == names[1:2]
    assert len({cell.run(0).id for cell in study.cells}) == 3

    def record(run: Run, solved: bool) -> dict[str, object]:
        return {"id": run.id, "solved": solved, "solved_at": 1000 if solved else None, "sparsity": 0.0}

    small = replace(study, seeds=4)
    records = [record(run, cell.row == "NMU") for cell, run in small.runs()]
    assert {entry.row: entry.success.estimate for entry in summarise(small, records)} == dict(
        zip(names, (1.0, 0.0, 0.0), strict=True)
    )
    assert compare(small, records, *names[:2])["U[1,2)"].only_first == 4


def test_a_unit_of_ones_own_is_a_row_of_its_own_on_images_too(tmp_path: Path) -> None:
    first, second = own_units(tmp_path)
    study = find_study("mnist/product").only([first, second])
    assert study.rows == ["NMU (my_nmu.py)", f"NMU ({tmp_path / 'b' / 'my_nmu.py'})"]
    assert [cell.model.label for cell in study.cells] == [cell.row for cell in study.cells]


def test_a_users_file_is_executed_once(tmp_path: Path) -> None:
    path = tmp_path / "counted.py"
    path.write_text(f"import pathlib\nlog = pathlib.Path({str(tmp_path / 'log')!r})\n" + UNIT)
    path.write_text(path.read_text() + "with log.open('a') as file:\n    file.write('x')\n")
    study = find_study("single-module/mul").only([f"{path}:NMU"])
    for cell in study.cells:
        cell.model.build()
        cell.run(0)
    before = study.cells[0].run(0).id
    assert (tmp_path / "log").read_text() == "x"
    path.write_text(path.read_text() + "# edited\n")
    assert find_study("single-module/mul").only([f"{path}:NMU"]).cells[0].run(0).id != before
    assert (tmp_path / "log").read_text() == "xx"


def test_a_row_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="Did you mean NMU"):
        find_study("single-module/mul").only(["NMUU"])


def test_a_frame_has_a_line_for_each_finished_run_of_the_study(tmp_path: Path) -> None:
    study = replace(find_study("single-module/mul").only(["NMU", "NALU"], ["U[1,2)"]), seeds=3)
    nmu, nalu = (next(cell.ids(3) for cell in study.cells if cell.row == row) for row in ("NMU", "NALU"))
    with Store(tmp_path / "runs.db") as store:
        store.add(
            {"id": run, "unit": "NMU", "seed": i, "solved": True, "weights": {"W": [1]}} for i, run in enumerate(nmu)
        )
        store.add([{"id": nalu[0], "unit": "NALU", "seed": 0, "solved": False, "solved_at": None}])
        store.add([{"id": "of another study", "unit": "NMU", "solved": False}])
        frame = study.frame(store)
        records = store.records()
        shown = store._repr_html_()
    assert frame.groupby("row")["solved"].agg(["mean", "count"]).to_dict("index") == {
        "NALU": {"mean": 0.0, "count": 1},
        "NMU": {"mean": 1.0, "count": 3},
    }
    assert set(frame["column"]) == {"U[1,2)"}
    assert "weights" not in frame
    assert study.frame(records).equals(frame)
    assert study.frame([]).empty
    assert summarise(study, frame.to_dict("records")) == summarise(study, records)  # and back
    assert "<td>NMU</td><td>4</td><td>3</td>" in shown


def test_the_frame_counts_success_as_the_study_does() -> None:
    class Strict(type(find_study("single-module/mul"))):
        def judged(self, records):
            return ((record, lambda _, record=record: record["seed"] == 0) for record in records)

    whole = find_study("single-module/mul").only(["NMU"], ["U[1,2)"])
    study = Strict(**{**vars(whole), "seeds": 2})
    records = [{"id": name, "seed": seed, "solved": True} for seed, name in enumerate(study.ids())]
    assert study.frame(records)["solved"].tolist() == [True, False]


def test_without_pandas_a_frame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'nalm\[sklearn\]'"):
        find_study("single-module/mul").frame([])


def test_a_notebook_shows_a_study_and_its_text_as_text() -> None:
    study = replace(
        find_study("single-module/mul").only(["NMU"], ["U[1,2)"]), title="<script>alert(1)</script>", seeds=7
    )
    shown = study._repr_html_()
    assert "<script" not in shown
    assert "<td>runs</td><td>7: 7 seeds in each of 1 cells</td>" in shown
    assert "nalm run single-module/mul" in shown
