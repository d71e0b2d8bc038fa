"""`python -m pages.script` writes examples/tutorial.py: the code of docs/tutorial.md as one program."""

from __future__ import annotations

import re

from pages.committed import DOCS, ROOT

TUTORIAL = DOCS / "tutorial.md"
SCRIPT = ROOT / "examples" / "tutorial.py"
PART = re.compile(r"^## (?P<heading>[^\n]*)$|^```python\n(?P<code>.*?)^```$", re.S | re.M)
HEAD = '"""The code of docs/tutorial.md as one program; `python -m pages.script` writes it."""\n'


def script(page: str) -> str:
    r"""The Python snippets of a page, each heading a comment above its code.

    >>> print(script("## One\n\nText.\n\n```python\nx = 1\n```\n").splitlines()[2:])
    ['# One', 'x = 1']
    """
    text, heading = HEAD, ""
    for part in PART.finditer(page):
        if part["code"] is None:
            heading = f"# {part['heading']}\n"
        else:
            text += f"\n{heading}{part['code']}"
            heading = ""
    return text


if __name__ == "__main__":
    SCRIPT.write_text(script(TUTORIAL.read_text(encoding="utf-8")), encoding="utf-8")
    print(SCRIPT.relative_to(ROOT))
