"""A committed figure is, byte for byte, what the library draws from the committed results."""

from __future__ import annotations

from pathlib import Path

import pytest

from nalm.bench.results.files import read_table
from nalm.bench.results.summary import summarise
from nalm.bench.show.figures import save, study_figure
from nalm.bench.studies import find_study

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[3]
DRAWN_WITH = "3.11.2"  # another version of matplotlib sets text a little differently


def test_a_committed_figure_is_drawn_again_with_the_same_bytes(tmp_path: Path) -> None:
    if matplotlib.__version__ != DRAWN_WITH:
        pytest.skip(f"the committed figures were drawn with matplotlib {DRAWN_WITH}")
    study = find_study("single-module/div")
    entries = summarise(study, read_table(ROOT / "results" / "single-module.csv.gz"))
    save(study_figure(study, entries), tmp_path / "again.svg")
    committed = ROOT / "docs" / "results" / "figures" / "single-module-div.svg"
    assert (tmp_path / "again.svg").read_bytes() == committed.read_bytes(), "run `make results`"
