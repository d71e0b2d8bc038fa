"""Every public name is documented, and every example in a docstring works."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import nalm
import nalm.bench

MODULES = sorted(m.name for m in pkgutil.walk_packages(nalm.__path__, "nalm.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def undocumented(module: ModuleType) -> Iterator[str]:
    """Public functions, classes and methods that have no docstring, neither their own nor an inherited one."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and not inspect.getdoc(thing):
            yield name
        for part, value in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(value) and value.__name__ == "<lambda>":  # the default of a field
                continue
            method = inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
            if method and not part.startswith("_") and not inspect.getdoc(getattr(thing, part)):
                yield f"{name}.{part}"


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(name: str) -> None:
    assert list(undocumented(importlib.import_module(name))) == []


def test_what_has_no_docstring_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("m")
    monkeypatch.setitem(sys.modules, "m", module)
    documented = "class A:\n 'x'\n def f(self): pass\n def g(self): 'x'\n"
    source = documented + "def h(): pass\nclass B(A):\n def g(self): pass"
    exec(source, vars(module))
    assert list(undocumented(module)) == ["A.f", "h"]


PUBLIC = [
    (module.__name__, name) for module in (nalm, nalm.bench) for name in module.__all__ if not name.startswith("_")
]


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_name_has_an_example(module: str, name: str) -> None:
    assert ">>>" in (inspect.getdoc(getattr(importlib.import_module(module), name)) or "")
