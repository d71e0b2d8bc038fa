"""A small share of the random wrong calls; see `wrong_calls` for many. And the checks themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import seed

import nalm
from nalm.bench import Run, Solve, single
from nalm.bench.studies import find_study
from nalm.bench.tasks.arithmetic import RANGES, SingleModule
from nalm.core.arguments import Count, NotNegative, Seed, WrongArgument, checks_arguments, need_of
from tests.wrong_calls import many


def test_a_wrong_call_is_answered_by_a_check_in_words() -> None:
    seed(0)(many(250))()


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (int, [0, -3, np.int64(4)], [True, 2.0, "2", None, np.float64(2)]),
        (float, [0, 2.5, np.float32(1), float("inf"), 1e30], [float("nan"), True, "1", None, 1j, torch.tensor(1.0)]),
        (float, [2**63 - 1, 1 - 2**63, np.uint64(5)], [10**30, -(10**30), 2**63, np.uint64(2**63)]),
        (bool, [True], [1, 0, "yes", None]),
        (str, ["", "a"], [b"a", 1, None]),
        (Count, [1, 2**40], [0, -1, 2**63, 1.0]),
        (Seed, [0, 2**32 - 1], [-1, 2**32]),
        (NotNegative, [0, 1e30], [-1e-9, 1e39, float("nan"), float("inf")]),
        (int | None, [None, 1], ["", 0.5]),
        (Sequence[str], [["a"], (), "ab", np.array(["a", "b"])], [["a", 1], {"a": 1}, 5, iter("ab"), b"ab"]),
        (Sequence[int], [[1], range(3), np.arange(2)], ["", "12", [1.0], torch.tensor(1)]),
        (Iterable[int], [[1], {1, 2}, iter([1])], [["a"], 5, "12"]),
        (Mapping[str, int], [{}, {"a": 1}], [{"a": "b"}, {1: 1}, [("a", 1)], None]),
        (tuple[int, ...], [(), (1, 2)], [[1], (1, "a")]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1), (1, "a", 2), [1, "a"]]),
        (torch.nn.Module, [torch.nn.Identity()], [torch.nn.Identity, None]),
    ],
)
def test_what_an_annotation_asks_for(hint: object, right: list[object], wrong: list[object]) -> None:
    need = need_of(hint)
    assert [value for value in right if not need.holds(value)] == []
    assert [value for value in wrong if need.holds(value)] == []


def test_the_error_names_the_argument_shows_its_value_and_says_what_it_needs() -> None:
    @checks_arguments
    def mix(steps: Count, *more: int, path: Path | str = "") -> int:
        return steps + len(more) + len(str(path))

    assert mix(2, 3, 4) == 4
    with pytest.raises(WrongArgument, match=r"mix: steps is 0; it needs a whole number of at least 1\.$"):
        mix(0)
    with pytest.raises(WrongArgument, match="path is 3; it needs a Path or text"):
        mix(1, path=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"mix\(\) missing 1 required positional argument: 'steps'"):
        mix()  # type: ignore[call-arg]


def test_alternatives_of_several_parts_are_told_apart() -> None:
    number = r"a whole number from 0 to 2\*\*32 - 1"
    with pytest.raises(
        WrongArgument, match=rf"it needs {number}, or a list, each of it {number}, or a Tensor, or None\."
    ):
        nalm.NMU(2, 1, seed=-1)


def test_a_long_value_is_told_by_its_kind() -> None:
    with pytest.raises(WrongArgument, match=r"recipe is a Sequential; it needs a Recipe or None"):
        nalm.guide(nalm.NMU(2, 1), torch.optim.SGD([torch.zeros(1)], 0.1), torch.nn.Sequential(*[torch.nn.ReLU()] * 9))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            torch.ones(4, 2, dtype=torch.float64),
            r"holds torch.float32 and got torch.float64 inputs.*x.to\(torch.float32",
        ),
        (torch.ones(4, 2, device="meta"), "is on cpu and got inputs on meta"),
    ],
)
def test_inputs_of_another_type_or_place_than_the_weights(inputs: torch.Tensor, message: str) -> None:
    for unit in (nalm.NAU(2, 1), nalm.NMU(2, 1), nalm.Chain(nalm.NAU(2, 2), nalm.NMU(2, 1))):
        with pytest.raises((TypeError, ValueError), match=message):
            unit(inputs)


def test_mixed_precision_converts_inputs_itself() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert nalm.NAU(2, 1)(torch.ones(3, 2, dtype=torch.bfloat16)).shape == (3, 1)


def test_one_name_stands_for_a_list_of_one() -> None:
    study = find_study("single-module/mul").only("NMU", "U[1,2)")
    assert (study.rows, study.columns) == (["NMU"], ["U[1,2)"])


def test_numbers_of_numpy_are_numbers() -> None:
    assert nalm.NMU(np.int64(2), np.int32(1), runs=np.array([3])).runs == (3,)
    task = SingleModule(*RANGES["U[1,2)"])
    plain = Run(single("NMU", 2), task, Solve(samples=16), seed=3)
    assert Run(single("NMU", np.int64(2)), task, Solve(samples=np.int64(16)), seed=np.int64(3)).id == plain.id


def test_a_wrong_call_of_a_constructor_names_its_class() -> None:
    class Box:
        @checks_arguments
        def __init__(self, size: Count) -> None:
            self.size = size

    assert Box(1).size == 1
    with pytest.raises((TypeError, ValueError), match=r"^Box\b.*size"):
        Box(0)
