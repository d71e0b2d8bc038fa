"""Published figures and tables: one file per chapter, each with a tuple `STUDIES`."""

from __future__ import annotations

import sys

from nalm.bench.find import import_all, nearest
from nalm.bench.study import Study


def studies() -> dict[str, Study]:
    """Every study of the catalogue by name."""
    import_all(sys.modules[__name__])
    modules = [m for name, m in sorted(sys.modules.items()) if name.startswith(f"{__name__}.")]
    found = [value for module in modules for value in vars(module).get("STUDIES", ())]
    return {study.name: study for study in found}


def find_study(name: str) -> Study:
    """The study called `name`, or a ValueError that names the nearest."""
    known = studies()
    if name not in known:
        raise ValueError(f"There is no study {name!r}. {nearest(name, known)}")
    return known[name]
