"""Turn attrs objects into plain Python values: dictionaries by the names of their fields."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs


def plain(value: Any) -> Any:
    """Return an object as a dictionary, several objects as a list of them, and an enumerated word as a string.

    Other values stay as they are. The key `extra` is there when the object has unlisted keys.
    """
    match value:
        case enum.Enum():
            return value.value
        case tuple():
            return [plain(each) for each in value]
        case list() | dict():
            return copied(value)
        case Mapping():
            return copied(dict(value))
        case _ if attrs.has(type(value)):
            fields = {name: getattr(value, name) for name in field_names(type(value))}
            return {name: plain(each) for name, each in fields.items() if name != "extra" or each}
        case _:
            return value


def field_names(of: type) -> list[str]:
    """Return the names of the fields of an attrs class that people see; the one with unlisted keys comes last."""
    fields = attrs.fields_dict(of)
    names = [name for name, field in fields.items() if not name.startswith("_") and field.repr is not False]
    return [*names, "extra"] if "extra" in fields else names


def copied(value: Any) -> Any:
    """Copy nested lists and objects, however deep, so that no change of them changes a model."""
    root = [value]
    to_copy: list[Any] = [root]
    while to_copy:
        container = to_copy.pop()
        for place, each in container.items() if type(container) is dict else enumerate(container):
            if type(each) is dict or type(each) is list:
                container[place] = each.copy()
                to_copy.append(container[place])
    return root[0]
