"""What the compiler refuses, in one line that names the culprit, before anything runs."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
import torch

from nalm.native import Unsupported, compile_step


def compiled(step, state=None, draws=None):
    """A step of state and draws alone."""
    state, draws = state or {"w": (2, 1)}, draws or {"x": (0, (2, 128))}
    return compile_step(lambda s, _, d, __: step(s, d), state=state, consts={}, draws=draws, clock=[], samples=128)


def refusal(step, **options):
    with pytest.raises(Unsupported) as caught:
        compiled(step, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_operation_without_a_rule():
    assert "aten.erfinv" in refusal(lambda s, d: (s, {"m": torch.erfinv(d["x"]).mean()}))


def test_state_as_long_as_the_batch():
    message = refusal(lambda s, _: (s, {}), state={"w": (128, 1)})
    assert "'w'" in message
    assert "number of samples" in message


def test_draws_with_two_sample_axes():
    assert "'x'" in refusal(lambda s, _: (s, {}), draws={"x": (0, (128, 128))})


def test_wide_values_that_are_neither_affine_nor_small_enough_to_unroll():
    def step(s, d):
        hidden = torch.tanh(s["w"][..., None] * d["x"])  # (300, 300, 128)
        return s, {"m": hidden.sum()}

    message = refusal(step, state={"w": (300, 300)}, draws={"x": (0, (300, 128))})
    assert "too much code" in message


def test_a_step_that_looks_at_its_values():
    def step(s, d):
        return ({"w": s["w"] * 2} if float(d["x"].mean()) > 0 else s), {}

    assert "traced" in refusal(step)


def test_double_precision():
    assert "float64" in refusal(lambda s, _: ({"w": (s["w"].double() * 2).float()}, {}))


def test_cutting_the_sample_axis():
    assert "long axis" in refusal(lambda s, d: (s, {"m": d["x"][:, :64].mean()}))
    assert "long axis" in refusal(lambda s, d: (s, {"m": torch.flip(d["x"], [1])[0].mean()}))


def test_moving_the_sample_axis_through_a_view():
    assert "long axis" in refusal(lambda s, d: (s, {"m": d["x"].T.reshape(2, 128)[0].mean()}))


def test_the_largest_of_all_samples():
    assert "amax" in refusal(lambda s, d: (s, {"m": d["x"].amax()}))


def test_new_state_of_another_shape():
    assert "'w'" in refusal(lambda s, _: ({"w": s["w"].sum()}, {}))
    assert "'v'" in refusal(lambda s, _: ({"v": s["w"]}, {}))


def test_without_llvmlite_the_message_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("llvmlite"):
            raise ImportError("No module named 'llvmlite'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert "pip install llvmlite" in refusal(lambda s, _: ({"w": s["w"] * 2}, {}))


def test_wrong_arrays_name_the_culprit():
    kernel = compiled(lambda s, _: ({"w": s["w"] * 2}, {}))
    seeds, table = np.zeros(3, int), np.zeros((1, 0), np.float32)
    with pytest.raises(ValueError, match="'w' must be float32 of shape"):
        kernel.run({"w": np.zeros((3, 2, 1))}, {}, seeds, table, 0)
    with pytest.raises(ValueError, match="'w'"):
        kernel.run({}, {}, seeds, table, 0)
