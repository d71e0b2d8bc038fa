"""The speed table measures what it says; how fast a machine is, is not a test."""

import pytest
import torch

from nalm.bench.speed import cases, measure, plain_loop


@pytest.mark.parametrize("case", [c for c in cases() if c.task.in_features == 2], ids=lambda c: c.model.label)
def test_the_plain_loop_runs_for_every_case(case):
    assert plain_loop(case, seconds=0.001) > 0


def test_a_cohort_is_faster_than_one_run_at_a_time():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        timing = measure(next(cases()), seconds=0.01)
        assert torch.get_num_threads() == 2, "as it was before"
    finally:
        torch.set_num_threads(before)
    assert timing.runs == 225
    assert timing.ratio > 10  # thousands on any machine; ten would already be wrong
