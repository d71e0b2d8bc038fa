"""A spatial transformer with bounded thin-plate splines: it finds where a digit is and unrolls it.

Jaderberg et al. 2015 with the splines of Bookstein 1989, control points bounded by tanh as in Shi et al. 2016.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from nalm.bench.vision.readers import channels_last_

POINTS_PER_SIDE = 4
REACH = 0.9  # of the control points, in the image's coordinates from -1 to 1: tanh cannot give 1 itself


def control_points() -> Tensor:
    """The regular grid, `(16, 2)` as (x, y): where the control points are if nothing is to be moved."""
    axis = torch.linspace(-REACH, REACH, POINTS_PER_SIDE, dtype=torch.float64)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack([x.reshape(-1), y.reshape(-1)], -1)


def bending(squared_distance: Tensor) -> Tensor:
    """The spline's radial function d^2 log d, which is 0 at 0: half of d^2 log d^2."""
    bent: Tensor = 0.5 * torch.special.xlogy(squared_distance, squared_distance)
    return bent


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """`(m, 2)` and `(n, 2)` to `(m, n)`."""
    return (a[:, None] - b[None]).square().sum(-1)


class ThinPlateSpline(nn.Module):
    """Where each pixel of the output looks in the input, for given control points.

    The spline is linear in the control points, so that everything but one matrix product is done once, in float64.
    """

    looks: Tensor

    def __init__(self, side: int) -> None:
        super().__init__()
        points = control_points()
        count = len(points)
        system = torch.zeros(count + 3, count + 3, dtype=torch.float64)
        system[:count, :count] = bending(squared_distances(points, points))
        system[:count, count] = system[count, :count] = 1
        system[:count, count + 1 :] = points
        system[count + 1 :, :count] = points.T
        centres = (torch.arange(side, dtype=torch.float64) * 2 + 1) / side - 1  # pixel centres
        y, x = torch.meshgrid(centres, centres, indexing="ij")
        pixels = torch.stack([x.reshape(-1), y.reshape(-1)], -1)  # (side^2, 2)
        basis = torch.cat([bending(squared_distances(pixels, points)), torch.ones(side**2, 1), pixels], -1)
        self.side = side
        # the last three rows of the right-hand side are zero, so that only the first columns of the inverse matter
        self.register_buffer("looks", (basis @ torch.linalg.inv(system)[:, :count]).float(), persistent=False)

    def forward(self, points: Tensor) -> Tensor:
        """Control points `(count, 16, 2)` to a sampling grid `(count, side, side, 2)`."""
        return (self.looks @ points).view(-1, self.side, self.side, 2)


class Localiser(nn.Module):
    """Looks at the whole image and says where the control points of one digit are.

    Args:
        identity: begin with the regular grid, as published code intends; that code then resets the layer, so that its
            published runs begin with random points (`identity=False`).
    """

    def __init__(self, channels: int = 2, identity: bool = True) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, 20, 5)
        self.second = nn.Conv2d(20, 20, 5)
        self.dense = nn.Linear(320, 32)
        self.points = nn.Linear(32, 2 * POINTS_PER_SIDE**2)
        channels_last_(self)
        if identity:
            with torch.no_grad():
                self.points.weight.zero_()
                self.points.bias.copy_(torch.atanh(control_points()).reshape(-1))

    def forward(self, images: Tensor) -> Tensor:
        """Images `(count, channels, 42, 42)` to control points `(count, 16, 2)` within (-1, 1)."""
        x = functional.avg_pool2d(images, 2)
        x = functional.relu(functional.max_pool2d(self.first(x), 2))
        x = functional.relu(self.second(x)).permute(0, 2, 3, 1).flatten(1)
        x = torch.tanh(self.points(functional.relu(self.dense(x))))
        return x.view(-1, POINTS_PER_SIDE**2, 2)


def sampled(images: Tensor, grid: Tensor) -> Tensor:
    """Images as a grid sees them, bilinear, black outside."""
    return functional.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
