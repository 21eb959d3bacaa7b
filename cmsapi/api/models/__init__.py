"""Resources of the service as frozen classes, one module per resource; the converter reads them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cmsapi.api.models.all import *  # noqa: F403  what `__getattr__` finds


def __getattr__(name: str) -> Any:
    """Load all models when the first of them is used: those that build on `models.model` do not need them."""
    if name == "__all__" or not name.startswith("_"):
        every = importlib.import_module("cmsapi.api.models.all")
        if name == "__all__" or name in every.__all__:
            return getattr(every, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
