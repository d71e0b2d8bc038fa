"""Digits that are turned, scaled and put somewhere in a larger image: what the spatial transformer has to undo."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from nalm.bench.vision.digits import DEVIATION, MEAN, SIDE

CANVAS = 42  # pixels
TURN = 45.0  # degrees to either side
SCALES = (0.7, 1.2)


def distorted(pixels: Tensor, generator: torch.Generator, upright: bool = False) -> Tensor:
    """Bytes `(..., 28, 28)` to normalised images `(..., 42, 42)`, each digit moved by itself.

    As published: turned by up to 45 degrees and scaled by 0.7 to 1.2 about its centre inside its own 28 x 28 image
    (nearest pixel; what leaves that image is lost), which is then pasted at one of 14 x 14 places. If it is to stay
    upright, it is only pasted.
    """
    flat = pixels.reshape(-1, SIDE, SIDE)
    u = torch.rand(len(flat), 4, generator=generator).to(pixels.device)
    angle = torch.deg2rad((2 * u[:, 0] - 1) * (0.0 if upright else TURN))
    scale = torch.ones_like(angle) if upright else SCALES[0] + (SCALES[1] - SCALES[0]) * u[:, 1]
    corner = (u[:, 2:] * (CANVAS - SIDE)).floor()  # (count, 2) as (x, y)
    places = torch.arange(CANVAS, device=pixels.device)
    inside = (places[None, None] - corner[..., None]).float()  # (count, 2, 42): pixel of the small image
    shape = (len(flat), CANVAS, CANVAS)
    x, y = inside[:, 0, None, :].expand(shape), inside[:, 1, :, None].expand(shape)
    middle = (SIDE - 1) / 2
    cos, sin = (torch.cos(angle) / scale)[:, None, None], (torch.sin(angle) / scale)[:, None, None]
    across = cos * (x - middle) + sin * (y - middle)
    down = cos * (y - middle) - sin * (x - middle)
    grid = torch.stack([across, down], -1) * (2 / SIDE)  # -1 to 1 are the outer edges
    drawn = functional.grid_sample(flat.float()[:, None], grid, mode="nearest", align_corners=False)[:, 0]
    window = (x > -0.5) & (x < SIDE - 0.5) & (y > -0.5) & (y < SIDE - 0.5)
    result: Tensor = (drawn * window / 255 - MEAN) / DEVIATION
    return result.reshape(*pixels.shape[:-2], CANVAS, CANVAS)
