"""The picture of the house, drawn from the imports of the source."""

from __future__ import annotations

import ast
from pathlib import Path
from xml.sax.saxutils import escape

import nalm
from pages.markdown import FIGURES

ROOT = Path(nalm.__file__).parent
ROOMS = {
    "core": "what a layer is",
    "native": "a compiler",
    "units": "one file per paper",
    "training": "in your own loop",
    "solver": "from a table to its formula",
    "bench": "the field's experiments",
    "cli": "the command line",
}
WIDTH, HEIGHT, GAP, MARGIN = 190, 54, 46, 20  # of a room, and between rooms, in points


def picture() -> str:
    """A room stands below all that import it. An arrow that follows from others (a uses b, b uses c) is not drawn."""
    uses = {room: _used_by(room) for room in ROOMS}
    arrows = {(upper, lower) for upper in ROOMS for lower in _direct(upper, uses)}
    rows: dict[int, list[str]] = {}
    for room in ROOMS:
        rows.setdefault(_depth(room, uses), []).append(room)
    widest = max(len(rooms) for rooms in rows.values())
    places: dict[str, tuple[float, float]] = {}
    for depth, rooms in sorted(rows.items()):
        above = [places[upper][0] for upper, lower in arrows if lower == rooms[0]]
        middle = (WIDTH + GAP) * (widest - 1) / 2
        for column, room in enumerate(rooms):
            x = middle + (WIDTH + GAP) * (column - (len(rooms) - 1) / 2)
            if len(rooms) == 1 and above:  # alone in its row: in the middle of those that import it
                x = sum(above) / len(above) - MARGIN
            places[room] = (MARGIN + x, MARGIN + (HEIGHT + GAP) * depth)
    width = 2 * MARGIN + widest * WIDTH + (widest - 1) * GAP
    height = 2 * MARGIN + len(rows) * HEIGHT + (len(rows) - 1) * GAP
    drawn = [_arrow(places[upper], places[lower]) for upper, lower in sorted(arrows)]
    drawn += [_room(room, place) for room, place in places.items()]
    FIGURES.mkdir(parents=True, exist_ok=True)
    (FIGURES / "architecture.svg").write_text(_svg(width, height, drawn), encoding="utf-8")
    return "![Which package imports which](results/figures/architecture.svg)"


def _used_by(room: str) -> set[str]:
    """The other packages that a package imports, at the top of a file or inside a function."""
    found = set()
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("nalm.")} & set(ROOMS) - {room}


def _depth(room: str, uses: dict[str, set[str]]) -> int:
    return 1 + max((_depth(other, uses) for other in uses if room in uses[other]), default=-1)


def _direct(room: str, uses: dict[str, set[str]]) -> set[str]:
    """What it uses that nothing else it uses also uses."""
    return uses[room] - {deep for other in uses[room] for deep in uses[other]}


def _room(room: str, place: tuple[float, float]) -> str:
    x, y = place
    middle = x + WIDTH / 2
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#eef3f8" stroke="#33566f"/>'
        f'<text x="{middle:g}" y="{y + 22:g}" class="name">{escape(room)}</text>'
        f'<text x="{middle:g}" y="{y + 41:g}" class="what">{escape(ROOMS[room])}</text>'
    )


def _arrow(upper: tuple[float, float], lower: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = upper, lower
    return (
        f'<line x1="{x1 + WIDTH / 2:g}" y1="{y1 + HEIGHT:g}" x2="{x2 + WIDTH / 2:g}" y2="{y2 - 2:g}" '
        'stroke="#8aa2b5" stroke-width="1.3" marker-end="url(#tip)"/>'
    )


def _svg(width: float, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#8aa2b5"/></marker></defs>'
        "<style>text{text-anchor:middle;font-family:sans-serif;fill:#1d3344}"
        ".name{font-size:15px;font-weight:bold}.what{font-size:12px}</style>"
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"
