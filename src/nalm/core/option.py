"""An option of a unit is declared like a weight, in the class body, so that no unit retypes a constructor:

    scale = Option(1000.0, "the factor inside tanh")

`NRU(2, 1, scale=10.0)` then sets it; on an instance, `unit.scale` is its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar, overload

from torch import nn

from nalm.core.arguments import Count, Positive, WrongArgument, need_of, shown

T = TypeVar("T")


def anything(_value: Any) -> bool:
    """Every value is allowed."""
    return True


@dataclass(frozen=True)
class Option(Generic[T]):
    """The declaration of one option.

    Args:
        default: its value unless the caller gives another.
        meaning: what it changes, in a few words.
        needs: what a value has to be, for the error message.
        valid: whether a value is that.
    """

    default: T
    meaning: str
    needs: str = ""
    valid: Callable[[Any], bool] = anything
    name: str = field(default="", init=False, compare=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    @overload
    def __get__(self, unit: None, owner: type) -> Self: ...
    @overload
    def __get__(self, unit: nn.Module, owner: type) -> T: ...
    def __get__(self, unit: Any, owner: type) -> Self | T:
        # a unit stores its value under the same name, which Python finds first: only the class comes here
        return self if unit is None else self.default

    def checked(self, unit: str, value: T) -> T:
        """The value, or a ValueError that names the unit and what it needs."""
        try:
            fits = self.valid(value)
        except (TypeError, ValueError):  # it cannot even be asked, such as whether a dict is one of some names
            fits = False
        if not fits:
            raise WrongArgument(f"{unit}: {self.name} is {shown(value)}; it needs {self.needs}.")
        return value


def switch(default: bool, meaning: str) -> Option[bool]:
    """An option that is on or off."""
    return _of_kind(bool, default, meaning)


def positive(default: float, meaning: str) -> Option[float]:
    """An option that is a number above 0."""
    return _of_kind(Positive, default, meaning)


def count(default: int, meaning: str) -> Option[int]:
    """An option that counts something: one, two, ..."""
    return _of_kind(Count, default, meaning)


def _of_kind(hint: Any, default: T, meaning: str) -> Option[T]:
    """An option whose values are what an annotation asks for."""
    need = need_of(hint)
    return Option(default, meaning, need.words, need.holds)
