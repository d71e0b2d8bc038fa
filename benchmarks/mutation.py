"""Do the tests bite? Changes one operator, number, comparison or condition at a time, in a copy of the tree.

    python benchmarks/mutation.py src/nalm/core --tests tests/core tests/units --changes 24 --seed 1

First all tests run once, and coverage records which lines each of them reaches. A change is then given to the tests
that reach its line, the quickest first; one that no test reaches, because it takes effect while the module is imported,
to those that reach its file and then to the others. A change that no test notices is harmless, or a test is missing.
Prints a line per change and how many survived. Needs a system that can fork.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import pytest
import torch

SWAPS: dict[type[ast.AST], Any] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
    ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
MOST_SECONDS = 100.0  # of recorded time spent on one change: about what the tests of a package take together
PATIENCE = 6.0  # times the recorded time, after which a loop has become endless: the machine may be busy


@dataclass(frozen=True)
class Change:
    """One place of one file, before and after."""

    file: str
    lines: range  # of the statement, or of its head
    inside_function: bool
    before: str
    after: str
    source: bytes  # of the whole file, changed


@dataclass
class Recorder:
    """A plugin of pytest: how long each test takes and which lines it reaches."""

    measured: coverage.Coverage
    seconds: dict[str, float] = field(default_factory=dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.measured.switch_context(item.nodeid)
        began = time.perf_counter()
        answer = yield
        self.seconds[item.nodeid] = time.perf_counter() - began
        return answer


def record(tests: list[str], result: Path) -> int:
    """Run the tests once; writes the seconds of each and, for each line of each file, the tests that reach it."""
    recorder = Recorder(coverage.Coverage(data_file=None, config_file=False, source=["src"]))
    recorder.measured.start()
    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests], plugins=[recorder])
    recorder.measured.stop()
    data = recorder.measured.get_data()
    lines = {os.path.relpath(file): data.contexts_by_lineno(file) for file in data.measured_files()}
    result.write_text(json.dumps({"seconds": recorder.seconds, "lines": lines}))
    return code


def places(node: ast.AST, statement: ast.stmt | None, inside: bool) -> Iterator[tuple[ast.AST, ast.stmt, bool]]:
    """Nodes with their statement and whether they run in a function; neither annotations nor the text of a message."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        return
    statement = node if isinstance(node, ast.stmt) else statement
    if statement is not None:
        yield node, statement, inside
    for name, value in ast.iter_fields(node):
        within = inside or (name == "body" and isinstance(node, (ast.FunctionDef, ast.Lambda)))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                yield from places(child, statement, within)


def changed(node: ast.AST) -> tuple[ast.expr, str] | None:
    """What stands in the source, and what shall stand there."""
    match node:
        case ast.Constant(bool()) | ast.BinOp(left=ast.Constant(str())) | ast.BinOp(right=ast.Constant(str())):
            return None
        case ast.Constant(int(value)):
            return node, str(value + 1)
        case ast.Constant(float(value)):
            return node, str(value * 1.5 + 0.1)
        case ast.If(test):
            return test, f"not ({ast.unparse(test)})"
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            return node, f"({ast.unparse(ast.BinOp(left, SWAPS[type(op)](), right))})"
        case ast.Compare(left, [op, *others], parts) if type(op) in SWAPS:
            return node, f"({ast.unparse(ast.Compare(left, [SWAPS[type(op)](), *others], parts))})"
        case ast.BoolOp(op, values):
            return node, f"({ast.unparse(ast.BoolOp(SWAPS[type(op)](), values))})"
    return None


def changes(file: str) -> Iterator[Change]:
    """Everything that can be changed in a file."""
    source = Path(file).read_bytes()
    starts = [0, *(index + 1 for index, byte in enumerate(source) if byte == ord("\n"))]
    for node, statement, inside in places(ast.parse(source), None, False):
        if found := changed(node):
            old, after = found
            body = getattr(statement, "body", None)
            last = body[0].lineno - 1 if body else statement.end_lineno or 0
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
            lines = range(statement.lineno, max(last, statement.lineno) + 1)
            whole = source[:start] + after.encode() + source[end:]
            yield Change(file, lines, inside, source[start:end].decode(), after, whole)


def tests_for(change: Change, seconds: dict[str, float], lines: dict[str, dict[str, list[str]]]) -> list[str]:
    """The tests that may notice a change, the most likely and quickest first, as many as there is time for."""
    reached = lines.get(change.file, {})
    at_line = {test for line in change.lines for test in reached.get(str(line), [])}
    in_file = {test for tests in reached.values() for test in tests}
    seen = change.inside_function and at_line  # a function may also run while its module is imported, or be compiled
    groups = [at_line] if seen else [at_line, in_file - at_line, set(seconds) - in_file - at_line]
    named = Path(change.file).stem
    left, kept = MOST_SECONDS, list[str]()
    for test in (
        t for group in groups for t in sorted(group & set(seconds), key=lambda t: (named not in t, seconds[t]))
    ):
        left -= seconds[test]
        if left > 0 or not kept:
            kept.append(test)
    return kept


def in_fork(work: Callable[[], int], most_seconds: float) -> int:
    """The exit code of a copy of this process, which has loaded what is slow to load, after some silent work."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(int(most_seconds))  # ends the process
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    code = 70  # if anything escapes
    try:
        code = int(work())
    finally:
        os._exit(code)


def noticed(change: Change, tests: list[str], seconds: dict[str, float]) -> str:
    """What the tests say to a change: 'noticed', 'SURVIVED', or 'endless' when they do not end."""
    file, most = Path(change.file), 30 + PATIENCE * sum(seconds[test] for test in tests)
    before = file.read_bytes()
    file.write_bytes(change.source)
    try:
        code = in_fork(lambda: pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]), most) if tests else 0
    finally:
        file.write_bytes(before)
    return {0: "SURVIVED", -signal.SIGALRM: "endless"}.get(code, "noticed")


def main() -> None:
    """Record, change, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help="files or folders to change")
    parser.add_argument("--tests", nargs="+", required=True, help="what pytest runs")
    parser.add_argument("--changes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    sys.dont_write_bytecode = True  # a change of the same length within the same second would not be seen
    with tempfile.TemporaryDirectory() as folder:
        left_out = shutil.ignore_patterns(".git", ".venv", "*.db*", ".*_cache", "__pycache__", "demo", "site")
        tree = shutil.copytree(".", Path(folder) / "tree", ignore=left_out)
        os.chdir(tree)
        os.environ.update(PYTHONPATH=str(tree / "src"), PYTHONDONTWRITEBYTECODE="1")
        sys.path[:0] = [str(tree / "src"), str(tree)]
        if in_fork(lambda: record(options.tests, Path(folder) / "lines.json"), 3600):
            sys.exit("The tests fail without any change.")
        recorded = json.loads((Path(folder) / "lines.json").read_text())
        found = (sorted(path.rglob("*.py")) if path.is_dir() else [path] for path in map(Path, options.sources))
        pool = [change for files in found for file in files for change in changes(str(file))]
        sample = random.Random(options.seed).sample(pool, min(options.changes, len(pool)))
        survived = 0
        for change in sample:
            outcome = noticed(change, tests_for(change, **recorded), recorded["seconds"])
            survived += outcome == "SURVIVED"
            print(f"{outcome:8} {change.file}:{change.lines.start}  {change.before}  ->  {change.after}", flush=True)
    print(f"{survived} of {len(sample)} changes survived")


if __name__ == "__main__":
    main()
