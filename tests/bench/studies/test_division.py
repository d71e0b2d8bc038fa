"""The division tasks and studies against what is published, and that every variant is what its label says."""

from __future__ import annotations

import math

import pytest
import torch

from nalm.bench.distribution import Alternating, Halves, Uniform
from nalm.bench.run import single
from nalm.bench.studies import division, division_ablations, find_study
from nalm.bench.study import Study
from nalm.bench.tasks.arithmetic import SMALLEST, SingleModule
from nalm.bench.tasks.division import ROUNDING, Division, GoldDivision, gold_error, gold_unit, near_zero
from nalm.core.weight import l1, to_grid


@pytest.mark.parametrize("kind", [Division, SingleModule])
def test_no_input_of_a_quotient_is_zero(kind: type[SingleModule]) -> None:
    task = kind(Uniform(-2, 2), Uniform(2, 6), name="div")
    x, t = task.sample(
        torch.tensor([[0.25, 0.5], [0.5, 0.25]]), task.train.numbers(2).float(), torch.zeros(0), task.train
    )
    assert x.tolist() == [[-1.0, SMALLEST], [SMALLEST, -1.0]]
    assert t.isfinite().all()


def test_ranges_near_zero_start_above_it() -> None:
    part = near_zero(1e-4)
    assert float(part.quantile(torch.zeros(1, 1), part.numbers(1).float())) > 0
    assert part.low == 1e-4 * 2.0**-25


PUBLISHED = {
    ("NRU", "inverse", 1): (8.6727e-04, 4.2443e-05, 2.4447e-07, 1.4382e-09, 4.5717e-11),
    ("NRU", "inverse", 2): (8.0789e-04, 9.1489e-06, 5.6766e-08, 7.0890e-09, 3.3641e-11),
    ("RealNPU", "inverse", 1): (1.15267e12, 2.04635e9, 4.90999e5, 55.2453, 5.58990e-03),
    ("RealNPU", "inverse", 2): (1.31033e12, 3.46341e9, 1.11502e6, 132.186, 1.34504e-02),
    ("RealNPU", "div", 2): (2531.39, 401.334, 8.68508, 0.0969411, 9.81353e-04),
    ("NMRU", "inverse", 1): (3.6691e-03, 4.1852e-05, 2.4432e-07, 1.4383e-09, 4.5320e-11),
    ("NMRU", "inverse", 2): (2.8079e-03, 9.1489e-06, 5.6766e-08, 7.0893e-09, 3.3651e-11),
    ("NMRU", "div", 2): (0.0327289, 8.9558e-05, 4.3995e-07, 1.8147e-08, 1.8490e-11),
}


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_errors_of_ideal_weights_have_the_published_order_of_magnitude(case: tuple[str, str, int]) -> None:
    """They hang on the smallest of 10,000 random inputs, so two orders are all that other inputs can promise."""
    for top, published in zip(division.TOPS, PUBLISHED[case], strict=True):
        assert abs(math.log10(gold_error(*case, near_zero(top)) / published)) < 2


def test_ideal_quotients_of_the_nru_lose_only_a_rounding() -> None:
    """The published NRU does not form 1 - |w| beside a small input; in float64 that makes no difference."""
    for top in division.TOPS:
        assert 1e-12 < gold_error("NRU", "div", 2, near_zero(top), (torch.float64,)) < 1e-10


def test_the_real_npu_keeps_an_error_that_the_others_do_not() -> None:
    errors = {unit: gold_error(unit, "inverse", 1, near_zero(1.0)) for unit in ("RealNPU", "NRU", "NMRU")}
    assert errors["RealNPU"] > 1e6 * max(errors["NRU"], errors["NMRU"])


@pytest.mark.parametrize("unit", ["NRU", "NMRU", "RealNPU"])
def test_ideal_weights_divide(unit: str) -> None:
    x = torch.tensor([[6.0, -3.0], [2.0, 4.0]])
    assert torch.allclose(gold_unit(unit, "div", 2).compute(x), torch.tensor([[3.0, -0.75]]), atol=1e-5)
    assert torch.allclose(gold_unit(unit, "inverse", 2).compute(x), 1 / x[:1], atol=1e-5)
    assert torch.allclose(gold_unit(unit, "inverse", 1).compute(x[:1]), 1 / x[:1], atol=1e-5)


def test_thresholds_lie_above_the_error_of_ideal_weights() -> None:
    task = GoldDivision(near_zero(0.1), near_zero(0.1), "inverse", 2, gold="NMRU")
    assert task.threshold() == pytest.approx(1.01 * gold_error("NMRU", "inverse", 2, near_zero(0.1)) + ROUNDING)


def test_published_mixed_signs_differ_for_two_seeds_only_and_corrected_ones_always() -> None:
    def differing(kind: type[Halves] | type[Alternating]) -> list[int]:
        part = kind(Uniform(-2, -1), Uniform(1, 2))
        low = part.numbers(10)[0, :, 0]
        pairs = {s: [m.start for m in Division(part, part, inputs=10).members(s)] for s in range(25)}
        return [seed for seed, (a, b) in pairs.items() if low[a].sign() != low[b].sign()]

    assert differing(Halves) == [7, 10]
    assert differing(Alternating) == list(range(25))


def _weight(study: Study, row: str, name: str) -> object:
    return next(cell for cell in study.cells if cell.row == row).model.build().weights[name]


def test_variants_of_the_real_npu_are_what_their_rows_say() -> None:
    clipping, pulled = division_ablations.CLIPPING, division_ablations.DISCRETISATION
    boxes = {row: _weight(clipping, row, "W").projection for row in clipping.rows}  # type: ignore[attr-defined]
    gates = {row: _weight(clipping, row, "g").projection for row in clipping.rows}  # type: ignore[attr-defined]
    assert boxes == {"none": None, "gate": None, "W": (-1, 1), "gate and W": (-1, 1)}
    assert gates == {"none": None, "gate": (0, 1), "W": None, "gate and W": (0, 1)}
    assert _weight(pulled, "gate", "W").pulls == (l1,)  # type: ignore[attr-defined]
    assert _weight(pulled, "gate", "g").pulls == (to_grid, l1)  # type: ignore[attr-defined]
    assert _weight(pulled, "gate and W", "W").grid == (-1, 1)  # type: ignore[attr-defined]


def test_the_imaginary_penalty_is_the_published_sum() -> None:
    cell = next(c for c in division_ablations.COMPLEX.cells if c.row == "NPU W_im to 0")
    unit = cell.model.build()
    with torch.no_grad():
        unit.get_parameter("W").fill_(1)
        dict(unit.named_parameters())["g"].fill_(1)
        before = float(unit.penalties()["to_grid"])
        unit.get_parameter("W_im").fill_(0.25)
        after = float(unit.penalties()["to_grid"])
    assert before == 0
    assert after == pytest.approx(10 * 0.25)


def test_variants_that_are_the_published_unit_share_its_runs() -> None:
    known = {c.column: c.run(0).id for c in find_study("division/uniform").cells if c.row == "Real NPU"}
    for name, row in (("clipping", "none"), ("l1", "L1"), ("beta", "1e-09 to 1e-07")):
        cells = find_study(f"division/real-npu-{name}").cells
        assert {c.column: c.run(0).id for c in cells if c.row == row} == known


def test_recipes_follow_the_paper() -> None:
    two, ten = (division.RECIPES["NMRU", inputs] for inputs in (2, 10))
    assert (two.steps, ten.steps) == (50_000, 100_000)
    assert (two.clip.norm, ten.clip.norm) == (1.0, 1.0)
    assert ten.penalties["to_grid"].at(62_500) == 5.0
    assert division.RECIPES["NRU", 2].penalties["to_grid"].at(35_000) == 10.0
    easy = [cell for cell in division.SMALL_MAGNITUDE.cells if cell.column.startswith("1/a, ")]
    assert {(cell.method.steps, len(cell.method.recipe.penalties)) for cell in easy} == {(5_000, 0)}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"V": {}}, "RealNPU has no weight 'V'. Valid names: W, g."),
        ({"W": {"boxes": [0, 1]}}, "RealNPU.W: there is no 'boxes'. Did you mean box?"),
        ({"W": {"pulls": ["l3"]}}, "RealNPU.W: there is no 'l3'. Did you mean l"),
    ],
)
def test_a_variant_that_does_not_exist_is_refused_by_name(weights: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        single("RealNPU", 2, weights=weights).build()
