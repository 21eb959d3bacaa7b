"""What tests of your own code need: fixtures for pytest, answers written by hand, and a look at what was sent.

`cmsapi.testing.plugin` is loaded by every run of pytest in an environment that has this package, so that names are
loaded when they are first used, here too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cmsapi.sandbox import (
        Fault as Fault,
        Faults as Faults,
        storm as storm,
    )
    from cmsapi.testing.handler import (
        Asked as Asked,
        HandlerTransport as HandlerTransport,
        error_response as error_response,
        json_response as json_response,
    )
    from cmsapi.testing.mocked import mocked_aiohttp as mocked_aiohttp
    from cmsapi.testing.requests import assert_requests as assert_requests

_HOME_OF = {
    "Asked": "cmsapi.testing.handler",
    "Fault": "cmsapi.sandbox",
    "Faults": "cmsapi.sandbox",
    "HandlerTransport": "cmsapi.testing.handler",
    "assert_requests": "cmsapi.testing.requests",
    "error_response": "cmsapi.testing.handler",
    "json_response": "cmsapi.testing.handler",
    "mocked_aiohttp": "cmsapi.testing.mocked",
    "storm": "cmsapi.sandbox",
}

__all__ = [*_HOME_OF]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
