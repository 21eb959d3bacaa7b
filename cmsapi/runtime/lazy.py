"""Attributes whose classes are loaded when they are first read."""

from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    """Load a class and make one of it when an attribute is first read.

    Args:
        module: Has the class.
        name: Name of the class.
        parts: Names of the attributes that it is made of.
    """

    def __init__(self, module: str, name: str, *parts: str) -> None:
        self._module = module
        self._name = name
        self._parts = parts

    def __set_name__(self, owner: type[object], attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, instance: object | None, owner: type[object]) -> Any:
        if instance is None:
            return self
        of_class = getattr(importlib.import_module(self._module), self._name)
        made = of_class(*(getattr(instance, part) for part in self._parts))
        # It is found there first from now on.
        vars(instance)[self._attribute] = made
        return made


#: Makes an attribute of any type.
lazy: Any = Lazy
