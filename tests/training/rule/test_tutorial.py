"""The tutorial of the training rule is run: its code blocks, top to bottom, print what it says they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TUTORIAL = (ROOT / "docs" / "training-rule.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", TUTORIAL, re.S)


def test_code_blocks_print_what_the_tutorial_says() -> None:
    assert len(BLOCKS) == TUTORIAL.count("```python") == 5
    names: dict[str, object] = {}
    for code, expected in BLOCKS:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)
        assert output.getvalue() == expected


def test_the_example_script_is_the_first_code_block() -> None:
    assert (ROOT / "examples" / "network.py").read_text(encoding="utf-8") == BLOCKS[0][0]
