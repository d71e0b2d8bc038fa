"""LLVM IR as text: a writer with fresh names, loops and stack slots."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

LANES = 16
FLOATS = f"<{LANES} x float>"
INTS = f"<{LANES} x i32>"
BITS = f"<{LANES} x i1>"


def literal(number: float) -> str:
    """A float32 as LLVM writes it: the bits of the double of the same value."""
    return "0x" + struct.pack(">d", number).hex().upper()


def splat(number: float) -> str:
    """A vector of one float."""
    return f"splat (float {literal(number)})"


class Writer:
    """Writes the body of one function."""

    def __init__(self, signature: str, attributes: str = "") -> None:
        self._signature = signature
        self._attributes = attributes
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._block = "start"

    def op(self, text: str) -> str:
        """An instruction with a result; returns its name."""
        self._count += 1
        self._lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self._lines.append(f"  {text}")

    def slot(self, type_: str = FLOATS) -> str:
        """A variable on the stack, which the optimiser turns into a register."""
        self._count += 1
        self._entry.append(f"  %v{self._count} = alloca {type_}, align 64")
        return f"%v{self._count}"

    def at(self, pointer: str, index: str | int, type_: str = "float") -> str:
        """The address `pointer + index` in units of a type."""
        return self.op(f"getelementptr {type_}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, type_: str = FLOATS, align: int = 64) -> str:
        """What lies at an address."""
        return self.op(f"load {type_}, ptr {pointer}, align {align}")

    def store(self, value: str, pointer: str, type_: str = FLOATS, align: int = 64) -> None:
        """Writes to an address."""
        self.do(f"store {type_} {value}, ptr {pointer}, align {align}")

    def spread(self, scalar: str, type_: str = "float") -> str:
        """A vector of one scalar."""
        vector = f"<{LANES} x {type_}>"
        first = self.op(f"insertelement {vector} poison, {type_} {scalar}, i64 0")
        return self.op(f"shufflevector {vector} {first}, {vector} poison, {INTS} zeroinitializer")

    @contextmanager
    def loop(self, start: str | int, stop: str | int, stride: int = 1) -> Iterator[str]:
        """Counts from start while below stop; yields the counter."""
        self._count += 1
        n, before = self._count, self._block
        self._lines += [f"  br label %head{n}", f"head{n}:"]
        phi = len(self._lines)
        self._lines += [
            "",  # the counter, once the last block of the body is known
            f"  %more{n} = icmp slt i64 %i{n}, {stop}",
            f"  br i1 %more{n}, label %body{n}, label %done{n}",
            f"body{n}:",
        ]
        self._block = f"body{n}"
        yield f"%i{n}"
        self._lines[phi] = f"  %i{n} = phi i64 [ {start}, %{before} ], [ %next{n}, %{self._block} ]"
        self._lines += [f"  %next{n} = add nsw i64 %i{n}, {stride}", f"  br label %head{n}", f"done{n}:"]
        self._block = f"done{n}"

    @contextmanager
    def unlikely(self, condition: str) -> Iterator[None]:
        """Runs the body if a condition holds."""
        self._count += 1
        n = self._count
        self._lines += [f"  br i1 {condition}, label %rare{n}, label %usual{n}", f"rare{n}:"]
        self._block = f"rare{n}"
        yield
        self._lines += [f"  br label %usual{n}", f"usual{n}:"]
        self._block = f"usual{n}"

    def finish(self, result: str = "ret void") -> str:
        """The text of the function."""
        body = "\n".join([*self._entry, "  br label %start", "start:", *self._lines, f"  {result}"])
        return f"define {self._signature} {self._attributes} {{\nentry:\n{body}\n}}\n"
