"""Formulas and tables for a notebook. Whatever a user called a column appears as text: nothing in it becomes markup.

SymPy's own printers copy the name of a symbol into LaTeX and MathML as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

PLAIN = re.compile(r"[^\W\d_][^\W_]*(_[^\W_]+)?")
"""Names that SymPy prints well: a word in any alphabet, perhaps with an index."""

_IN_LATEX = {c: f"\\{c}" for c in "{}$%#&_ "} | {"\\": r"\backslash ", "~": r"\sim ", "^": r"\wedge "}


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """An HTML table of plain texts.

    >>> table(["name"], [["<b>"]])
    '<table><tr><th>name</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    return f"<table>{_line('th', head)}{''.join(_line('td', line) for line in lines)}</table>"


def _line(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{html.escape(cell)}</{kind}>' for cell in cells)}</tr>"


def paragraph(text: str) -> str:
    """One paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>"


def latex(formula: Any) -> str:
    r"""A SymPy formula as LaTeX; a name that is more than a word with an index is set as text.

    >>> import sympy
    >>> latex(sympy.Symbol("mass (kg)") * sympy.Symbol("v_0"))
    '\\mathrm{mass\\ (kg)} v_{0}'
    """
    import sympy

    names = {symbol: _latex_name(symbol.name) for symbol in _unusual(formula)}
    source: str = sympy.latex(formula, symbol_names=names)
    return source


def _latex_name(name: str) -> str:
    """The name in upright letters, its special characters as commands that LaTeX and MathJax know."""
    shown = "".join(_IN_LATEX.get(c, c) if c.isprintable() else r"\ " for c in name)
    return rf"\mathrm{{{shown}}}"


def mathml(formula: Any) -> str:
    """A SymPy formula as MathML, which browsers show without any script.

    >>> import sympy
    >>> "<script>" in mathml(sympy.Symbol("<script>") + 1)
    False
    """
    import sympy

    # A character of Unicode's private area stands for the name while SymPy prints.
    codes = {symbol: _PRIVATE + i for i, symbol in enumerate(sorted(_unusual(formula), key=str))}
    replaced = formula.xreplace({symbol: sympy.Symbol(chr(code)) for symbol, code in codes.items()})
    source: str = sympy.mathml(replaced, printer="presentation")
    for symbol, code in codes.items():
        source = source.replace(f"&#{code};", html.escape(symbol.name))
    return f'<math display="block">{source}</math>'


_PRIVATE = 0xE000  # where that area begins


def _unusual(formula: Any) -> list[Any]:
    return [symbol for symbol in formula.free_symbols if not PLAIN.fullmatch(symbol.name)]
