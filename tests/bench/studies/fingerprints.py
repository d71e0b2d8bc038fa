"""A short name for everything a study says: its cells with their exact runs, its seeds and the published numbers.

A study is data that no equation checks. `python -m tests.bench.studies.fingerprints` writes the names anew, for a
change that was meant; a run that gets another name is trained anew.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from nalm.bench.studies import studies
from nalm.bench.studies.composition import ARCHITECTURES
from nalm.bench.study import Study

KEPT = Path(__file__).with_name("fingerprints.json")


def fingerprint(study: Study) -> str:
    """Twelve digits that change with any number of the study."""
    cells = [(cell.row, cell.column, cell.run(0).id) for cell in study.cells]
    published = sorted((row, column, asdict(number)) for (row, column), number in study.published.items())
    return _hash([study.seeds, cells, published, study.measured])


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:12]


def fingerprints() -> dict[str, str]:
    """Of every study, and of a published table that has other columns than ours."""
    table = [[a.model.label, a.correct, a.interpolation, a.extrapolation, a.possible] for a in ARCHITECTURES]
    return {name: fingerprint(study) for name, study in studies().items()} | {"thesis, table 7.3": _hash(table)}


if __name__ == "__main__":
    KEPT.write_text(json.dumps(fingerprints(), indent=1) + "\n", encoding="utf-8")
