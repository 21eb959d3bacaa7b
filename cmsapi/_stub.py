"""Import the public names of a package on their first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def attach_stub(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package whose stub, `__init__.pyi`, imports its public names.

    Type checkers read the same stub, so each name is written only once. The first use of a name reads the stub.

    Args:
        package: The name of the package.
    """
    modules: dict[str, str] = {}

    def read_stub() -> dict[str, str]:
        if not modules:
            modules.update(_public_names(package))
        return modules

    def get_attribute(name: str) -> Any:
        if name == "__all__":
            value: Any = list(read_stub())
        elif name in read_stub():
            value = getattr(importlib.import_module(modules[name]), name)
        else:
            raise _unknown(package, name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted(read_stub())

    return get_attribute, list_names


def _unknown(package: str, name: str) -> AttributeError:
    from cmsapi.guesses import meant

    hint = meant(package, name)
    return AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[package])


def _public_names(package: str) -> dict[str, str]:
    """Return the names that a stub imports, each as `Name as Name`, with their modules."""
    # Both take longer to load than this module.
    import pkgutil
    import re

    stub = (pkgutil.get_data(package, "__init__.pyi") or b"").decode()
    imports = re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", stub, re.MULTILINE)
    return {name: module for module, names in imports for name in re.findall(r"\b(\w+) as \1\b", names)}
