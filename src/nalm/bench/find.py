"""Dropping a file in is the registration: units, tasks and studies are found as subclasses, or in a file of yours."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")
MOST_MEANT = 5  # names in one question
LEAST_LIKE = 0.5  # half of the letters, as difflib counts them: less is a guess
MOST_NAMES = 60  # in one message: more than there are units, less than a screen


def subclasses(base: type[T]) -> Iterator[type[T]]:
    """All classes below `base`, depth first."""
    for child in base.__subclasses__():
        yield child
        yield from subclasses(child)


def import_all(package: ModuleType) -> None:
    """Import every module of a package, so that its classes exist."""
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of an error message: "Did you mean ...?", or the valid names if none is like it.

    >>> nearest("single", ["single/mul", "single/div", "two/mul"]), nearest("tow/mul", ["single/mul", "two/mul"])
    ('Did you mean single/mul or single/div?', 'Did you mean two/mul?')
    """
    names = list(valid)
    if said := meant(name, names):
        return said
    more = f", and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"Valid names: {', '.join(names[:MOST_NAMES])}{more}."


def meant(name: str, valid: Iterable[str]) -> str:
    """A question, with the names that have it as a part, or begin alike, or else are most like it; empty if none is.

    >>> meant("NUM", ["NAC", "NMU", "NPU"]), meant("mul", ["multiplication/gates", "single-module/mul"])
    ('Did you mean NMU or NPU?', 'Did you mean single-module/mul?')
    """
    lowered, word = {v.lower(): v for v in valid}, name.lower()
    close = [v for v in lowered if word in v.split("/")] or [v for v in lowered if word and v.startswith(word)]
    if not close:
        like = {v: difflib.SequenceMatcher(None, v, word).ratio() for v in lowered}
        best = max(like.values(), default=0.0)
        close = [v for v, ratio in like.items() if ratio == best >= LEAST_LIKE]
    return f"Did you mean {' or '.join(lowered[v] for v in close[:MOST_MEANT])}?" if close else ""


def from_file(reference: str) -> Any:
    """The object that `path/to/file.py:Name` refers to. A file is executed once, and again when its text changed."""
    path_text, _, name = reference.rpartition(":")
    path = Path(path_text)
    if not path.is_file():
        raise ValueError(f"{reference}: there is no file {path_text!r}; write path/to/file.py:ClassName.")
    try:
        names = vars(_executed(path.resolve(), path.read_bytes()))
    except (Exception, SystemExit) as error:  # whatever the file does when it is executed
        raise ValueError(f"{reference}: executing {path_text} failed with {_told(error, path)}") from error
    own = [other for other, value in names.items() if not other.startswith("_") and _defined_there(value, names)]
    if name not in names:
        raise ValueError(
            f"{reference}: {path_text} defines no {name!r}. {nearest(name, own) if own else 'It is empty.'}"
        )
    return names[name]


def _told(error: BaseException, path: Path) -> str:
    """What was raised, and at which line of the user's file."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path.resolve())
    ]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    said = f": {error}" if str(error) else ", without a word"  # as `sys.exit()` does
    return f"{type(error).__name__}{f' in line {line}' if line else ''}{said}"


def _defined_there(value: Any, names: Mapping[str, Any]) -> bool:
    """Whether a file defines a value itself: classes know their module, other things count unless they are modules."""
    if isinstance(value, type) or callable(value):
        return getattr(value, "__module__", None) == names.get("__name__")
    return not isinstance(value, ModuleType)


@cache
def _executed(path: Path, text: bytes) -> ModuleType:
    """The module in a file with this text; files of equal names in different folders are different modules."""
    digest = hashlib.sha256(str(path).encode() + b"\0" + text).hexdigest()[:8]
    module_name = f"nalm_user_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    module.__text_hash__ = hashlib.sha256(text).hexdigest()  # type: ignore[attr-defined]
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
