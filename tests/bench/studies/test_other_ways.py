"""Where published recipes fail, the rule and the solver do not: rows of the studies, on hard cells."""

from __future__ import annotations

from itertools import islice

import pytest

from nalm.bench.engine.train import train
from nalm.bench.studies import find_study, studies

HARD = {
    "division/distributions-10": "U[-100,100)",
    "division/mixed-sign-10-corrected": "4: U[0.1,2) and U[-2,-0.1)",
    "two-layer/ranges": "U[1.1,1.2)",
    "two-layer/static": "U[1,2)",
}


@pytest.mark.parametrize("way", ["lgn", "solver"])
@pytest.mark.parametrize("name", HARD)
def test_hard_cells_are_solved_exactly_on_the_grid(name: str, way: str) -> None:
    study = find_study(name).trained(way).only(columns=[HARD[name]])
    rows = list(train(run for _, run in islice(study.runs(), 2)))
    assert [row["solved"] for row in rows] == [True, True]
    assert all(row["sparsity"] == 0 for row in rows)


def test_rows_of_other_ways_stop_once_they_are_solved() -> None:
    study = find_study("division/uniform").trained("lgn").only(columns=["U[1,2)"])
    (row,) = train(run for _, run in islice(study.runs(), 1))
    assert len(row["curve"]["step"]) < 10
    assert study.cells[0].retire


def test_published_rows_are_never_cut_short() -> None:
    for study in studies().values():
        assert not any(cell.retire for cell in study.cells if cell.method.way == "published")
