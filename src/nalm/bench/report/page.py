"""The report as one HTML file that opens without a network: data, style and script are inside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from nalm import __version__
from nalm.bench.report.content import content
from nalm.bench.study import Study


def report_page(studies: Iterable[Study], records: Sequence[Mapping[str, Any]], source: str) -> str:
    """The page of these records.

    Args:
        source: where the records come from, told on the page so that each number can be found again.

    Raises:
        ValueError: no study has a finished run among the records.
    """
    shown = content(studies, records)
    if not shown["studies"]:
        raise ValueError(f"{source} holds no run of a known study; run one first: nalm run single-module/mul --quick")
    data = {**shown, "source": source, "version": __version__, "runs": len(records)}
    # "</" would end the script element, whatever stands in a name; JSON reads "<\/" as the same text
    embedded = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    parts = {name: _part(name) for name in ("report.css", "report.js")}
    page = _part("report.html")
    page = page.replace("/*STYLE*/", parts["report.css"]).replace("/*SCRIPT*/", parts["report.js"])
    return page.replace("/*DATA*/", embedded)


def _part(name: str) -> str:
    return (files("nalm.bench.report") / name).read_text(encoding="utf-8")
