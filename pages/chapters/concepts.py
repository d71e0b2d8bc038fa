"""The pictures of the page that explains why units fail: pulls, squashed weights, dead gradients, coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from nalm.bench.show.drawings import figure_of
from nalm.bench.show.figures import COLOURS
from nalm.core.unit import Unit
from nalm.core.weight import saturate, to_grid
from nalm.units.inalu import INAC
from nalm.units.nac import NAC
from nalm.units.nau import NAU, NMU
from nalm.units.npu import RealNPU
from pages.markdown import picture

FOLDER = "results/"  # the page stands one folder above the figures


def pulls() -> str:
    """The penalties that pull weights to their grid, over the weight they pull."""
    w = torch.linspace(-1.5, 1.5, 601)
    raw = torch.linspace(-30, 30, 601)
    with figure_of(1, 2, 2.2) as (figure, (left, right)):
        for unit, colour in ((NAU, COLOURS[0]), (NMU, COLOURS[1])):
            strength = [float(to_grid(unit.W, [v.reshape(1, 1)])) for v in w]
            left.plot(w.numpy(), strength, color=colour, label=unit.__name__)
        left.set(xlabel="weight", ylabel="penalty", title="to the nearest value of the grid")
        left.legend(frameon=False)
        right.plot(
            raw.numpy(), [float(saturate(INAC.W, [v.reshape(1, 1)])) for v in raw], color=COLOURS[2], label="iNALU"
        )
        right.set(xlabel="raw parameter", title="away from zero, up to 20")
        right.legend(frameon=False)
    return picture(figure, "concepts-pulls.svg", "Penalties that pull weights to their grid", FOLDER)


def squashed() -> str:
    """The NAC's weight over its two raw parameters: flat where it is a whole number."""
    edge = torch.linspace(-8, 8, 161)
    first, second = torch.meshgrid(edge, edge, indexing="ij")
    raw = (first.requires_grad_(), second.requires_grad_())
    value = NAC.W.value(*raw)
    slope = torch.stack(torch.autograd.grad(value.sum(), raw)).norm(dim=0)
    with figure_of(1, 2, 2.6) as (figure, panels):
        shown = (("weight", value.detach(), "RdBu_r"), ("size of its gradient", slope, "viridis_r"))
        for axes, (title, surface, colours) in zip(panels, shown, strict=True):
            image = axes.pcolormesh(
                edge.numpy(), edge.numpy(), surface.T.numpy(), cmap=colours, shading="nearest", rasterized=True
            )
            axes.set(title=title, xlabel="first raw parameter", ylabel="second raw parameter")
            figure.colorbar(image, ax=axes)
    return picture(figure, "concepts-squashed.png", "The NAC's weight and its gradient", FOLDER)


EPSILON = 1e-7  # of the multiplicative NAC, which keeps its logarithm finite


def log_space() -> str:
    """The expectation of one factor of the multiplicative NAC, and the error of its second-order estimate."""
    widths, tops = np.linspace(0.01, 0.5, 60), np.linspace(1, 50, 60)
    expected = np.array([[_mean_power(width, top) for width in widths] for top in tops])
    estimate = 1 + widths**2 / 3 / 2 * np.log(tops[:, None] / 2 + EPSILON) ** 2  # the variance of U[-r, r) is r^2 / 3
    with figure_of(1, 2, 2.2) as (figure, panels):
        shown = (("expectation", expected, "viridis_r"), ("estimate − expectation", estimate - expected, "viridis"))
        for axes, (title, surface, colours) in zip(panels, shown, strict=True):
            image = axes.pcolormesh(widths, tops, surface, cmap=colours, shading="nearest", rasterized=True)
            axes.set(title=title, xlabel="r of the exponents U[-r, r)", ylabel="c of the inputs U[0, c)")
            figure.colorbar(image, ax=axes)
    return picture(figure, "concepts-log-space.png", "Expectation of a factor in log space", FOLDER)


def _mean_power(width: float, top: float, nodes: int = 64) -> float:
    """E[(z + epsilon)^w] for w from U[-width, width) and z from U[0, top): over z in closed form, over w by Gauss."""
    points, shares = np.polynomial.legendre.leggauss(nodes)  # an even number of nodes: none at w = 0
    w = width * points
    over_z = ((top + EPSILON) ** (w + 1) - EPSILON ** (w + 1)) / (top * (w + 1))
    return float(over_z @ shares / 2)


def dead_gradients() -> str:
    """The Real NPU's gradient over its two weights when it must select the first of two inputs, by gate."""
    edge = torch.linspace(-1, 1, 121)
    gates = (((1.0, 1.0), "without gates"), ((0.5, 0.5), "gates at their start"), ((1.0, 0.0), "gates as learned"))
    with figure_of(1, 3, 2.3) as (figure, panels):
        for axes, (gate, title) in zip(panels, gates, strict=True):
            norm = _gradient_norm(edge, gate)
            image = axes.pcolormesh(
                edge.numpy(), edge.numpy(), np.log10(norm + 1e-12).T, vmin=-4, vmax=2, cmap="viridis_r", rasterized=True
            )
            axes.plot(1, 0, "*", color=COLOURS[1], ms=9, mec="white", mew=0.5)
            axes.set(title=title, xlabel="exponent of the first input")
        panels[0].set_ylabel("exponent of the second input")
        figure.colorbar(image, ax=panels, label="gradient, power of ten", aspect=30)
    return picture(figure, "concepts-gradients.png", "Where the Real NPU's gradient is small", FOLDER)


def _gradient_norm(edge: torch.Tensor, gate: tuple[float, float]) -> np.ndarray:
    """The norm of the gradient by both exponents, `(first, second)`; the target is the first input.

    The second input is close to zero, where powers are flat or steep."""
    count = len(edge)
    unit: Unit = RealNPU(2, 1, runs=(count, count), seed=0)
    first, second = torch.meshgrid(edge, edge, indexing="ij")
    parameters = dict(unit.named_parameters())
    weights, gates = parameters["W"], parameters["g"]
    with torch.no_grad():
        weights.copy_(torch.stack([first, second], -1).unsqueeze(-2))
        gates.copy_(torch.tensor(gate).expand_as(gates))
    x = torch.rand(200, 2, generator=torch.Generator().manual_seed(0)) * torch.tensor([2.0, 0.05])
    error = (unit(x)[..., 0] - x[:, 0]).square().mean(-1)
    gradient: Any = torch.autograd.grad(error.sum(), weights)[0]
    return np.asarray(gradient.norm(dim=(-1, -2)))


def coordinates() -> str:
    """The error of a product over one exponent: squared, and as a difference of logarithms."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 8, (256, 2))
    target = x[:, 0] / x[:, 1]
    exponents = np.linspace(-3, 3, 241)
    outputs = [x[:, 0] * x[:, 1] ** w for w in exponents]
    squared = [np.mean((y - target) ** 2) for y in outputs]
    logs = [np.mean((np.log(y) - np.log(target)) ** 2) for y in outputs]
    with figure_of(1, 2, 2.2) as (figure, (left, right)):
        left.semilogy(exponents, np.maximum(squared, 1e-6), color=COLOURS[0])
        left.set(title="squared error", xlabel="exponent of the divisor", ylabel="error")
        right.plot(exponents, logs, color=COLOURS[1])
        right.set(title="squared difference of logarithms", xlabel="exponent of the divisor")
        for axes in (left, right):
            axes.axvline(-1, color="grey", lw=0.7, ls=":")
    return picture(figure, "concepts-coordinates.svg", "One error in two coordinates", FOLDER)
