"""The formula learner: errors as angles, slopes, draws, verification, and the whole on quick cases."""

from __future__ import annotations

import copy
import math
import runpy
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import nalm
from nalm.core.uniforms import uniforms
from nalm.training.formula import Settings, angle
from nalm.training.formula.attempts import Attempts, Size, confirms
from nalm.training.formula.shape import Numbers, compute, rounding, slopes, to_grid
from nalm.training.formula.start import draw, draws, fitted

Target = Callable[[Tensor], Tensor]


def numbers(sums: list[list[list[float]]], powers: list[list[float]], outer: float = 1.0) -> Numbers:
    """One formula; terms without powers are closed."""
    opened = [float(any(row)) for row in powers]
    parts = (torch.tensor(part, dtype=torch.float64) for part in (sums, powers, opened, outer))
    return Numbers(*parts)


# (x0 + 2 x1) x2 / x1 - x0, of three inputs
MIXED = numbers(
    [[[1, 2, 0], [0, 0, 1], [0, 1, 0]], [[-1, 0, 0], [0, 0, 0], [0, 0, 0]]],
    [[1, 1, -1], [1, 0, 0]],
)


def mixed(x: Tensor) -> Tensor:
    return (x[0] + 2 * x[1]) * x[2] / x[1] - x[0]


def test_formulas_compute_what_they_say() -> None:
    x = torch.tensor([[2.0, 3.0], [4.0, -1.0], [5.0, 7.0]], dtype=torch.float64)
    torch.testing.assert_close(compute(MIXED, x).output, mixed(x))
    turned = Numbers(MIXED.sums, MIXED.powers, MIXED.open, torch.tensor(-1.0, dtype=torch.float64))
    torch.testing.assert_close(compute(turned, x).output, 1 / mixed(x))
    assert int(MIXED.symbols()) == 5


@pytest.mark.parametrize("outer", [1.0, -1.0])
def test_slopes_are_the_derivatives(outer: float) -> None:
    x = 1 + torch.rand(3, 6, dtype=torch.float64)

    def output(sums: Tensor) -> Tensor:
        outer_power = torch.tensor(outer, dtype=torch.float64)
        return compute(Numbers(sums, MIXED.powers, MIXED.open, outer_power), x).output

    sums = MIXED.sums + 0.1
    now = Numbers(sums, MIXED.powers, MIXED.open, torch.tensor(outer, dtype=torch.float64))
    jacobian = torch.autograd.functional.jacobian(output, sums)  # (samples, terms, factors, in)
    torch.testing.assert_close(slopes(now, x, compute(now, x)).mT, jacobian.flatten(1))


def test_rounding_of_a_cancelling_quotient_is_large() -> None:
    formula = numbers([[[1, 0], [1, -1]]], [[1, -1]])  # x0 / (x0 - x1)
    x = torch.tensor([[4.0], [3.0]], dtype=torch.float64)
    # 4 (1 + (4 + 3) / 1): the numerator's own share, and that of the difference
    assert float(rounding(formula, x, compute(formula, x))) == 32


def test_an_error_is_an_angle_without_poles() -> None:
    one = torch.ones(1, 1, dtype=torch.float64)
    assert float(angle.error(one, 0 * one, one)) == pytest.approx(math.pi / 4)
    assert float(angle.error(1e9 * one, -1e9 * one, one)) == pytest.approx(0, abs=1e-8)  # through infinity
    assert float(angle.loss(torch.nan * one, one, one)) == 1
    y = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    angle.error(y, torch.tensor(2.0), torch.tensor(3.0)).backward()
    assert y.grad is not None
    assert float(y.grad) == pytest.approx(float(angle.slope(y.detach(), torch.tensor(3.0))))
    assert angle.scale_of(torch.tensor([[1.0, -5.0, 3.0]])).tolist() == [[3.0]]


def test_the_nearest_grid_point_is_that_of_the_direction() -> None:
    formula = numbers([[[0.52, -0.49, 0.02], [3.0, 0.1, 0.0]]], [[1, 1]])
    assert to_grid(formula).sums.tolist() == [[[1, -1, 0], [1, 0, 0]]]


def test_a_formula_is_confirmed_up_to_rounding_only() -> None:
    x = (10 + 10 * torch.rand(3, 128)).double()
    target = (x[2] + 1 / (x[0] * x[1])).float().double()  # the second term is 3e-4 of the first
    right = numbers([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 0]]], [[-1, -1], [1, 0]])
    wrong = numbers([[[1, 0, 0], [1, 0, 0]], [[0, 0, 1], [0, 0, 0]]], [[-1, -1], [1, 0]])  # 1 / a^2
    assert bool(confirms(right, x, target, 8.0))
    assert not bool(confirms(wrong, x, target, 8.0))
    assert not bool(confirms(right, x, target * (1 + 1e-5), 8.0))
    assert not bool(confirms(right, 0 * x, target, 8.0))  # not a number


def test_attempts_are_drawn_in_the_shares_of_the_settings() -> None:
    s = Settings(one_term=0.3, alike=0.8)  # no share is one half, which could be told from no other half
    u = uniforms(3, 0, 0, (20_000, draws(2, 3, 4))).double()
    drawn = draw(u, 2, 3, 4, s)
    single = drawn.open[:, 1] == 0
    assert float(single.double().mean()) == pytest.approx(s.one_term, abs=0.02)
    assert not bool(drawn.powers[single, 1].any())
    width = (drawn.powers[:, 0] != 0).sum(-1)
    shares = [float((width == n).double().mean()) for n in (1, 2, 3)]
    assert shares == pytest.approx([s.one_factor, s.two_factors, 1 - s.one_factor - s.two_factors], abs=0.02)
    assert float((drawn.powers[:, 0, 0] < 0).double().mean()) == pytest.approx(s.dividing, abs=0.02)
    pair = drawn.powers[width == 2, 0, :2]
    alike = s.alike + (1 - s.alike) * (s.dividing**2 + (1 - s.dividing) ** 2)  # also by chance
    assert float((pair[:, 0] == pair[:, 1]).double().mean()) == pytest.approx(alike, abs=0.02)
    assert float((drawn.outer[~single] < 0).double().mean()) == pytest.approx(s.reciprocal, abs=0.02)
    assert bool((drawn.outer[single] == 1).all())
    assert bool((drawn.sums[drawn.powers == 0] == 0).all())
    begun = drawn.sums[drawn.powers != 0]
    assert (float(begun.min()), float(begun.max())) == pytest.approx((-1, 1), abs=1e-3)
    assert float(begun.mean()) == pytest.approx(0, abs=0.01)


def test_a_start_has_the_scale_and_the_sign_of_the_target() -> None:
    u = uniforms(5, 0, 0, (200, draws(2, 3, 4))).double()
    drawn = draw(u, 2, 3, 4, Settings())
    x = 1 + torch.rand(4, 128, dtype=torch.float64)
    target = -300 * x[0]
    before = angle.loss(compute(drawn, x).output, target, angle.scale_of(target[None])).mean()
    fit = fitted(drawn, x.expand(200, 4, 128), target.expand(200, 128))
    after = angle.loss(compute(fit, x).output, target, angle.scale_of(target[None]))
    assert bool(fit.sums.isfinite().all())
    assert float(after.mean()) < 0.3 * float(before)
    assert float(compute(fit, x).output.median()) < -100
    smaller = fitted(drawn, x.expand(200, 4, 128), target.expand(200, 128) / 1e6)
    assert (1e6 * compute(smaller, x).output / compute(fit, x).output).log().abs().median() < 1e-6  # in any unit alike


def test_a_sample_at_a_pole_has_no_part_in_the_fit() -> None:
    """x0 / (x0 - x1) + x1, of which the first term is infinite where the inputs are equal."""
    start = numbers([[[1, 0], [1, -1]], [[0, 1], [0, 0]]], [[1, -1], [1, 0]])
    x = torch.tensor([[1.0, 2.0, 5.0, 4.0, 7.0], [3.0, 1.0, 1.0, 2.0, 3.0]], dtype=torch.float64)
    target = 2 * x[0] / (x[0] - x[1]) - x[1]
    pole = torch.cat([x, torch.full((2, 2), 6.0, dtype=torch.float64)], -1)
    middle = target.median().expand(2)  # leaves the scale of the targets as it is, or nearly
    without, with_pole = fitted(start, x, target), fitted(start, pole, torch.cat([target, middle]))
    torch.testing.assert_close(compute(with_pole, x).output, compute(without, x).output, rtol=1e-4, atol=0)


def learn(
    layer: nalm.FormulaLayer, target: Target, steps: int, low: float = 1.0, high: float = 2.0, seed: int = 1
) -> int:
    """Steps until the learner has settled."""
    learner = nalm.FormulaLearner(layer, seed=seed)
    generator = torch.Generator().manual_seed(seed)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = layer(x)
        return output, (output - t).square().mean()

    for step in range(steps):
        x = low + (high - low) * torch.rand(128, layer.in_features, generator=generator)
        learner.step(evaluate, x, target(x))
        if bool(learner.settled):
            return step + 1
    raise AssertionError(f"nothing found in {steps} steps")


@pytest.mark.parametrize(
    ("target", "expected", "span"),
    [
        (lambda x: -x[:, :1] - x[:, 1:2] + x[:, 2:3], "-a - b + c", (1.0, 2.0)),
        (lambda x: 1 / ((x[:, :1] + x[:, 1:2]) * x[:, 2:3]), "1/(c*(a + b))", (-2.0, 2.0)),
        (lambda x: x[:, :1] * x[:, 1:2] + x[:, 2:3], "a*b + c", (-2.0, -1.0)),
        (lambda x: x[:, 2:3] / (x[:, :1] * x[:, 1:2]), "c/(a*b)", (10.0, 20.0)),
    ],
    ids=["sum", "reciprocal", "sum of product", "quotient"],
)
def test_the_learner_finds_each_kind_of_formula(target: Target, expected: str, span: tuple[float, float]) -> None:
    layer = nalm.FormulaLayer(4, 1)
    learn(layer, target, 400, *span)
    assert layer.on_grid()
    assert str(nalm.read(layer, "abcd")) == expected


def test_two_outputs_are_two_formulas() -> None:
    layer = nalm.FormulaLayer(3, 2)
    learn(layer, lambda x: torch.stack([x[:, 0] + x[:, 1], x[:, 0] * x[:, 2]], -1), 200)
    assert str(nalm.read(layer, "abc")) == "a + b, a*c"


def test_a_run_does_not_depend_on_its_cohort() -> None:
    def trained(seeds: list[int]) -> list[Tensor]:
        layer = nalm.FormulaLayer(3, 1, runs=(len(seeds),), seed=seeds)
        learner = nalm.FormulaLearner(layer, seed=seeds)

        def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
            output = layer(x)
            return output, (output - t).square().mean((-2, -1))

        for step in range(6):
            x = 1 + uniforms(torch.tensor(seeds), 0, step, (64, 3))
            learner.step(evaluate, x, x[..., :1] * x[..., 1:2] - x[..., 2:])
        sums = learner.tracks[0].search.numbers.sums
        return [sums[i] for i in range(len(seeds))]

    together, alone = trained([4, 9]), trained([9])
    torch.testing.assert_close(together[1], alone[0], rtol=1e-6, atol=1e-6)


def test_a_law_that_changes_is_given_up_and_learned_anew() -> None:
    layer = nalm.FormulaLayer(3, 1)
    learner = nalm.FormulaLearner(layer, seed=2)
    generator = torch.Generator().manual_seed(0)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = layer(x)
        return output, (output - t).square().mean()

    def until(wanted: str, target: Target) -> None:
        for _ in range(200):
            x = 1 + torch.rand(128, 3, generator=generator)
            learner.step(evaluate, x, target(x))
            if bool(learner.settled) and str(nalm.read(layer, "abc")) == wanted:
                return
        raise AssertionError(f"{wanted} not found, but {nalm.read(layer, 'abc')}")

    until("a + b", lambda x: x[:, :1] + x[:, 1:2])
    until("a*c", lambda x: x[:, :1] * x[:, 2:])


def test_the_rest_of_a_network_may_be_anything_that_is_fixed() -> None:
    """The target is known only through a logarithm and another loss."""
    layer = nalm.FormulaLayer(3, 1)
    model = torch.nn.Sequential(layer, torch.nn.Softplus())
    learner = nalm.FormulaLearner(model, seed=3)
    generator = torch.Generator().manual_seed(0)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = model(x)
        return output, torch.nn.functional.huber_loss(output, t, delta=10.0)

    for _ in range(150):
        x = 1 + torch.rand(128, 3, generator=generator, dtype=torch.float64).float()
        learner.step(evaluate, x, torch.nn.functional.softplus(x[:, :1] * x[:, 1:2] - x[:, 2:]))
    assert bool(learner.found)
    assert str(nalm.read(layer, "abc")) == "a*b - c"


def test_what_cannot_work_is_said() -> None:
    with pytest.raises(ValueError, match="contains no FormulaLayer"):
        nalm.FormulaLearner(nalm.NMU(2, 1))
    with pytest.raises(TypeError, match=r"model is \[\]; it needs a Module"):
        nalm.FormulaLearner([])  # type: ignore[arg-type]
    layer = nalm.FormulaLayer(2, 1)
    learner = nalm.FormulaLearner(layer)
    with pytest.raises(TypeError, match="needs the function"):
        learner.step(torch.zeros(()))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one number per run"):
        learner.step(lambda: (y := layer(torch.ones(3, 2)), y.square()))
    with pytest.raises(ValueError, match="holds weights of formula layers"):
        nalm.FormulaLearner(layer, torch.optim.Adam(layer.parameters()))
    with pytest.raises(ValueError, match="terms is 0"):
        nalm.FormulaLayer(2, 1, terms=0)


def squared_error(model: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        y = model(x)
        return y, (y - t).square().mean()

    return evaluate


def test_a_frozen_formula_stays_and_a_layer_that_a_batch_does_not_use_waits() -> None:
    fixed, free = nalm.FormulaLayer(2, 1).requires_grad_(False), nalm.FormulaLayer(2, 1)
    before = [p.clone() for layer in (fixed, free) for p in layer.parameters()]
    learner = nalm.FormulaLearner(nn.ModuleList([fixed, free]), seed=0)
    other = nn.Linear(2, 1)
    for model in (lambda x: fixed(x) + other(x), other):
        learner.step(squared_error(model), torch.rand(8, 2), torch.rand(8, 1))
    assert all(torch.equal(p, q) for p, q in zip([*fixed.parameters(), *free.parameters()], before, strict=True))
    with pytest.raises(ValueError, match="contains no FormulaLayer that may learn"):
        nalm.FormulaLearner(fixed)


def test_a_step_leaves_no_gradients_and_no_graph_behind() -> None:
    layer = nalm.FormulaLayer(2, 1)
    learner = nalm.FormulaLearner(layer, seed=0)
    learner.step(squared_error(layer), torch.rand(8, 2), torch.rand(8, 1))
    assert all(p.grad is None for p in layer.parameters())
    copy.deepcopy(learner)


def test_a_batch_that_is_not_finite_teaches_nothing() -> None:
    layer = nalm.FormulaLayer(2, 1)
    learner = nalm.FormulaLearner(layer)
    before = layer.W.detach().clone()
    x = torch.tensor([[1.0, torch.nan]]).expand(16, 2)
    learner.step(lambda: (y := layer(x), (y - 1).square().mean()))
    assert torch.equal(layer.W, before)


def test_an_attempt_that_no_longer_halves_its_error_begins_anew_when_patience_is_over() -> None:
    settings = Settings(attempts=8, patience=5)
    search = Attempts(Size(1, 1, 2), torch.tensor([0]), settings)
    rows = torch.tensor([0])
    x = 1 + torch.rand(1, 2, 64, dtype=torch.float64)
    noise = torch.randn(1, 64, dtype=torch.float64)
    search.step(rows, x, noise)
    assert bool((search.age == 1).all()), "at first all begin"
    assert bool((search.stalled == 0).all())
    ages = []
    for _ in range(20):
        before, halved = search.stalled.clone(), search.best.clone() / 2
        search.step(rows, x, noise)
        begun = before == settings.patience
        assert bool((search.age[begun] == 1).all())
        still = ~begun & (search.loss >= halved)
        assert torch.equal(search.stalled[still], before[still] + 1)
        ages.append(int(search.age.max()))
    assert max(ages) == settings.patience + 1, "noise is fitted as well as it can be at once"
    assert search.found(0) is None


def test_a_step_that_helps_makes_the_next_one_bolder() -> None:
    settings = Settings(attempts=32)
    search = Attempts(Size(1, 2, 2), torch.tensor([0]), settings)
    x = 1 + torch.rand(1, 2, 64, dtype=torch.float64)
    search.step(torch.tensor([0]), x, x[:, 0] * x[:, 1])
    learned = search.loss.clone()
    search.step(torch.tensor([0]), x, x[:, 0] * x[:, 1])
    helped = search.loss < learned
    assert bool(helped.any())
    ratios = {round(float(ratio), 6) for ratio in (search.damping / settings.damping)[helped]}
    assert ratios <= {1 / 25, 4 / 5}, (
        "a fifth after each step that lowered the error, four times after one that did not"
    )


def test_a_formula_is_taken_after_three_batches_and_looked_for_as_long_again() -> None:
    layer = nalm.FormulaLayer(2, 1)
    learner = nalm.FormulaLearner(layer, seed=1)
    track = learner.tracks[0]
    generator = torch.Generator().manual_seed(0)

    def evaluate(x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        output = layer(x)
        return output, (output - t).square().mean()

    agreed = [0]  # of the attempt that has agreed with the most batches, after each step
    while not bool(learner.found):
        x = 1 + torch.rand(128, 2, generator=generator)
        learner.step(evaluate, x, x[:, :1] * x[:, 1:])
        agreed.append(int(track.search.confirmed.max()))
    assert agreed[-3:] == [1, 2, 3]
    assert learner.steps == len(agreed) - 1
    assert int(track.until) == 2 * learner.steps + learner.settings.longer


def test_the_numbers_of_the_search_are_those_of_the_committed_results() -> None:
    """No run is named by them, so that one that changed would give other results under the same name."""
    assert asdict(Settings()) == {
        **{"attempts": 64, "damping": 1e-2, "patience": 20, "longest": 150, "close": 1e-6, "agreements": 3},
        **{"longer": 20, "doubts": 20, "rounding": 8.0, "one_term": 0.5, "one_factor": 0.35, "two_factors": 0.4},
        **{"alike": 0.5, "dividing": 0.4, "reciprocal": 0.25},
    }


def test_the_searches_of_a_model_have_seeds_of_their_own() -> None:
    model = torch.nn.Sequential(nalm.FormulaLayer(2, 2), nalm.FormulaLayer(2, 3))
    learner = nalm.FormulaLearner(model, seed=2**32 - 1)
    seeds = torch.cat([track.search.seeds for track in learner.tracks])
    assert len(set(seeds.tolist())) == 5
    assert bool(((seeds >= 0) & (seeds < 2**32)).all())


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parents[2]
    runpy.run_path(str(root / "examples" / "formula.py"))
    printed = capsys.readouterr().out.strip()
    assert printed == "-d + (a + b)/c"
    page = (root / "pages" / "templates" / "results" / "composition.md").read_text(encoding="utf-8")
    assert f"```\n{printed}\n```" in page
