"""All commands together, and the one place where their errors become a sentence."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any

import typer

from nalm.cli import (
    compare,
    doctor,
    export,
    figure,
    landscape,
    merge,
    report,
    run,
    show,
    solve,
    speed,
    starts,
    verify,
    weights,
)
from nalm.cli import list as list_command
from nalm.cli.screen import fail, out, print_json, problems

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Neural arithmetic that extrapolates: run the field's experiments, see them beside the published numbers, "
    "solve a table of numbers for its exact formula.",
    epilog="Start with `nalm list`, then try `nalm run single-module/mul --quick` and `nalm show` with the same words.",
)
app.command("list")(list_command.list_all)
app.command()(run.run)
app.command()(show.show)
app.command()(figure.figure)
app.command()(report.report)
app.command()(compare.compare)
app.command()(solve.solve)
app.command()(export.export)
app.command()(merge.merge)
app.command()(doctor.doctor)
app.command()(verify.verify)
app.command()(weights.weights)
app.command()(landscape.landscape)
app.command()(starts.starts)
app.command()(speed.speed)

# What a user can mend. Anything else is a fault of this program, and said to be one.
MENDABLE = (ValueError, ImportError, OSError, MemoryError)


def _show_version(asked: bool) -> None:
    if asked:
        from nalm import __version__

        out.say(f"nalm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def command_line(words: Sequence[str]) -> int:
    """Run a command line and return its exit code: 0, 1 for a fault of ours, 2 for what a user can mend, 130 stopped,
    141 if nobody reads on.

    Never raises: an error is one sentence on the error stream, and with `--json` also a JSON object on the output.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us, as `nalm list >&-` does
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode must not end the program
    try:
        with _warnings_as_notes():
            code = _command().main(list(words) or ["--help"], prog_name="nalm", standalone_mode=False)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except (BrokenPipeError, SystemExit):  # the reader, such as `head`, has seen enough; Typer then leaves by sys.exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get("NALM_TRACEBACK"):
            raise
        code, sentence = _explained(error)
        if "--json" in words:
            print_json({"error": sentence})
        fail(sentence)
    return code if isinstance(code, int) else 0


@cache
def _command() -> Any:
    """The whole command line, built once."""
    return typer.main.get_command(app)


def _explained(error: Exception) -> tuple[int, str]:
    """An exit code and a sentence."""
    if isinstance(error, typer.Abort):
        return 130, "Stopped."
    if hasattr(error, "format_message"):  # of the library that reads command lines
        context = getattr(error, "ctx", None)
        help_at = context.command_path if context else "nalm"
        said = error.format_message().replace("Value error, ", "").rstrip(".")
        return 2, f"{said}{' See' if said.endswith('?') else '; see'} {help_at} --help"
    if isinstance(error, MENDABLE) or type(error).__module__.startswith("nalm."):
        return 2, str(error) or f"{type(error).__name__}, without a further word"
    return 1, (
        f"unexpected {type(error).__name__}: {error}. This is a fault in nalm; "
        "with NALM_TRACEBACK=1 in the environment the same command shows where."
    )


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Warnings are for people too: the sentence alone, each once, without the line of code that gave it."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        problems.say(f"note: {' '.join(str(message).split())}", "yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield
