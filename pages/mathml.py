"""Formulas between dollar signs as MathML, so that the site shows them without a script from elsewhere."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

PATTERN = r"(?<![\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)"
BEFORE_ESCAPES = 185  # Markdown's own pattern for backslashes has 180 and must not see the formula


class _Formula(InlineProcessor):
    def handleMatch(self, m: Any, data: str) -> tuple[str, int, int]:  # type: ignore[override]
        shown = f'<span class="formula">{convert(m.group(1))}</span>'
        return self.md.htmlStash.store(shown), m.start(0), m.end(0)


class MathML(Extension):
    """The extension, as mkdocs.yml names it."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Called by Markdown."""
        md.inlinePatterns.register(_Formula(PATTERN, md), "mathml", BEFORE_ESCAPES)


def makeExtension(**options: Any) -> MathML:
    """What Markdown looks for in a module."""
    return MathML(**options)
