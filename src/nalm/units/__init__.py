"""Every published unit, one file per paper."""

from __future__ import annotations

import importlib
import pkgutil

from nalm.core.unit import Unit


def catalogue() -> dict[str, type[Unit]]:
    """All units by class name: whatever public class derived from `Unit` a file of this folder defines."""
    names = [module.name for module in pkgutil.iter_modules(__path__, __name__ + ".")]
    defined = [(name, value) for name in names for value in vars(importlib.import_module(name)).values()]
    units = [v for name, v in defined if isinstance(v, type) and issubclass(v, Unit) and v.__module__ == name]
    return {unit.__name__: unit for unit in units if not unit.__name__.startswith("_")}
