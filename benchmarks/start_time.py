"""How long `nalm --help` takes beside a bare interpreter: medians of alternating fresh processes, in one run.

A bare interpreter starts in about 15 ms on an idle desktop, so a ratio of 30 is the half second a person notices.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 15
LIMIT = 30.0


def seconds(code: str) -> float:
    """Wall time of a fresh interpreter that runs `code`."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    help_page = "import sys; sys.argv = ['nalm', '--help']; from nalm.cli import main; main()"
    seconds(help_page)  # fill the disk cache
    pairs = [(seconds("pass"), seconds(help_page)) for _ in range(ROUNDS)]  # alternating: load hits both alike
    bare, shown = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"bare interpreter {bare:.3f} s, nalm --help {shown:.3f} s, ratio {shown / bare:.1f} (limit {LIMIT:g})")
    sys.exit(shown / bare > LIMIT)


if __name__ == "__main__":
    main()
