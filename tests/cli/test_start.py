"""How the program starts and how it is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nalm
from tests.cli.commands import works

PROGRAM = "import sys; from nalm.cli import main; print('ready', flush=True); main()"
RUN = ("run", "single-module/mul", "--unit", "NMU,sNMU", "--seeds", "25")


def test_version() -> None:
    assert works("--version") == f"nalm {nalm.__version__}\n"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "nalm", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"nalm {nalm.__version__}\n"


def test_help_needs_neither_torch_nor_any_other_heavy_library() -> None:
    script = (
        "import sys, json; from nalm.cli.app import command_line; code = command_line(['--help']); "
        "print(json.dumps(sorted({m.split('.')[0] for m in sys.modules}))); sys.exit(code)"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = set(json.loads(output.splitlines()[-1]))
    assert "nalm" in loaded
    assert not loaded & {"torch", "numpy", "scipy", "sympy", "matplotlib", "pandas", "llvmlite", "distributed"}


@pytest.mark.parametrize("command", ["run", "show", "figure", "compare", "solve", "export", "merge", "weights"])
def test_every_command_has_help_that_fits_eighty_columns(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = works(command, "--help")
    assert max(map(len, output.splitlines())) <= 80
    assert "Usage: nalm" in output


def test_the_shell_completes_commands_and_studies() -> None:
    def completed(words: str) -> str:
        request = {"_NALM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
        program = "from nalm.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **request}, capture_output=True, text=True, check=False
        )
        assert not done.stderr
        return done.stdout

    assert {"show", "run", "list", "solve"} <= set(completed("nalm ").split())
    assert "single-module/mul" in completed("nalm show ").split()


@pytest.mark.parametrize("seconds", [0.1, 0.4, 1.0, 2.0, 4.0])
def test_control_c_is_quiet_at_any_moment(seconds: float, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *RUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, 0, -signal.SIGINT)  # the last as Python ends, which a shell calls 130, too
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors
    assert "\x1b" not in errors, "control characters are for terminals"


def test_one_control_c_during_training_says_what_is_kept(tmp_path: Path) -> None:
    words = ("run", "single-module/mul", "--unit", "NMU", "--range", "U[1,2)", "--seeds", "2")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        assert "2 runs, 0 already kept" in process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "of 2 runs are kept in runs.db; run it again to go on" in output
    assert "Ctrl-C again stops at once" in errors


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    """As `head`, which closes its end of the pipe."""
    program = "from nalm.cli import main; main()"
    theirs, ours = os.pipe()
    os.close(theirs)
    command = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(command, stdout=ours, stderr=subprocess.PIPE, text=True, check=False)
    os.close(ours)
    assert (done.returncode, done.stderr) == (141, ""), "as a shell calls a program that SIGPIPE ended"


def test_a_closed_output_is_no_error() -> None:
    program = f"{sys.executable} -c 'from nalm.cli import main; main()' --help"
    done = subprocess.run(f"{program} >&- && {program} 2>&-", shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage: nalm") == 1
