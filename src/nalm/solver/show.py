"""The ways a solution leaves: a table of candidates, plain data for JSON, and a Python function."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nalm.solver.solution import Solution

if TYPE_CHECKING:
    from rich.table import Table


def candidate_table(solution: Solution) -> Table:
    """What was tried, as a rich table: simplest first, the chosen one marked."""
    from rich.table import Table

    table = Table(title=None, show_edge=False, pad_edge=False)
    for heading, side in (("", "left"), ("formula", "left"), ("shape", "left"), ("size", "right"), ("error", "right")):
        table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
    table.add_column("verdict")
    for entry in solution.candidates:
        mark = ">" if entry["chosen"] else ""
        error = f"{entry['relative_error']:.1e}"
        table.add_row(mark, entry["formula"], entry["shape"], str(entry["complexity"]), error, entry["status"])
    return table


def candidate_text(solution: Solution) -> str:
    """The same as plain text, one line for each candidate."""
    return "\n".join(
        f"{'>' if entry['chosen'] else ' '} {entry['relative_error']:8.1e}  {entry['complexity']:3d}  "
        f"{entry['formula']}  [{entry['shape']}, {entry['status']}]"
        for entry in solution.candidates
    )


def identifiers(names: Sequence[str]) -> list[str]:
    """Distinct Python names for column names of any kind: spaces, Greek letters, `lambda`.

    >>> identifiers(["mass (kg)", "lambda", "2nd", "λ"])
    ['mass_kg', 'lambda_', 'x2nd', 'λ']
    """
    made: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name).strip("_") or "x"
        plain = f"x{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if keyword.iskeyword(plain) or plain == "math" else plain
        while plain in made:
            plain += "_"
        made.append(plain)
    return made


def python_function(solution: Solution, name: str = "f") -> str:
    """Source of a Python function of the inputs that needs nothing but the standard library."""
    import sympy

    expression = solution.expression
    arguments = identifiers(solution.names)
    plain = dict(zip(expression.symbols, (sympy.Symbol(a, real=True) for a in arguments), strict=True))
    body = sympy.pycode(expression.sympy.xreplace(plain))
    listed = "".join(f"\n    {a}: {n}" for a, n in zip(arguments, solution.names, strict=True) if a != n)
    about = f'    """{expression}, {solution.status} from {solution.evidence.samples} rows.{listed}\n    """'
    head = "import math\n\n\n" if "math." in body else ""
    return f"{head}def {name}({', '.join(arguments)}):\n{about}\n    return {body}\n"


def as_record(solution: Solution, target: str) -> dict[str, object]:
    """A solution as plain data for JSON."""
    return {
        "target": target,
        "formula": str(solution.expression),
        "latex": solution.expression.latex(),
        "status": str(solution.status),
        "backward_error": solution.evidence.backward_error,
        "samples": solution.evidence.samples,
        "noise": solution.evidence.noise,
        "constants": [{"value": c.value, "deviation": c.deviation} for c in solution.evidence.constants],
        "notes": list(solution.evidence.notes),
        "seconds": solution.seconds,
        "candidates": solution.candidates,
    }
