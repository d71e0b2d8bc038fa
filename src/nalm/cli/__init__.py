"""The command line. This file imports nothing heavy: Ctrl-C must be quiet while the rest is still being imported."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Entry point of `nalm`."""
    signal.signal(signal.SIGINT, _stop)
    from nalm.cli.app import command_line

    sys.exit(command_line(sys.argv[1:]))


def _stop(*_: Any) -> None:
    """End at once and without a word, wherever the program is: an exception could surface as anything."""
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(2, b"\x1b[?25h\n")  # a spinner may have hidden the cursor
    os._exit(130)
