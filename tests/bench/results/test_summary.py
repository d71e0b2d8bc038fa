"""From records to the cells of a study."""

from __future__ import annotations

from dataclasses import replace
from statistics import stdev

import pytest

from nalm.bench.results import stats
from nalm.bench.results.summary import mean_of, summarise
from nalm.bench.studies import find_study


def test_records_are_counted_one_at_a_time_each_once_in_any_order() -> None:
    study = find_study("single-module/mul").only(["NMU", "sNMU"], ["U[1,2)"])
    records = [
        {"id": run.id, "solved": number % 3 > 0, "solved_at": 100 * number + 7, "sparsity": number / 1000}
        for number, (_, run) in enumerate(study.runs())
    ]
    entries = summarise(study, iter(records))
    assert [entry.row for entry in entries] == ["NMU", "sNMU"]
    assert [entry.runs for entry in entries] == [study.seeds] * 2
    solved = [record for record in records[: study.seeds] if record["solved"]]
    assert entries[0].success.estimate == len(solved) / study.seeds
    assert entries[0].solved_at == stats.gamma_mean([record["solved_at"] for record in solved])
    assert entries[0].sparsity == stats.beta_mean([record["sparsity"] for record in solved])
    assert summarise(study, iter([*reversed(records), *({**r, "solved": False} for r in records)])) == entries
    assert summarise(study, [{"id": "of another study", "solved": True}]) == []
    twice = replace(study, cells=(study.cells[0], replace(study.cells[0], row="the same again")))
    assert [entry.success for entry in summarise(twice, iter(records))] == [entries[0].success] * 2


def test_a_weight_far_off_its_grid_counts_as_half_a_step_off_as_published() -> None:
    study = find_study("single-module/mul").only(["NPU"], ["U[1,2)"])
    records = [{"id": run.id, "solved": True, "sparsity": 3.0} for _, run in study.runs()]
    (entry,) = summarise(study, records)
    assert entry.sparsity is not None
    assert entry.sparsity.estimate == 0.5


def test_a_measure_is_a_mean_with_one_standard_error_to_either_side() -> None:
    found = mean_of([0.8, 0.9, 1.3])
    error = stdev([0.8, 0.9, 1.3]) / 3**0.5
    assert (found.estimate, found.low, found.high) == pytest.approx((1.0, 1.0 - error, 1.0 + error))
    assert mean_of([0.5]) == stats.Interval(0.5, 0.5, 0.5)
