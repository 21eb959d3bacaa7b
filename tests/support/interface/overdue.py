"""Find what has passed the version that was to remove it."""

from __future__ import annotations

import importlib
import pkgutil

import cmsapi
from cmsapi import deprecation
from tests.support.interface.comparison import numbers


def present() -> list[deprecation.Deprecation]:
    """Return all deprecations of the package, each once; all its modules are imported."""
    for module in pkgutil.walk_packages(cmsapi.__path__, "cmsapi."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    named = [
        deprecation.read_message(text, package)
        for package, names in deprecation.NAMES.items()
        for _, text in names.values()
    ]
    ours = [each for each in (*deprecation.DEPRECATIONS, *named) if each.module.partition(".")[0] == "cmsapi"]
    # A blocking class has the deprecations of its async class.
    return sorted({each.name: each for each in ours}.values())


def overdue(version: str, found: list[deprecation.Deprecation] | None = None) -> list[str]:
    """Return a line for each deprecation that a version must no longer have."""
    found = present() if found is None else found
    return [
        f"{each.name} was to be removed in {each.removal}: remove it, or give it more time"
        for each in found
        if numbers(each.removal) <= numbers(version)
    ]
