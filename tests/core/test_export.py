"""Stacks of units leave PyTorch: ONNX, run by onnxruntime, gives the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import nalm
from tests.units.catalogue import inputs

STACKS = {
    "sums then product": lambda: nalm.Chain(nalm.NAU(3, 4), nalm.NMU(4, 2)),
    "powers then sum": lambda: nalm.Chain(nalm.RealNPU(3, 4), nalm.NAU(4, 2)),
    "gated": lambda: nalm.Gated(nalm.INAC(3, 2), nalm.NMRU(3, 2)),
}


its_own_warnings = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::torch.jit.TracerWarning", "ignore::UserWarning"
)


@its_own_warnings
@pytest.mark.parametrize(("exporter", "name"), [*(("tracing", name) for name in STACKS), ("torch.export", "gated")])
def test_onnx(name: str, exporter: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = STACKS[name]().eval()
    path = tmp_path / "model.onnx"
    if exporter == "tracing":  # the older one, dynamo=False
        axes = {"x": {0: "samples"}}
        torch.onnx.export(model, (inputs(5),), path, dynamo=False, input_names=["x"], dynamic_axes=axes)
    else:
        samples = torch.export.Dim("samples", min=2)
        torch.onnx.export(model, (inputs(5),), path, dynamo=True, dynamic_shapes=({0: samples},), verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = inputs(9)
    (result,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(result, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
