"""Draws the README's picture from results/extrapolation.csv: `python -m pages.headline`.

The measurements are made by benchmarks/extrapolation.py. The picture has a background of its own, so that it can be
read on a light and on a dark page.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from html import escape
from statistics import median

from pages.committed import DOCS, RESULTS

PICTURE = DOCS / "results" / "figures" / "headline.svg"
WIDTH, HEIGHT = 920, 440
LEFT, RIGHT, TOP, BOTTOM = 88, 590, 100, 380  # of the axes
FAR = 6  # inputs up to ten to this power
FINE, COARSE = -8, 0.7  # powers of ten of the smallest and the largest error shown
ROUNDING = 6e-8  # half a unit in the last place of a float32: nothing can be nearer
APART = 46  # pixels between two labels of two lines

SAID = {  # colour, name, and how it was trained; what came out is counted below
    "ReLU network": ("#d55e00", "An ordinary network", "3-128-128-1, ReLU, 5,000 steps of Adam"),
    "units, Adam": ("#b97f00", "Arithmetic units", "8 weights, 5,000 steps of Adam"),
    "units, guide": ("#2f8fc4", "with nalm.guide", "as their papers train them, 5,000 steps"),
    "units, rule": ("#0a9a70", "with nalm's training rule", "500 steps; only rounding is left"),
}


@dataclass(frozen=True)
class Line:
    """One way of training: at every distance the errors of all seeds."""

    way: str
    errors: dict[float, list[float]]

    def at(self, scale: float) -> tuple[float, float, float]:
        """The smallest, the median and the largest error over the seeds."""
        found = sorted(self.errors[scale])
        return found[0], median(found), found[-1]


def lines() -> list[Line]:
    """The committed measurements."""
    found = {way: Line(way, {}) for way in SAID}
    with (RESULTS / "extrapolation.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["way"]].errors.setdefault(float(row["scale"]), []).append(float(row["error"]))
    return list(found.values())


def _x(scale: float) -> float:
    return LEFT + (RIGHT - LEFT) * math.log10(scale) / FAR


def _y(error: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * (math.log10(error) - FINE) / (COARSE - FINE)


def _axes() -> list[str]:
    parts = []
    for power in range(-8, 1, 2):
        y = _y(10**power)
        label = f"{100 * 10**power:g} %" if power > -6 else f"1e{power}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="soft" x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for power in range(FAR + 1):
        x = _x(10**power)
        parts.append(f'<text class="soft" x="{x:.1f}" y="{BOTTOM + 22}" text-anchor="middle">{10**power:,}</text>')
    end = _x(2)
    parts.append(f'<rect class="seen" x="{LEFT}" y="{TOP}" width="{end - LEFT:.1f}" height="{BOTTOM - TOP}"/>')
    parts.append(f'<text class="soft" x="{LEFT + 5}" y="{_y(10**-6.5):.1f}">seen in training</text>')
    middle = (LEFT + RIGHT) / 2
    parts.append(f'<text class="soft" x="{middle}" y="{BOTTOM + 44}" text-anchor="middle">size of the inputs</text>')
    return parts


def _drawn(line: Line) -> str:
    colour = SAID[line.way][0]
    scales = sorted(line.errors)
    low, middle, high = zip(*(line.at(scale) for scale in scales), strict=True)
    band = [f"{_x(s):.1f},{_y(e):.1f}" for s, e in zip(scales, low, strict=True)]
    band += [f"{_x(s):.1f},{_y(e):.1f}" for s, e in reversed(list(zip(scales, high, strict=True)))]
    points = " ".join(f"{_x(s):.1f},{_y(e):.1f}" for s, e in zip(scales, middle, strict=True))
    return (
        f'<polygon points="{" ".join(band)}" fill="{colour}" opacity=".22"/>'
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3" stroke-linejoin="round"/>'
    )


def _labels(drawn: list[Line]) -> list[str]:
    """What each line is, at its right end and never on top of each other."""
    parts: list[str] = []
    above = -math.inf
    for line in drawn:
        colour, name, training = SAID[line.way]
        error = line.at(max(line.errors))[1]
        y = _y(error)
        place = max(y, above + APART)
        above = place
        came_out = "exact" if error < ROUNDING else f"{float(f'{100 * error:.1g}'):g} % off"
        parts.append(
            f'<path d="M{RIGHT + 4} {y:.1f}L{RIGHT + 22} {place:.1f}" stroke="{colour}" fill="none"/>'
            f'<text class="name" x="{RIGHT + 28}" y="{place - 2:.1f}" fill="{colour}">'
            f"{escape(name)}: {escape(came_out)}</text>"
            f'<text class="soft" x="{RIGHT + 28}" y="{place + 14:.1f}">{escape(training)}</text>'
        )
    return parts


def picture() -> str:
    """The whole picture."""
    drawn = lines()
    seeds = len(next(iter(drawn[0].errors.values())))
    style = (
        ":root{--card:#fbfaf6;--ink:#1d2430;--soft:#5b6472;--grid:#e2dfd6;--seen:#0f766e}"
        "@media (prefers-color-scheme:dark){:root{--card:#151a22;--ink:#eef0f3;--soft:#a3adba;--grid:#2c3440;"
        "--seen:#4fd1c0}}"
        "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:13px}"
        ".soft{fill:var(--soft)}.name{font-size:15px;font-weight:700}.grid{stroke:var(--grid)}"
        ".seen{fill:var(--seen);opacity:.13}.title{fill:var(--ink);font-size:23px;font-weight:700}"
        ".card{fill:var(--card);stroke:var(--grid)}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">'
    about = f"How wrong is what was learned? Relative error of (a + b) c; median and range of {seeds} seeds."
    parts = [
        head,
        "<title>Trained on numbers between 1 and 2, asked about numbers up to a million</title>",
        f"<style>{style}</style>",
        f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="14"/>',
        '<text class="title" x="28" y="44">Trained on numbers between 1 and 2. Asked about a million.</text>',
        f'<text class="soft" x="28" y="68">{about}</text>',
        *_axes(),
        *(_drawn(line) for line in drawn),
        *_labels(drawn),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
