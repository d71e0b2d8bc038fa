"""The one error of the compiler: a step it will not compile, and why."""

from __future__ import annotations


class Unsupported(Exception):
    """A step that the native engine refuses, before any training; the torch engine runs it.

    Attributes:
        op: the operation, tensor or hazard that stopped the compiler.
        why: one line on what is wrong with it.

    >>> str(Unsupported("aten.svd", "has no native rule"))
    'aten.svd has no native rule'
    """

    def __init__(self, op: str, why: str) -> None:
        super().__init__(f"{op} {why}")
        self.op = op
        self.why = why
