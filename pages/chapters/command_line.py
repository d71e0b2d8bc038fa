"""The command line's reference, from the commands themselves."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from nalm.cli.app import app
from pages.markdown import markdown_table


def commands() -> str:
    """Each command with its arguments and options."""
    group: Any = typer.main.get_command(app)  # typer brings its own click, so its classes have no stable home
    return "\n\n".join(_command(name, command) for name, command in sorted(group.commands.items()))


def _command(name: str, command: Any) -> str:
    lines = [_parameter(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    table = markdown_table(["parameter", "meaning", "default"], lines)
    return f"## nalm {name}\n\n{inspect.cleandoc(command.help or '')}\n\n{table}"


def _parameter(parameter: Any) -> list[str]:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    default = "" if parameter.default in (None, False, ()) or callable(parameter.default) else str(parameter.default)
    return [names, _cell(getattr(parameter, "help", "") or ""), _cell(default)]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
