"""Runs a command line as the installed program does, but inside this process, and keeps what it said."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from nalm.cli.app import command_line


@dataclass(frozen=True)
class Said:
    """What a command printed and how it ended."""

    code: int
    output: str
    errors: str


def nalm(*words: object) -> Said:
    """Any command line."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = command_line([str(word) for word in words])
    said = Said(code, output.getvalue(), errors.getvalue())
    assert "Traceback" not in said.output + said.errors
    assert "This is a fault in nalm" not in said.errors, said.errors
    return said


def works(*words: object) -> str:
    """A command line that must succeed; returns its output."""
    said = nalm(*words)
    assert said.code == 0, said.errors
    return said.output


def fails(*words: object) -> str:
    """A command line that a user must mend; returns the one sentence it says."""
    said = nalm(*words)
    assert said.code == 2, (said.code, said.output, said.errors)
    assert said.errors.startswith("nalm: ")
    assert said.errors.count("\n") == 1, said.errors
    return said.errors
