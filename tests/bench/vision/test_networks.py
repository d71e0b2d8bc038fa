"""Readers, spatial transformer, heads and recurrent cells."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

import nalm
from nalm.bench.vision.heads import ExactProduct, ExactQuotient, ExactSum, WeightedProduct
from nalm.bench.vision.networks import ColourNetwork, PairNetwork, Recurrent, RecurrentLSTM, SequenceNetwork
from nalm.bench.vision.readers import Classifier, Dropout, SmallReader, soft_argmax
from nalm.bench.vision.splines import Localiser, ThinPlateSpline, control_points, sampled


class PlainClassifier(nn.Module):
    """The published network in the words of its code."""

    def __init__(self, fast: Classifier) -> None:
        super().__init__()
        self.fast = fast

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.fast.first(images))
        x = functional.max_pool2d(functional.relu(self.fast.second(x)), 2)
        side = x.shape[-1]
        # flattened by channel; the fast one flattens by place, which only renames the inputs of its dense layer
        weight = self.fast.dense.weight.view(128, side, side, 64).permute(0, 3, 1, 2).flatten(1)
        x = functional.relu(functional.linear(x.flatten(1), weight, self.fast.dense.bias))
        return self.fast.logits(x)


@pytest.mark.parametrize(("channels", "side"), [(1, 28), (2, 21)])
def test_the_fast_classifier_computes_the_published_network(channels: int, side: int) -> None:
    torch.manual_seed(0)
    fast = Classifier(channels, side).eval()
    images = torch.rand(5, channels, side, side)
    torch.testing.assert_close(fast(images), PlainClassifier(fast)(images), rtol=1e-4, atol=1e-5)


def test_the_published_sizes() -> None:
    assert Classifier().dense.in_features == 9216
    assert Classifier(2, 21).dense.in_features == 4096
    assert sum(p.numel() for p in SmallReader().parameters()) == 520 + 25_050 + 400_500 + 501
    assert Localiser().dense.in_features == 320


@pytest.mark.parametrize(("channels", "side", "outputs"), [(1, 28, 1), (1, 28, 10), (2, 21, 10)])
def test_the_small_reader_computes_the_published_network(channels: int, side: int, outputs: int) -> None:
    torch.manual_seed(0)
    fast = SmallReader(channels, side, outputs)
    images = torch.rand(3, channels, side, side)
    x = functional.max_pool2d(functional.relu(fast.first(images)), 2)
    x = functional.max_pool2d(functional.relu(fast.second(x)), 2)
    weight = fast.dense.weight.view(500, *x.shape[2:], 50).permute(0, 3, 1, 2).flatten(1)
    x = functional.relu(functional.linear(x.flatten(1), weight, fast.dense.bias))
    torch.testing.assert_close(fast(images), fast.outputs(x), rtol=1e-4, atol=1e-5)


def test_gradients_of_the_fast_classifier_are_those_of_the_published_network() -> None:
    torch.manual_seed(0)
    fast = Classifier().eval()
    images = torch.rand(3, 1, 28, 28)
    gradients = []
    for network in (fast, PlainClassifier(fast)):
        fast.zero_grad()
        network(images).square().sum().backward()
        gradients.append([p.grad.clone() for p in fast.parameters()])
    for ours, published in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, published, rtol=1e-3, atol=1e-4)


def test_soft_argmax_is_the_expected_digit() -> None:
    logits = torch.log(torch.tensor([[0.25, 0.25, 0.5]]))
    assert float(soft_argmax(logits)) == pytest.approx(0.25 + 1.0)
    assert float(soft_argmax(logits, smallest=1)) == pytest.approx(2.25)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    y = Dropout(share)(torch.ones(1000, 101))
    assert y.unique().tolist() == [0.0, pytest.approx(1 / (1 - share))]
    assert float((y == 0).float().mean()) == pytest.approx(share, abs=0.01)
    columns = (y == 0).float().mean(0)  # no byte of a draw differs from the others
    assert float(columns.min()) > share - 0.08
    assert float(columns.max()) < share + 0.08
    assert torch.equal(Dropout(share).eval()(torch.ones(3)), torch.ones(3))


@pytest.mark.parametrize("share", [0.3, 1.0, -0.25])
def test_a_share_that_no_byte_can_decide_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="1/256"):
        Dropout(share)


def test_identity_control_points_give_the_identity_map() -> None:
    spline = ThinPlateSpline(42)
    grid = spline(control_points().float()[None])
    same = functional.affine_grid(torch.tensor([[[1.0, 0, 0], [0, 1, 0]]]), [1, 1, 42, 42], align_corners=False)
    torch.testing.assert_close(grid, same, rtol=0, atol=2e-5)
    image = torch.rand(1, 2, 42, 42)
    torch.testing.assert_close(sampled(image, grid), image, rtol=0, atol=1e-3)


@pytest.mark.parametrize("matrix", [[[0.5, 0.1, 0.2], [-0.3, 0.8, -0.1]], [[1.0, 0, 0.3], [0, 1, 0]]])
def test_control_points_moved_by_an_affine_map_give_that_map(matrix: list[list[float]]) -> None:
    points = control_points().float()
    moved = points @ torch.tensor(matrix)[:, :2].T + torch.tensor(matrix)[:, 2]
    expected = functional.affine_grid(torch.tensor([matrix]), [1, 1, 42, 42], align_corners=False)
    torch.testing.assert_close(ThinPlateSpline(42)(moved[None]), expected, rtol=0, atol=3e-5)


def test_the_spline_passes_through_its_control_points() -> None:
    torch.manual_seed(0)
    spline = ThinPlateSpline(10)  # its pixel centres hold the control points -0.9, -0.3, 0.3, 0.9
    points = torch.rand(1, 16, 2) * 2 - 1
    grid = spline(points)[0]
    at = [0, 3, 6, 9]
    torch.testing.assert_close(grid[at][:, at].reshape(16, 2), points[0], rtol=0, atol=1e-4)


def test_identity_start_is_really_in_effect_and_the_published_one_is_not_the_identity() -> None:
    images = torch.rand(3, 2, 42, 42)
    torch.manual_seed(0)
    ours, published = ColourNetwork(ExactProduct(2, 1)), ColourNetwork(ExactProduct(2, 1), identity=False)
    for view in ours.found(images):
        torch.testing.assert_close(view, images, rtol=0, atol=2e-3)
    assert float((published.found(images) - images).abs().mean().detach()) > 0.05


def test_a_localiser_is_bounded_and_learns() -> None:
    localiser = Localiser()
    points = localiser(100 * torch.randn(2, 2, 42, 42))
    assert points.shape == (2, 16, 2)
    assert float(points.detach().abs().max()) < 1
    sampled(torch.rand(2, 2, 42, 42), ThinPlateSpline(42)(points)).sum().backward()
    assert float(localiser.points.weight.grad.abs().sum()) > 0


def test_heads_compute_what_they_say() -> None:
    x = torch.tensor([[6.0, 3.0], [5.0, 2.0]])
    assert ExactProduct(2, 1)(x).tolist() == [[18.0], [10.0]]
    assert ExactQuotient(2, 1)(x).tolist() == [[2.0], [2.5]]
    assert ExactSum(2, 1)(x).tolist() == [[9.0], [7.0]]
    head = WeightedProduct(2, 1)
    assert all(0.25 <= w < 0.75 for w in head.W.tolist())
    with torch.no_grad():
        head.weights["W"].raw(head)[0].copy_(torch.tensor([2.0, 0.5]))
    assert head(x).tolist() == [[18.0], [10.0]]


def test_a_pair_is_read_in_its_order() -> None:
    network = PairNetwork(ExactQuotient(2, 1), smallest=1).eval()
    images = torch.rand(4, 2, 28, 28)
    digits = network.read(images.flatten(0, 1)).view(4, 2).detach()
    torch.testing.assert_close(network(images).detach(), digits[:, :1] / digits[:, 1:])
    assert 1 <= float(digits.min()) <= float(digits.max()) <= 9


def test_a_colour_network_reads_each_digit_with_its_own_transformer() -> None:
    torch.manual_seed(0)
    network = ColourNetwork(ExactProduct(2, 1), identity=False).eval()
    images = torch.rand(4, 2, 42, 42)
    digits = network.read(images)
    assert digits.shape == (4, 2)
    one = network.found(images)[1]
    alone = soft_argmax(network.reader(functional.avg_pool2d(one, 2)))
    torch.testing.assert_close(digits[:, 1], alone)


@pytest.mark.parametrize(
    ("head", "start", "expected"),
    [(ExactProduct(2, 1), 1.0, [2.0, 6.0, 24.0]), (ExactSum(2, 1), 0.0, [2.0, 5.0, 9.0])],
    ids=["product", "sum"],
)
def test_solved_cells_accumulate(head: nn.Module, start: float, expected: list[float]) -> None:
    results, mean_input = Recurrent(head, start)(torch.tensor([[2.0, 3.0, 4.0]]))
    assert results.tolist() == [expected]
    before = [start, *expected[:-1]]
    assert mean_input.tolist() == [3.0, pytest.approx(sum(before) / 3)]


def test_the_input_penalty_is_the_published_one() -> None:
    cell = nalm.NMU(2, 1, seed=0)
    w = cell.W.detach()[0]
    mean = torch.tensor([3.0, 5.0])
    expected = ((1 - w) * (1 - mean) ** 2).mean()
    assert float(Recurrent(cell, 1.0, 1.0).input_penalty(mean).detach()) == pytest.approx(float(expected))
    nau = nalm.NAU(2, 1, seed=0)
    expected = ((1 - nau.W.detach()[0].abs()) * mean**2).mean()
    assert float(Recurrent(nau, 0.0, 0.0).input_penalty(mean).detach()) == pytest.approx(float(expected))
    assert float(Recurrent(ExactProduct(2, 1), 1.0, 1.0).input_penalty(mean)) == 0


def test_in_log_space_the_input_penalty_sees_logarithms_as_in_the_published_code() -> None:
    digits = torch.tensor([[2.0, 3.0], [5.0, 7.0]])
    logs = [math.log(digit + 1e-7) for digit in (2.0, 3.0, 5.0, 7.0)]
    for cell in (nalm.MulNACLinear(2, 1, seed=0), nalm.MulNAC(2, 1, seed=0)):
        _, seen = Recurrent(cell, 1.0, 1.0)(digits)
        assert float(seen[0].detach()) == pytest.approx(sum(logs) / 4)
    for unit in (nalm.NMU(2, 1, seed=0), nalm.NRU(2, 1, seed=0)):
        assert float(Recurrent(unit, 1.0, 1.0)(digits)[1][0].detach()) == pytest.approx(17 / 4)


def test_a_sequence_network_reads_each_image_alone() -> None:
    torch.manual_seed(0)
    network = SequenceNetwork(Recurrent(ExactProduct(2, 1), 1.0)).eval()
    images = torch.rand(2, 3, 28, 28)
    digits = torch.stack([network.read(images[:, t]) for t in range(3)], 1)
    torch.testing.assert_close(network(images), digits.cumprod(1), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(network.mean_input[0], digits.mean())


def test_the_lstm_baseline_gives_one_result_per_digit() -> None:
    results, _ = RecurrentLSTM()(torch.rand(5, 7))
    assert results.shape == (5, 7)
    assert float(results.detach().abs().max()) < 1
    assert math.isfinite(float(results.detach().sum()))
