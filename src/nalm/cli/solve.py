"""`nalm solve`: from a file of numbers to its exact formula."""

from __future__ import annotations

import typer

from nalm.solver.command import solve_command


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("solve")(solve_command)
