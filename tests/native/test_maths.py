"""The library's own elementary functions against float64, over the whole range of float32."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nalm.native import compile_step

WIDTH = 32
_LEAST, _MOST = 2.0**-126, 3.4028235e38
_EDGES = (1e-45, _LEAST, 0.625, 1, math.pi, 87.33655, 88.72283, 88.72284, 103.97208, 104, 65536, 65537, 2.0**31, _MOST)
SPECIAL = np.array([0, math.inf, math.nan, *_EDGES, -0.0, -math.inf, *(-x for x in _EDGES)], np.float32)


def everywhere(count: int = 1 << 16) -> np.ndarray:
    """Bit patterns drawn uniformly, so every exponent is as likely, numbers of everyday size, and special ones."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32).view(np.float32)
    usual = rng.normal(0, 3, count // 2).astype(np.float32)
    wide = rng.uniform(-110, 95, count // 2).astype(np.float32)
    return np.concatenate([bits, usual, wide, SPECIAL])


def compiled(function, *columns: np.ndarray, cpu: str | None = None) -> np.ndarray:
    """The function of columns of numbers, elementwise, by a compiled step; results are its state."""
    runs = -(-len(columns[0]) // WIDTH)
    padded = [np.resize(column, runs * WIDTH).reshape(runs, WIDTH) for column in columns]
    names = [f"x{i}" for i in range(len(columns))]
    kernel = compile_step(
        lambda _, consts, __, ___: ({"y": function(*(consts[n] for n in names))}, {}),
        state={"y": (WIDTH,)},
        consts=dict.fromkeys(names, (WIDTH,)),
        draws={},
        clock=[],
        samples=16,
        cpu=cpu,
    )
    state = {"y": np.zeros((runs, WIDTH), np.float32)}
    kernel.run(state, dict(zip(names, padded, strict=True)), np.zeros(runs, int), np.zeros((1, 0), np.float32), 0)
    return state["y"].ravel()[: len(columns[0])]


def distance(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """In units of the last place of the exact result; 0 for equal infinities and NaN, infinite for unequal ones."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        step = np.spacing(np.clip(np.abs(rounded), np.float32(2.0**-126), np.float32(2.0**127))).astype(np.float64)
        error = np.abs(got.astype(np.float64) - exact) / step
    special = ~np.isfinite(rounded) | ~np.isfinite(got)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(special, np.where(same, 0.0, np.inf), error)


@pytest.mark.parametrize(
    ("name", "bound"),
    [("exp", 1.05), ("log", 0.9), ("tanh", 1.4), ("log1p", 1.5), ("expm1", 1.5), ("erf", 2.5), ("sqrt", 0.5)],
)
def test_error_bounds_hold_everywhere(name, bound):
    x = everywhere()
    function = getattr(torch, name)
    errors = distance(compiled(function, x), function(torch.tensor(x).double()).numpy())
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, (x[worst], errors[worst])


def test_sigmoid():
    x = everywhere()
    exact = torch.sigmoid(torch.tensor(x).double()).numpy()
    got = compiled(torch.sigmoid, x)
    normal = ~(exact < 2.0**-126)  # below, torch's own sigmoid is 0 as well
    assert distance(got, exact)[normal].max() <= 2.5
    assert np.abs(got[~normal]).max() <= 2.0**-126


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_of_any_size(name):
    rng = np.random.default_rng(1)
    near = np.concatenate([rng.uniform(-65536, 65536, 1 << 16), rng.normal(0, 3, 1 << 15)]).astype(np.float32)
    # Next to multiples of pi / 2 a careless reduction keeps no digit.
    near = np.concatenate([near, (np.arange(-40_000, 40_000) * math.pi / 2).astype(np.float32)])
    near = near[np.abs(near) <= 65536]
    function = getattr(torch, name)
    assert distance(compiled(function, near), function(torch.tensor(near).double()).numpy()).max() <= 1.6
    far = everywhere()
    got, exact = compiled(function, far), function(torch.tensor(far).double()).numpy()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    assert np.nanmax(np.abs(got - exact)) <= 1.6e-7


def test_powers_are_rounded_correctly_but_for_ties():
    rng = np.random.default_rng(2)
    x = np.concatenate([everywhere(), rng.uniform(0.5, 2, 1 << 15).astype(np.float32)])
    y = np.concatenate([rng.normal(0, 4, len(x) // 2), rng.integers(-9, 9, len(x) - len(x) // 2)]).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert distance(compiled(torch.pow, x, y), exact).max() <= 0.51


def test_powers_of_special_numbers_follow_torch():
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, np.append(SPECIAL, [2.0, 3.0, 0.5, -2.0, -3.0]).astype(np.float32)))
    expected = torch.pow(torch.tensor(x).double(), torch.tensor(y).double()).float().numpy()
    np.testing.assert_array_equal(compiled(torch.pow, x, y), expected)


ELEMENTWISE = {
    "abs": torch.abs,
    "sign": torch.sign,
    "sgn": torch.sgn,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "neg": torch.neg,
    "relu": torch.relu,
    "clamp": lambda x: x.clamp(-1.5, 2.5),
    "clamp_min": lambda x: x.clamp(min=0.25),
    "reciprocal": torch.reciprocal,
    "square": torch.square,
    "cube": lambda x: x**3,
    "isnan": lambda x: torch.isnan(x).float(),
    "isinf": lambda x: torch.isinf(x).float(),
    "logical": lambda x: ((x > 0) & ~(x > 1) | (x < -3)).float(),
    "where": lambda x: torch.where(x >= 0.5, x, -1.0),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_exact_operations_have_torchs_bits(name):
    x = everywhere(1 << 12)
    expected = ELEMENTWISE[name](torch.tensor(x)).numpy()
    np.testing.assert_array_equal(compiled(ELEMENTWISE[name], x), expected)


@pytest.mark.parametrize("function", [torch.minimum, torch.maximum])
def test_extremes_keep_nan(function):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    np.testing.assert_array_equal(compiled(function, x, y), function(torch.tensor(x), torch.tensor(y)).numpy())


def test_functions_have_the_same_bits_on_older_processors():
    x = everywhere(1 << 12)
    for function in (torch.exp, torch.log, torch.sin, torch.tanh, torch.expm1):
        here, there = compiled(function, x), compiled(function, x, cpu="haswell")
        np.testing.assert_array_equal(here.view(np.uint32)[~np.isnan(here)], there.view(np.uint32)[~np.isnan(here)])
