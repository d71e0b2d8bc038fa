"""The file that keeps finished runs: SQLite, one record per run, safe against `kill -9` and many writers.

A run's id is its content hash, so a record never changes: adding a run that is there is not an error and does nothing.
The database is in write-ahead mode: readers never wait, writers queue up, and what was committed survives the process.
That mode needs shared memory: on a network file system give each machine its own store and `merge` them afterwards.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from nalm.bench.results import columns, files
from nalm.bench.results.columns import COLUMNS, Curve, Record
from nalm.bench.results.database import Database
from nalm.bench.results.files import read_table as read_table
from nalm.bench.results.files import write_table as write_table
from nalm.bench.results.lines import SEVERAL, batches, conditions, decoded, encoded, in_columns, sound
from nalm.bench.results.opening import StoreError as StoreError
from nalm.bench.results.schema import Depth, intact, quoted, with_checks
from nalm.bench.results.writing import TABLES, PathLike, check_target
from nalm.core.arguments import Index, checks_arguments
from nalm.core.notebook import paragraph, table

SCAN_SHARE = 3  # looking up a third of all records by id takes as long as reading all (100,080 runs, warm)
UNTABLED = ("created_at", "study", "recipe")  # what compact tables leave out of the description of a run
ORDER = ("study", "unit", "task", "operation", "inputs", "range", "recipe", "seed", "id")


class StoreWarning(UserWarning):
    """Something about a store that its user should know."""


def _warn(line: str) -> None:
    warnings.warn(line, StoreWarning, stacklevel=3)


class Store:
    """A file of finished runs, their evaluation curves, and the checkpoints of long runs under way.

    Args:
        readonly: open what is there, and change nothing.
        say: receives a line when records are damaged or the file is lost; by default a warning.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     store.add([{"id": "a", "unit": "NMU", "seed": 0, "solved": True}])
    ...     store.missing(["a", "b"]), store.records(unit="NMU")[0]["solved"]
    1
    (['b'], True)
    """

    @checks_arguments
    def __init__(self, path: PathLike, readonly: bool = False, say: Callable[[str], None] = _warn) -> None:
        """Open the store, or make it if there is no file and `readonly` is false."""
        self._database = Database(Path(path), readonly, say)

    @property
    def say(self) -> Callable[[str], None]:
        """Receives a line when records are damaged or the file is lost; may be replaced at any time."""
        return self._database.say

    @say.setter
    def say(self, say: Callable[[str], None]) -> None:
        self._database.say = say

    @property
    def path(self) -> Path:
        """The file; another one if it was lost meanwhile, see `confirm`."""
        return self._database.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; what was added is in it."""
        self._database.close()

    def _repr_html_(self) -> str:
        """In a notebook: how many runs of which study and unit there are, and how many of them are solved."""
        query = "SELECT study, unit, count(*), sum(solved) FROM runs GROUP BY study, unit ORDER BY study, unit"
        lines = [tuple("" if cell is None else str(cell) for cell in line) for line in self._database.query(query)]
        return paragraph(str(self.path)) + table(("study", "unit", "runs", "solved"), lines)

    # -- finished runs -------------------------------------------------------------------------------------------

    @checks_arguments
    def add(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Keep finished runs, all or none; returns how many are new.

        A record has an `id`, any of `COLUMNS`, further numbers by name, and may have a `curve`: at least the arrays
        `CURVE_COLUMNS`. The versions of the library and of torch and the time are filled in.
        """
        defaults = {
            "library_version": importlib.metadata.version("nalm"),
            "torch_version": importlib.metadata.version("torch"),
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return self.insert([encoded(record, defaults) for record in records])

    @checks_arguments
    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of the ids that are not kept yet, in the order given."""
        return self._database.missing(ids)

    @checks_arguments
    def records(self, *, depth: Depth = Depth.EXACT, **equals: Any) -> list[Record]:
        """The runs whose columns equal the given values, in a fixed order; a list stands for any of its values.

        Use `records(id=[...])` for the runs of a study: other studies may share them. Damaged records are left out,
        and said.
        """
        order = [name for name in ORDER if name in depth.names]
        return list(decoded(depth.names, self.lines(depth, order=order, **equals)))

    @checks_arguments
    def outcomes(self, ids: Sequence[str]) -> Iterator[Record]:
        """What came out of these runs, which is what tables of successes need: quick, one at a time, in any order."""
        depth = Depth.OUTCOME
        found = self._verified(depth, ("rowid",), False, {"id": ids})
        return decoded(depth.names, itertools.chain.from_iterable(found))

    def lines(
        self, depth: Depth = Depth.EXACT, *, order: Sequence[str] = ("id",), curves: bool = False, **equals: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Records as they are stored, each verified: the columns `depth.names`, then the packed curve if wanted."""
        count = len(depth.names)
        for batch in self._verified(depth, order, curves, equals):
            yield from (line[:count] + line[-1:] for line in batch) if curves else (line[:count] for line in batch)

    def _verified(
        self, depth: Depth, order: Sequence[str], curves: bool, equals: Mapping[str, Any]
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Some lines at a time, with the columns `depth.names`, the checksums, and the packed curve if wanted."""
        wanted = self._most_of_all(equals)
        where, values = conditions(
            equals if wanted is None else {name: v for name, v in equals.items() if name != "id"}
        )
        checks = depth.checks if self._database.checked else ()
        chosen = quoted((*depth.names, *checks, *(("curve",) if curves else ())))
        begin, end, damaged = len(depth.names), len(depth.names) + len(checks), 0
        for found in self._readable(f"SELECT {chosen} FROM runs WHERE {where} ORDER BY {quoted(order)}", values):
            kept = asked = found if wanted is None else [line for line in found if line[0] in wanted]
            if curves or not checks or not intact(asked, depth):
                kept = [line for line in asked if sound(line[:begin], line[begin:end], line[end:])]
                damaged += len(asked) - len(kept)
            if kept:
                yield kept
        if damaged:
            what = "1 record is" if damaged == 1 else f"{damaged} records are"
            self.say(f"{self.path}: {what} damaged and left out; `nalm doctor {self.path}` tells more.")

    def _most_of_all(self, equals: Mapping[str, Any]) -> set[str] | None:
        """The ids asked for, if they are so many that reading all records is quicker than looking each of them up."""
        ids = equals.get("id")
        if not isinstance(ids, SEVERAL):
            return None
        count = next(self._database.query("SELECT count(*) FROM runs"))[0]
        return set(ids) if len(ids) > count / SCAN_SHARE else None

    def _readable(self, query: str, values: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
        """Some lines at a time. Text that damage made unreadable ends no reading: its record will not match."""
        count = 0
        try:
            for batch in self._database.batches(query, values):
                yield batch
                count += len(batch)
        except StoreError as error:
            if "decode to UTF-8" not in str(error):
                raise
            self._database.read_any_text()
            yield from self._database.batches(f"{query} LIMIT -1 OFFSET {count}", values)

    @checks_arguments
    def curve(self, run_id: str) -> Curve:
        """Evaluations of one run by name, see `CURVE_COLUMNS`; empty arrays if none were kept."""
        found = list(self._database.query("SELECT curve FROM runs WHERE id = ?", [run_id]))
        if not found:
            raise KeyError(f"{self.path} has no run {run_id!r}")
        return columns.unpack_curve(found[0][0])

    @checks_arguments
    def export(self, path: PathLike, *, compact: bool = False, force: bool = False, **equals: Any) -> int:
        """Write the matching runs, without curves, to `.csv`, `.csv.gz` or `.parquet`; returns their number.

        Args:
            compact: only what tables need: no weights, no exact JSON, six digits.
            force: replace a file that is there; never a store.
        """
        name = str(path)
        if not name.endswith(TABLES):
            raise StoreError(f"cannot export to {name}: the name must end in .csv, .csv.gz or .parquet")
        check_target(path, force=force, inputs=[self.path])
        depth = Depth.DESCRIPTION if compact else Depth.EXACT
        if name.endswith(".parquet"):
            records = list(decoded(depth.names, self.lines(depth, **equals)))
            files.write_parquet(path, records, force=force)
            return len(records)
        names = [name for name in COLUMNS if name in depth.names and not (compact and name in UNTABLED)]
        further = "SELECT DISTINCT key FROM (SELECT details FROM runs WHERE json_valid(details)), json_each(details)"
        more = sorted(key for (key,) in self._database.query(further))
        blocks = (
            in_columns(batch, depth.names, names, more) for batch in self._verified(depth, ("id",), False, equals)
        )
        return files.write_csv(
            path, [*names, *more], (files.lines_of(block, 6 if compact else None) for block in blocks), force=force
        )

    # -- runs under way ------------------------------------------------------------------------------------------

    @checks_arguments
    def save_checkpoint(self, key: str, step: Index, state: bytes, runs: Sequence[str] = ()) -> None:
        """Keep the state of runs under way in place of their earlier one. The bytes are the caller's own format."""
        query = "INSERT OR REPLACE INTO checkpoints (key, step, state, runs) VALUES (?, ?, ?, ?)"
        self._database.change(query, (key, step, state, json.dumps(list(runs))))

    @checks_arguments
    def load_checkpoint(self, key: str) -> tuple[int, bytes] | None:
        """The step and state last saved under this key, if any."""
        return next(self._database.query("SELECT step, state FROM checkpoints WHERE key = ?", [key]), None)

    @checks_arguments
    def has_checkpoint(self, key: str) -> bool:
        """Whether there is one whose key begins like this."""
        query = "SELECT 1 FROM checkpoints WHERE substr(key, 1, length(?)) = ?"
        return next(self._database.query(query, [key, key]), None) is not None

    @checks_arguments
    def drop_checkpoint(self, key: str) -> None:
        """Forget a checkpoint, and those whose keys begin with this one, for runs that are finished."""
        self._database.change("DELETE FROM checkpoints WHERE substr(key, 1, length(?)) = ?", (key, key))

    def drop_finished_checkpoints(self) -> int:
        """Forget the checkpoints all of whose runs are kept by now; returns their number."""
        unfinished = "SELECT 1 FROM json_each(runs) WHERE value NOT IN (SELECT id FROM runs)"
        query = f"DELETE FROM checkpoints WHERE json_array_length(runs) > 0 AND NOT EXISTS ({unfinished})"
        return self._database.change(query)

    # -- the file ------------------------------------------------------------------------------------------------

    def confirm(self) -> None:
        """Make sure that what this process added can be read from the file of that name, by anybody.

        If the file was deleted, renamed, replaced or cut short meanwhile, everything that is still known is written
        to a new store beside it, which takes its place here, and that is said.
        """
        self._database.confirm()

    def insert(self, lines: Iterable[tuple[Any, ...]]) -> int:
        """Add lines as `with_checks` makes them, each with its packed curve; all or none."""
        return self._database.insert(lines)


def merge(target: PathLike, *sources: PathLike) -> int:
    """Add the finished runs of other stores to one; returns how many were new to it. Of equal ids the first is kept.

    All sources are checked before the target is touched; damaged records stay behind, and so do checkpoints.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(Store(source, readonly=True)) for source in sources]
        store = stack.enter_context(Store(target))
        added = 0
        for source in opened:
            for batch in batches(source.lines(curves=True)):
                added += store.insert((*with_checks(line[:-1]), line[-1]) for line in batch)
        store.confirm()
        return added
