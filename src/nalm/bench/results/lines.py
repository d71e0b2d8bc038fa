"""Records as lines of the database, verified, and back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from nalm.bench.results import columns
from nalm.bench.results.columns import COLUMNS, Record, RecordError, decode, encode
from nalm.bench.results.schema import DETAILS, STORED, checksums, names_itself, with_checks
from nalm.core.arguments import shown

BATCH = 1_000  # records moved at once
SEVERAL = (list, tuple, set, frozenset)  # what stands for any of its values


def sound(own: Sequence[Any], sums: Sequence[Any], curve: Sequence[bytes | None]) -> bool:
    """Whether a record is what was written: columns by their checksums, the curve by its own.

    Without checksums (a store of version 1, or written to by that version) the run must be what its id says.
    """
    if sums and sums[0] is not None:
        if checksums(own) != sums:
            return False
    elif len(own) == len(STORED):
        run = own[STORED.index("run")]
        if not names_itself(own[0], run) or not str(own[0]).isprintable() or (sums and not run):
            return False
    if not curve:
        return True
    try:
        return all(columns.unpack_curve(packed) is not None for packed in curve)
    except RecordError:
        return False


def batches(lines: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Some lines at a time."""
    rest = iter(lines)
    while batch := list(itertools.islice(rest, BATCH)):
        yield batch


def in_columns(
    lines: Sequence[tuple[Any, ...]], stored: Sequence[str], names: Sequence[str], more: Sequence[str]
) -> dict[str, Sequence[Any]]:
    """Columns of some records, whose lines begin with those that are `stored`: those of `names`, and further ones."""
    found = dict(zip(stored, zip(*lines, strict=True), strict=False))
    found["solved"] = tuple(None if value is None else bool(value) for value in found["solved"])
    chosen: dict[str, Sequence[Any]] = {name: found[name] for name in names}
    if more:
        further = [json.loads(details or "{}") for details in found[DETAILS]]
        chosen |= {name: [own.get(name) for own in further] for name in more}
    return chosen


def encoded(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[Any, ...]:
    """A record as a line of the table, with what it does not say itself taken from the defaults."""
    if not isinstance(given, Mapping):
        raise RecordError(f"records are dicts, got {shown(given)}")
    record = {**defaults, **given}
    if not isinstance(record.get("id"), str) or not record["id"]:
        raise RecordError(f"a record needs an id, some text; got {shown(record.get('id'))}")
    more = columns.further(record)
    details = json.dumps(more, sort_keys=True, separators=(",", ":")) if more else None
    values = [details if name == DETAILS else encode(name, record.get(name)) for name in STORED]
    return (*with_checks(values), columns.pack_curve(record.get("curve")))


def decoded(names: Sequence[str], lines: Iterable[Sequence[Any]]) -> Iterator[Record]:
    """Lines that begin with the named columns as records."""
    changed = [name for name in names if COLUMNS.get(name) in (bool, object)]
    ordered = [name for name in COLUMNS if name in names]
    values_of = itemgetter(*(names.index(name) for name in ordered))
    more = names.index(DETAILS)
    for line in lines:
        record: Record = dict(zip(ordered, values_of(line), strict=True))
        for name in changed:
            record[name] = decode(name, record[name])
        if line[more]:
            record.update(json.loads(line[more]))
        yield record


def conditions(equals: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The condition of a query for columns that equal the given values, and its values."""
    terms, values = ["1"], []
    for name, wanted in equals.items():
        if name not in COLUMNS:
            raise RecordError(columns.unknown_column(name))
        several = isinstance(wanted, SEVERAL)
        terms.append(f"[{name}] IN (SELECT value FROM json_each(?))" if several else f"[{name}] IS ?")
        values.append(json.dumps([encode(name, choice) for choice in wanted]) if several else encode(name, wanted))
    return " AND ".join(terms), values
