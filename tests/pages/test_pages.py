"""The committed pages are what the templates and the committed measurements give."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from nalm.units import catalogue
from pages import markdown
from pages.build import environment, rendered, templates
from pages.chapters import units
from pages.committed import DOCS


@pytest.mark.parametrize("template", templates(), ids=lambda path: path.as_posix())
def test_a_committed_page_equals_its_rebuild(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "save", lambda *_: None)  # the text is compared, figures are not redrawn
    assert (DOCS / template).read_text(encoding="utf-8") == rendered(template), "run `make results`"


def test_a_template_that_calls_what_does_not_exist_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ no_such_chapter.table() }}").render()


def test_the_table_of_units_tells_what_a_unit_declares() -> None:
    page = (DOCS / "units.md").read_text(encoding="utf-8")
    assert "| [NMU](#nmu) | `*` | kept | W: 0, 1 | 2 |" in page


def test_citations_in_the_table_are_short_and_stand_in_full_below_it() -> None:
    names = [units._authors_and_year(cls.paper) for cls in catalogue().values()]
    assert {"Trask et al. 2018", "Rana, Malhi and Främling 2019", "Baseline of Mistry et al. 2022"} <= set(names)
    assert "- Trask et al., Neural Arithmetic Logic Units, NeurIPS 2018" in units.papers().splitlines()
    assert "Baseline" not in units.papers()
