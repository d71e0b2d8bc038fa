"""`nalm compare`: two units on the same seeds."""

from __future__ import annotations

from nalm.cli.options import Selection, takes_selection
from nalm.cli.screen import out


@takes_selection
def compare(selection: Selection) -> None:
    """Compare two units, --unit A --unit B, on the same seeds: difference of success with its 95 % interval (Tango)
    and McNemar's p."""
    if len(selection.units) != 2:
        raise ValueError(f"compare takes two units, got {len(selection.units)}: --unit A --unit B")
    from rich.table import Table

    from nalm.bench.results.summary import compare as paired

    study = selection.chosen()
    first, second = (study.row_called(name) for name in selection.units)
    if first == second:
        raise ValueError(f"compare takes two units, got {first} twice: --unit A --unit B")
    compared = paired(study, selection.outcomes(study), first, second)
    if not compared:
        raise selection.nothing()
    table = Table("range", "difference", "95 % interval", "p", f"only {first}", f"only {second}")
    for column, result in compared.items():
        difference = result.difference
        table.add_row(
            column,
            f"{difference.estimate:+.2f}",
            f"{difference.low:+.2f} to {difference.high:+.2f}",
            f"{result.p_value:.3f}",
            str(result.only_first),
            str(result.only_second),
        )
    out.say(f"{study.title}: success of {first} minus {second}, same seeds", "bold")
    out.page(table)
