"""What a caller hands in is checked against the annotations of whom he calls, before anything is done with it.

An annotation says what an argument has to be; `@checks_arguments` on a function and `check_fields` in a data class
hold callers to it, so that a mistake is answered in words, with the argument's name, and not by an error from below:

    >>> @checks_arguments
    ... def train(steps: Count, rate: NotNegative = 0.1) -> None: ...
    >>> train(0)
    Traceback (most recent call last):
    nalm.core.arguments.WrongArgument: train: steps is 0; it needs a whole number of at least 1.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import math
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LARGEST = 3.4e38  # what float32 can hold, in which most of this is computed
LONGEST_SHOWN = 60  # characters of a value that still help to recognise it


class WrongArgument(TypeError, ValueError):
    """An argument that is not what it has to be. The message says which, and what it needs."""


@dataclass(frozen=True)
class Need:
    """What a value has to be: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, also one of numpy's; truth values are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether it is a real number that tensors can be computed with, also one of numpy's.

    Not a number are nan, truth values, and whole numbers of more than 64 bits, which torch refuses.
    """
    if is_whole(value):
        return bool(abs(int(value)) < 2**63)
    return isinstance(value, numbers.Real) and value is not True and value is not False and not math.isnan(value)


def _is_finite(value: Any) -> bool:
    return is_number(value) and abs(value) <= LARGEST


Count = Annotated[int, Need("a whole number of at least 1", lambda value: is_whole(value) and 1 <= value < 2**63)]
Index = Annotated[int, Need("a whole number of at least 0", lambda value: is_whole(value) and 0 <= value < 2**63)]
Seed = Annotated[int, Need("a whole number from 0 to 2**32 - 1", lambda value: is_whole(value) and 0 <= value < 2**32)]
MANY = 10_000_000
Seeds = Annotated[int, Need(f"a whole number from 1 to {MANY:,}", lambda value: is_whole(value) and 1 <= value <= MANY)]
Finite = Annotated[float, Need("a finite number", _is_finite)]
NotNegative = Annotated[float, Need("a finite number of at least 0", lambda value: _is_finite(value) and value >= 0)]
Positive = Annotated[float, Need("a finite number above 0", lambda value: _is_finite(value) and value > 0)]


def checks_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Check the arguments of a function or method against its annotations whenever it is called."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # one is missing or unknown: the language says which
            return function(*args, **kwargs)
        owner = type(args[0]).__name__ if function.__name__ == "__init__" else function.__qualname__
        needs = _needs_of(function)
        for name, value in bound.arguments.items():
            if name in needs:
                check(owner, name, value, needs[name])
        return function(*args, **kwargs)

    return call


def check_fields(instance: Any) -> None:
    """Check the fields of a data class against their annotations: call it in `__post_init__`."""
    source: Any = type(instance)
    needs = _needs_of(source)
    for field in fields(instance):
        if field.name in needs:
            check(type(instance).__name__, field.name, getattr(instance, field.name), needs[field.name])


def check(owner: str, name: str, value: Any, need: Need) -> None:
    """Raise an error that names the argument, what it is and what it needs."""
    if not need.holds(value):
        raise WrongArgument(f"{owner}: {name} is {shown(value)}; it needs {need.words}.")


def shown(value: Any) -> str:
    """A value in a message: as it would be typed if that is short, else what it is."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN and text.isprintable() else f"a {type(value).__name__}"


@functools.cache
def _needs_of(annotated: Callable[..., Any]) -> dict[str, Need]:
    """What the arguments of a function or the fields of a class need, by name; variable arguments are left alone."""
    hints = typing.get_type_hints(annotated, include_extras=True)
    hints.pop("return", None)
    if not inspect.isclass(annotated):
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(annotated).parameters
        hints = {name: hint for name, hint in hints.items() if parameters[name].kind not in several}
    return {name: need_of(hint) for name, hint in hints.items()}


_ANYTHING = Need("anything", lambda _: True)
_PLAIN: dict[Any, Need] = {
    Any: _ANYTHING,
    object: _ANYTHING,
    None: Need("None", lambda value: value is None),
    type(None): Need("None", lambda value: value is None),
    int: Need("a whole number", is_whole),
    float: Need("a number", is_number),
    bool: Need("True or False", lambda value: isinstance(value, bool)),
    str: Need("text", lambda value: isinstance(value, str)),
}


def need_of(hint: Any) -> Need:
    """What an annotation asks for."""
    if isinstance(hint, collections.abc.Hashable) and hint in _PLAIN:
        return _PLAIN[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return next((part for part in hint.__metadata__ if isinstance(part, Need)), None) or need_of(parts[0])
    if origin in (typing.Union, types.UnionType):
        return _any_of([need_of(part) for part in parts])
    if origin is typing.Literal:
        return Need(" or ".join(map(repr, parts)), lambda value: isinstance(value, str) and value in parts)
    if origin is tuple:
        return _tuple_of(parts)
    if isinstance(origin, type):
        return _container(origin, [need_of(part) for part in parts])
    return _instance(hint)


def _any_of(needs: list[Need]) -> Need:
    words = [need.words for need in needs]
    between = ", or " if any("," in own for own in words) else " or "  # else one reads on into what a list consists of
    return Need(between.join(words), lambda value: any(need.holds(value) for need in needs))


def _instance(source: Any) -> Need:
    if not isinstance(source, type):
        return _ANYTHING  # a type variable, or something newer than this code
    article = "an" if source.__name__[0] in "AEIOaeio" else "a"
    return Need(f"{article} {source.__name__}", lambda value: isinstance(value, source))


def _tuple_of(parts: tuple[Any, ...]) -> Need:
    if parts[1:] == (...,):
        each = need_of(parts[0])
        return Need(
            f"a tuple, each of it {each.words}",
            lambda value: isinstance(value, tuple) and all(each.holds(part) for part in value),
        )
    needs = [need_of(part) for part in parts]
    return Need(
        f"a tuple of {len(needs)}: {', '.join(need.words for need in needs)}",
        lambda value: (
            isinstance(value, tuple)
            and len(value) == len(needs)
            and all(need.holds(part) for need, part in zip(needs, value, strict=True))
        ),
    )


def _container(origin: type, needs: list[Need]) -> Need:
    """A list, a dict, a function: of what is inside."""
    if issubclass(origin, collections.abc.Callable):  # type: ignore[arg-type]
        return Need("a function", callable)
    if issubclass(origin, os.PathLike):
        return Need("a path", lambda value: isinstance(value, os.PathLike))
    if issubclass(origin, Mapping):
        key, content = needs
        return Need(
            f"a dict, {key.words} to {content.words}",
            lambda value: (
                isinstance(value, Mapping) and all(key.holds(k) and content.holds(v) for k, v in value.items())
            ),
        )
    if origin in (collections.abc.Sequence, collections.abc.Iterable, list):
        return _list_of(needs[0], or_generator=origin is collections.abc.Iterable)
    return _instance(origin)


def _list_of(each: Need, or_generator: bool) -> Need:
    """A list, a tuple, an array, an index of pandas; a generator is not looked into, for that would empty it."""

    def holds(value: Any) -> bool:
        if isinstance(value, Iterator):
            return or_generator
        if isinstance(value, bytes) or (isinstance(value, str) and not each.holds(value)):
            return False
        if isinstance(value, Mapping) and not or_generator:
            return False
        try:
            parts = [*value[:1], *value[-1:]] if isinstance(value, range) else list(value)
        except TypeError:
            return False
        return all(each.holds(part) for part in parts)

    return Need(f"a list, each of it {each.words}", holds)
