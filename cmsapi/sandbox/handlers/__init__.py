"""What each operation does: functions of the operation's name on records, one file a group of resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any

from cmsapi.sandbox.call import Call
from cmsapi.sandbox.handlers import contents, generations, ideas, keywords, organization, pages, workspaces

HANDLERS: Mapping[str, Callable[[Call], Any]] = {
    name: value
    for module in (organization, workspaces, contents, generations, pages, keywords, ideas)
    for name, value in vars(module).items()
    if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
}
