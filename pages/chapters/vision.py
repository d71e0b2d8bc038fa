"""What the page on images shows: accuracies beside the published ones, errors by length, the way of the weights, what
the networks read, and the training rule beside Adam at equal steps and at equal time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nalm.bench.show.drawings import draw_confusions, draw_weight_ways
from nalm.bench.studies import find_study
from nalm.bench.studies.mnist_sequences import REFERENCE, error_at, threshold
from nalm.bench.vision.colour_task import ColourPairs
from nalm.bench.vision.pairs import folds, pairs_from
from pages.committed import rows_of
from pages.markdown import markdown_table, picture

CHAPTER = "mnist"
CAN_READ = 0.5  # of the digits: a reference below it did not learn to read and sets no threshold
LENGTHS = {"mnist/sequence-small": ("1", "2", "3", "5", "10", "20"), "mnist/sum-small": ("1", "10", "100", "1000")}
PAIR_STUDIES = ("mnist/product-small", "mnist/division-small", "mnist/colour-small")


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], study: str) -> str:
    return markdown_table(head, lines) if lines else f"*Not run yet: `nalm run {study}`.*"


def _cells(study: str, epochs: int | None = None) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The committed runs of a study by row and column, in the study's order; a run that columns share stands once."""
    known = {record["id"]: record for record in rows_of(CHAPTER)}
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    whole = find_study(study)
    for cell, run in (whole if epochs is None else whole.for_epochs(epochs)).runs():
        if run.id in known:
            found.setdefault((cell.row, cell.column), []).append(known.pop(run.id))
    return found


def _records(study: str, epochs: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """The committed runs of a study by row."""
    found: dict[str, list[dict[str, Any]]] = {}
    for (row, _), records in _cells(study, epochs).items():
        found.setdefault(row, []).extend(records)
    return found


def _percent(values: Sequence[float | None]) -> str:
    kept = [100 * value for value in values if value is not None]
    if not kept:
        return "-"
    spread = f" ± {np.std(kept, ddof=1) / len(kept) ** 0.5:.1f}" if len(kept) > 1 else ""
    return f"{np.mean(kept):.1f}{spread}"


def accuracies(study: str, published: str, epochs: int | None = None) -> str:
    """Ours, in per cent (± standard error where there are several folds), beside the published accuracy named; after
    another number of epochs than the study's if one is given."""
    whole = find_study(study)
    said = {row: cell.measures.get(published) for (row, _), cell in whole.published.items()}
    many = len(whole.columns) > 1
    lines = []
    for (row, column), records in _cells(study, epochs).items():
        theirs = said.get(row)
        exact = sum(bool(record["solved"]) for record in records)
        lines.append(
            [
                f"{row}, {column}" if many else row,
                str(len(records)),
                f"{records[0]['steps']:,}",
                f"{np.mean([record['seconds'] for record in records]):.0f}",
                f"{exact} of {len(records)}",
                _percent([record["digit_rounded"] for record in records]),
                _percent([record["result_rounded"] for record in records]),
                _percent([record["result_exact"] for record in records]),
                f"{np.mean([record['test_error'] for record in records]):.3g}",
                "-" if theirs is None else f"{100 * theirs:.1f}",
            ]
        )
    measured = ["unit exact", "digits read", "results", "to the bit", "squared error"]
    command = study if epochs is None else f"{study} --epochs {epochs}"
    return _table(["head", "folds", "steps", "CPU s", *measured, "published"], lines, command)


def constant_error() -> str:
    """The squared error of who always says the mean product of the pairs trained on, in the first fold of colours."""
    trained, tested = (np.array(part).prod(-1) for part in folds(pairs_from(0), ColourPairs().folds)[0])
    return f"{np.square(tested - trained.mean()).mean():.0f}"


def weights() -> str:
    """Where the heads of two weights stand at the end, by study and row."""
    lines = []
    for study in PAIR_STUDIES:
        for row, records in _records(study).items():
            for record in records:
                found = json.loads(record["path"])[-1]
                values = found["weights"].items() if isinstance(found, dict) else ()
                told = ", ".join(f"{name} = ({_numbers(value)})" for name, value in values)
                if told:
                    lines.append([study.removesuffix("-small"), row, str(record["seed"]), told])
    return markdown_table(["study", "head", "fold", "weights at the end"], lines)


def _numbers(value: Any) -> str:
    return ", ".join(f"{v:.3f}" for v in np.asarray(value).reshape(-1))


def lengths(study: str) -> str:
    """Errors at some lengths, the threshold that the reference sets, and the published shares of seeds below it."""
    records = _records(study)
    columns = LENGTHS[study]
    references = [r for r in records.get(REFERENCE, []) if r["digit_rounded"] > CAN_READ]
    limits = {length: threshold([error_at(r, length) for r in references]) for length in columns}
    lines = [["threshold", "", "", "", "", *(f"{limits[length]:.3g}" if references else "-" for length in columns)]]
    published = find_study(study).published
    for row, own in records.items():
        for record in own:
            errors = [(error_at(record, length), limits[length]) for length in columns]
            shown = [f"{error:.3g}{' ✓' if error < limit else ''}" for error, limit in errors]
            told = [f"{record['steps']:,}", f"{record['seconds']:.0f}", _since(record["solved_at"])]
            read = _percent([record["digit_rounded"]])
            lines.append([f"{row}, seed {record['seed']}", *told, read, *shown])
        said = [published[row, length].success for length in columns if (row, length) in published]
        rates = [rate for rate in said if rate is not None]
        if rates:
            lines.append([f"{row}, published: ✓ of ten seeds", "", "", "", "", *(f"{10 * rate:.0f}" for rate in rates)])
    head = ["cell", "steps", "CPU s", "exact from step", "digits read", *columns]
    return _table(head, lines if records else (), study)


def _since(step: int | None) -> str:
    return "never" if step is None else f"{step:,}"


def _yes(truth: Any) -> str:
    return "yes" if truth else "no"


def rule() -> str:
    """The training rule beside Adam, same networks, data and folds: at equal steps, and when Adam's time is up."""
    lines = []
    for study in (*PAIR_STUDIES, *LENGTHS):
        records = _records(study)
        for row in [row for row in records if row.endswith(" lgn")]:
            adam = {record["seed"]: record for record in records.get(row.removesuffix(" lgn"), [])}
            for ruled in records[row]:
                other = adam.get(ruled["seed"])
                if other is not None:
                    lines += _duel(study.removesuffix("-small"), ruled, other)
    head = ["study", "trained by", "fold", "steps", "CPU s", "unit exact", "digits read", "weights"]
    return _table(head, lines, "mnist/product-small --recipe lgn")


def _duel(study: str, ruled: Mapping[str, Any], adam: Mapping[str, Any]) -> list[list[str]]:
    ways = {"Adam": json.loads(adam["path"]), "the rule": json.loads(ruled["path"])}
    limit = ways["Adam"][-1]["seconds"]
    in_time = [mark for mark in ways["the rule"] if mark["seconds"] <= limit][-1]
    rows = [("Adam", ways["Adam"][-1], _yes(adam["solved"]))]
    already = ruled["solved_at"] is not None and ruled["solved_at"] <= in_time["step"]
    rows.append(("the rule, in Adam's time", in_time, _yes(already)))
    rows.append(("the rule, as many steps", ways["the rule"][-1], _yes(ruled["solved"])))
    return [
        [
            study,
            name,
            str(ruled["seed"]),
            f"{mark['step']:,}",
            f"{mark['seconds']:.0f}",
            exact,
            _percent([mark["digit_rounded"]]),
            "; ".join(_numbers(value) for value in mark["weights"].values()),
        ]
        for name, mark, exact in rows
    ]


def ways(longer: int) -> str:
    """The way of the two weights of each head of a product, of the runs of so many epochs where there are any."""
    found: dict[str, list[np.ndarray]] = {}
    study = "mnist/product-small"
    for row, records in (_records(study) | _records(study, longer)).items():
        for record in records:
            marks = [mark["weights"].get("W") for mark in json.loads(record["path"]) if isinstance(mark, dict)]
            if marks and marks[0] is not None:
                found.setdefault(row, []).append(np.asarray(marks).reshape(len(marks), 2))
    return picture(draw_weight_ways(found), "vision-weights.svg", "The way of the two weights of each head")


def reads() -> str:
    """What the readers under each head of a product take digits for."""
    found = {
        row: np.asarray(json.loads(records[0]["confusion"])) for row, records in _records("mnist/product-small").items()
    }
    return picture(draw_confusions(found), "vision-confusion.svg", "Digits shown and digits read under each head")
