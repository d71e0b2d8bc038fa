"""Digits, pairs in disjoint folds, moved digits and sequences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nalm.bench.vision import colour_task, pairs, sequences, task, training
from nalm.bench.vision.colour_task import ColourPairs, LoadedColours
from nalm.bench.vision.digits import DEVIATION, MEAN, Images, load_digits, normalised
from nalm.bench.vision.distortion import CANVAS, distorted
from nalm.bench.vision.pairs import draw_pairs, folds

ALL = [(a, b) for a in range(10) for b in range(10)]
NO_ZEROS = [(a, b) for a in range(1, 10) for b in range(1, 10)]


def test_the_bundled_digits_look_like_mnist() -> None:
    digits = load_digits("digits")
    assert digits.train.pixels.shape == (1437, 28, 28)
    assert digits.test.pixels.shape == (360, 28, 28)
    assert digits.train.pixels.dtype == torch.uint8
    assert int(digits.train.pixels.max()) == 255
    assert int(digits.train.pixels[:, :4].max()) == int(digits.train.pixels[:, :, 24:].max()) == 0
    assert sorted(set(digits.test.labels.tolist())) == list(range(10))


def test_an_unknown_source_is_named() -> None:
    with pytest.raises(ValueError, match=r"'mnits'.*mnist"):
        load_digits("mnits")


@pytest.mark.parametrize("pairs", [ALL, NO_ZEROS], ids=["product", "division"])
@pytest.mark.parametrize("count", [3, 10])
def test_folds_are_the_published_ones_and_disjoint(pairs: list[tuple[int, int]], count: int) -> None:
    model_selection = pytest.importorskip("sklearn.model_selection")
    published = model_selection.KFold(count, shuffle=True, random_state=np.random.RandomState(0)).split(pairs)
    tested_before: set[tuple[int, int]] = set()
    for (train, test), (train_index, test_index) in zip(folds(pairs, count), published, strict=True):
        assert train == [pairs[i] for i in train_index]
        assert test == [pairs[i] for i in test_index]
        assert not set(train) & set(test)
        assert not tested_before & set(test)
        assert {digit for pair in train for digit in pair} == {digit for pair in pairs for digit in pair}
        tested_before |= set(test)
    assert tested_before == set(pairs)


def test_drawn_images_show_the_digits_they_should() -> None:
    images = load_digits("digits").train
    data = draw_pairs(images, [(3, 7), (0, 3)], samples=50, seed=1)
    assert torch.equal(images.labels[data.index], data.labels)
    assert sorted({tuple(row) for row in data.labels.tolist()}) == [(0, 3), (3, 7)]
    assert (data.labels[:, 0] == 3).sum() == 50
    assert data.labels[:10].tolist() != sorted(data.labels[:10].tolist())
    again, other = (draw_pairs(images, [(3, 7), (0, 3)], samples=50, seed=seed) for seed in (1, 2))
    assert torch.equal(again.index, data.index)
    assert not torch.equal(other.index, data.index)


def test_a_missing_digit_is_named() -> None:
    images = Images(torch.zeros(2, 28, 28, dtype=torch.uint8), torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="no 3"):
        draw_pairs(images, [(1, 3)], 5, 0)


def test_moved_digits_stay_inside_turn_both_ways_and_keep_their_values() -> None:
    bar = torch.zeros(28, 28, dtype=torch.uint8)
    bar[2:26, 13:15] = 200  # upright
    moved = distorted(bar.expand(400, 28, 28), torch.Generator().manual_seed(0))
    assert moved.shape == (400, CANVAS, CANVAS)
    grey = (moved * DEVIATION + MEAN) * 255
    values = sorted({round(v) for v in grey.unique().tolist()})
    assert values == [0, 200]  # nearest pixel: no new greys
    ink = grey > 100
    y, x = torch.meshgrid(torch.arange(42.0), torch.arange(42.0), indexing="ij")
    mass = ink.sum((1, 2))
    centre_x, centre_y = (ink * x).sum((1, 2)) / mass, (ink * y).sum((1, 2)) / mass
    assert 13 <= float(centre_x.min()) < 14.5  # the corner is 0 to 13
    assert 25 < float(centre_x.max()) <= 27.5
    spread = [((ink * (a - c[:, None, None]) ** 2).sum((1, 2)) / mass) for a, c in ((x, centre_x), (y, centre_y))]
    both = (ink * (x - centre_x[:, None, None]) * (y - centre_y[:, None, None])).sum((1, 2)) / mass
    angle = 0.5 * torch.rad2deg(torch.atan2(2 * both, spread[1] - spread[0]))  # of the bar against upright
    assert -46 < float(angle.min()) < -42
    assert 42 < float(angle.max()) < 46
    length = (12 * (spread[0] + spread[1])).sqrt() / 24
    upright = angle.abs() < 10  # what is turned far loses its ends
    assert 0.63 < float(length[upright].min()) < 0.76  # whole pixels, so a little shorter
    assert 1.05 < float(length[upright].max()) < 1.25


def test_every_image_of_a_batch_moves_by_itself_and_equal_seeds_move_alike() -> None:
    pixels = load_digits("digits").test.pixels[:1].expand(2, 2, 28, 28)
    one, same, other = (distorted(pixels, torch.Generator().manual_seed(seed)) for seed in (5, 5, 6))
    assert one.shape == (2, 2, 42, 42)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert not torch.equal(one[0, 0], one[0, 1])


@pytest.mark.parametrize("upright", [True, False])
def test_the_colours_of_a_batch_keep_all_their_ink_if_they_stay_upright(upright: bool) -> None:
    loaded = LoadedColours(ColourPairs(samples=1, measured=10, upright=upright), 0, "cpu")
    images, products = loaded.batch(torch.arange(20), step_seed=5)
    shown = loaded.train.images.pixels[loaded.train.index[:20]].double().sum((-1, -2))
    ink = ((images.double() * DEVIATION + MEAN) * 255).sum((-1, -2))
    assert torch.allclose(ink, shown, atol=1) == upright
    assert products.squeeze(-1).tolist() == loaded.train.labels[:20].prod(-1).tolist()


class ReadsInOrder:
    """Stands for a network that is shown the measured pairs in their order, test before validation, and reads them
    right, except that the second digit of the first pair after a full batch is taken for one more."""

    def __init__(self, loaded: LoadedColours) -> None:
        self.truth = torch.cat([loaded.test.labels, loaded.validation.labels]).float()
        self.truth[colour_task.MEASURED_AT_ONCE, 1] += 1
        self.place = 0

    def read(self, images: torch.Tensor) -> torch.Tensor:
        self.place += len(images)
        return self.truth[self.place - len(images) : self.place]

    def head(self, digits: torch.Tensor) -> torch.Tensor:
        return digits[:, :1] * digits[:, 1:]


def test_every_pair_of_colours_is_measured_with_its_own_product() -> None:
    loaded = LoadedColours(ColourPairs(samples=40, measured=300), 0, "cpu")
    network = ReadsInOrder(loaded)
    found = loaded.measure(network)  # type: ignore[arg-type]
    assert network.place == 600
    wrong = float(loaded.test.labels[colour_task.MEASURED_AT_ONCE, 0])
    assert wrong > 0
    assert found["result_exact"] == found["second_digit"] == pytest.approx(299 / 300)
    assert found["first_digit"] == 1
    assert found["test_error"] == pytest.approx(wrong**2 / 300)
    assert (found["validation_error"], found["unit_error"]) == (0, 0)


def test_the_draws_are_those_of_the_committed_results() -> None:
    """No run is named by these numbers: one that changed would give other results under the same name."""
    assert (pairs.FOLD_SEED, sequences.VALIDATION, sequences.TEST, colour_task.MOVES) == (
        0,
        47430696,
        88253339,
        20150600,
    )
    assert (task.TEST_DRAWS, training.ORDERS, task.MEASURED_IN_TRAINING) == (2**20, 2**31, 5000)


def test_normalised_pixels_have_the_published_mean() -> None:
    assert float(normalised(torch.tensor([0], dtype=torch.uint8))) == pytest.approx(-0.1307 / 0.3081)
    assert float(normalised(torch.tensor([255], dtype=torch.uint8))) == pytest.approx((1 - 0.1307) / 0.3081)


def test_sequences_use_every_image_once_and_leave_out_zeros() -> None:
    images = load_digits("digits").train
    trained, validating = sequences.split(images)
    assert (len(trained.labels), len(validating.labels)) == (1437 - 120, 120)
    index = sequences.cut(trained, 1, 2, seed=3)
    assert index.shape[1] == 2
    assert len(index.unique()) == index.numel() >= (trained.labels > 0).sum() - 1
    assert int(trained.labels[index].min()) == 1
    assert int(trained.labels[sequences.cut(trained, 0, 10, seed=3)].min()) == 0


def test_sequences_are_the_published_permutation() -> None:
    images = Images(torch.zeros(6, 28, 28, dtype=torch.uint8), torch.tensor([5, 0, 5, 5, 0, 5]))
    expected = np.random.RandomState(9).permutation([0, 2, 3, 5]).reshape(2, 2)
    assert sequences.cut(images, 1, 2, seed=9).tolist() == expected.tolist()


def test_a_length_that_no_sequence_reaches_is_refused() -> None:
    images = Images(torch.zeros(3, 28, 28, dtype=torch.uint8), torch.tensor([1, 0, 2]))
    with pytest.raises(ValueError, match="length 3"):
        sequences.cut(images, 1, 3, seed=0)


def test_mnist_splits_as_published() -> None:
    fake = Images(torch.zeros(60_000, 1, 1, dtype=torch.uint8), torch.zeros(60_000, dtype=torch.int64))
    assert [len(part.labels) for part in sequences.split(fake)] == [55_000, 5_000]
