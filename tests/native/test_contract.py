"""Products with drawn matrices against torch in float64: what each run adds, and what the runs of a seed share."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from nalm.core.uniforms import uniforms
from nalm.native import compile_step

FEATURES, SAMPLES = 70, 37  # neither is a whole number of tiles
SEEDS = np.array([3, 3, 3, 8])


def step(  # type: ignore[no-untyped-def]
    state: dict[str, Tensor], consts: dict[str, Tensor], draws: dict[str, Tensor], _: dict[str, Tensor]
):
    """Sums over all samples of features times a row: one row of the seed, one of the run."""
    x = draws["x"]
    of_seed = (consts["mask"] @ x).square()
    of_run = (state["w"] @ x).square()
    return {"seed": of_seed @ x.T, "run": of_run @ x.T, "w": state["w"]}, {}


@pytest.mark.parametrize("name", ["seed", "run"])
def test_sums_over_samples_are_torchs_in_every_run(name: str) -> None:
    shape = (1, FEATURES)
    kernel = compile_step(
        step,
        state=dict.fromkeys(("w", "seed", "run"), shape),
        consts={"mask": shape},
        draws={"x": (0, (FEATURES, SAMPLES))},
        clock=[],
        samples=SAMPLES,
        seed_consts=["mask"],
    )
    rng = np.random.default_rng(0)
    state = {name: np.zeros((len(SEEDS), *shape), np.float32) for name in ("seed", "run")}
    state["w"] = rng.uniform(-1, 1, (len(SEEDS), *shape)).astype(np.float32)
    consts = {"mask": (SEEDS[:, None, None] + np.arange(FEATURES) % 2).astype(np.float32)}
    kernel.run(state, consts, SEEDS, np.zeros((1, 0), np.float32), 5)
    for run, seed in enumerate(SEEDS):
        own, shared = (
            {n: torch.tensor(v[run], dtype=torch.float64) for n, v in arrays.items()} for arrays in (state, consts)
        )
        exact, _ = step(own, shared, {"x": uniforms(int(seed), 0, 5, (FEATURES, SAMPLES)).double()}, {})
        np.testing.assert_allclose(state[name][run], exact[name], rtol=1e-5)
