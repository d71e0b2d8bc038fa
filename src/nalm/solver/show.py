"""The ways a solution leaves: a table of candidates, plain data for JSON, and a Python function."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nalm.solver.solution import CANDIDATE_HEAD, Solution

if TYPE_CHECKING:
    from rich.table import Table


def candidate_table(solution: Solution) -> Table:
    """What was tried, as a rich table: simplest first, the chosen one marked."""
    from rich.table import Table

    table = Table(title=None, show_edge=False, pad_edge=False)
    for heading in CANDIDATE_HEAD:
        table.add_column(heading, justify="right" if heading in ("size", "error") else "left", overflow="fold")
    for line in solution.candidate_lines():
        table.add_row(*line)
    return table


def candidate_text(solution: Solution) -> str:
    """The same as plain text, one line for each candidate."""
    return "\n".join(
        f"{mark:1} {error:>8}  {complexity:>3}  {formula}  [{shape}, {status}]"
        for mark, formula, shape, complexity, error, status in solution.candidate_lines()
    )


def identifiers(names: Sequence[str]) -> list[str]:
    """Distinct Python names for column names of any kind: spaces, Greek letters, `lambda`, `sqrt`.

    Python itself normalises names (NFKC), so that is done first: two names it would take for one are told apart.

    >>> identifiers(["mass (kg)", "lambda", "2nd", "λ", "abs"])
    ['mass_kg', 'lambda_', 'x2nd', 'λ', 'abs_']
    """
    made: list[str] = []
    for name in names:
        normal = unicodedata.normalize("NFKC", name)
        plain = re.sub("_+", "_", "".join(c if f"x{c}".isidentifier() else "_" for c in normal)).strip("_") or "x"
        plain = plain if plain.isidentifier() else f"x{plain}"
        while plain in made or plain in _TAKEN:
            plain += "_"
        made.append(plain)
    return made


# What a formula may use by these names.
_TAKEN = {*keyword.kwlist, *dir(builtins), "math"}


def python_function(solution: Solution, name: str = "f") -> str:
    """Source of a Python function of the inputs that needs nothing but the standard library.

    Names of columns enter as arguments made from them and as quoted text only: whatever stands in the header of a
    table, none of it becomes code.
    """
    import sympy

    expression = solution.expression
    arguments = identifiers(solution.names)
    plain = dict(zip(expression.symbols, (sympy.Symbol(a, real=True) for a in arguments), strict=True))
    formula = expression.sympy.xreplace(plain)
    renamed = [f"\n    {a}: {n!r}" for a, n in zip(arguments, solution.names, strict=True) if a != n]
    about = f"{formula}, {solution.status} from {solution.evidence.samples} rows.{''.join(renamed)}"
    tree = ast.parse(f"def {name}({', '.join(arguments)}):\n    'about'\n    return {sympy.pycode(formula)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "about":
            node.value = f"{about}\n    " if renamed else about
    source = ast.unparse(tree)
    head = "import math\n\n\n" if "math." in source else ""
    return f"{head}{source}\n"


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
        "additive_noise": solution.evidence.additive,
        "constants": [{"value": c.value, "deviation": c.deviation} for c in solution.evidence.constants],
        "notes": list(solution.evidence.notes),
        "seconds": solution.seconds,
        "candidates": solution.candidates,
    }
