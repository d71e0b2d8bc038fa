"""Shows the examples of docstrings as code on the reference pages; used by mkdocs.yml."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$|>>> ).*\n?)*)+", re.M)


def fenced(text: str) -> str:
    r"""The text with a code fence around each run of examples.

    >>> print(fenced("Adds.\n\n>>> 1 + 1\n2").replace("`", "'"))
    Adds.
    <BLANKLINE>
    '''pycon
    >>> 1 + 1
    2
    '''
    <BLANKLINE>
    """
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)


class Doctests(griffe.Extension):
    """Puts examples into fences before a docstring is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called once for every documented object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
