"""The one place that shows text. What a user typed or wrote into a file appears as text, whatever is in it.

Rich would read `[m]` as markup and `:x:` as an emoji, and a terminal obeys control characters; none of that happens
here. Styles are given beside the text, never inside it.
"""

from __future__ import annotations

import json
import math
import os
import pydoc
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text


def visible(text: str) -> str:
    r"""The same text with everything a terminal might obey, or not be able to show, written as an escape.

    >>> visible("t\x1b[2J [/h]")
    't\\x1b[2J [/h]'
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def styled(text: str, style: str) -> Text:
    """Text with a style."""
    return Text(visible(text), style=style)


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "run"), counted(1234, "new run")
    ('1 run', '1234 new runs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Screen(Console):
    """A console to which every string is plain text."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:  # every string passes here, also cells and titles
        return super().render_str(visible(text), **{**options, "markup": False, "emoji": False})

    def say(self, text: str, style: str = "") -> None:
        """One paragraph; the terminal wraps it, so that a path can be copied."""
        self.print(styled(text, style), soft_wrap=True)

    def page(self, *parts: RenderableType) -> None:
        """Show something long: through the pager when it is longer than the terminal's window."""
        with self.capture() as capture:
            for part in parts:
                self.print(part)
        text = capture.get()
        if self.is_terminal and sys.stdin.isatty() and text.count("\n") >= self.height:
            _through_the_pager(text)
        else:
            self.file.write(text)


def _through_the_pager(text: str) -> None:
    """Most pagers are `less`, which shows the codes of styles as letters unless it is told to obey them."""
    own = os.environ.get("LESS")
    os.environ["LESS"] = f"{own or ''} -R".strip()
    try:
        pydoc.pager(text)
    finally:
        os.environ.pop("LESS")
        if own is not None:
            os.environ["LESS"] = own


out = Screen()
problems = Screen(stderr=True)


def fail(sentence: str) -> None:
    """Say what went wrong, in one line on the error stream."""
    line = " ".join(sentence.split())
    problems.print(Text.assemble(("nalm:", "bold red"), " ", visible(line)), soft_wrap=True)


def print_json(value: Any) -> None:
    """Print JSON and nothing else; numbers that JSON does not know become null."""
    print(json.dumps(_finite(value), indent=1, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
