"""Test code that uses the SDK: fixtures for pytest, handwritten answers, and assertions about requests.

Every run of pytest loads `cmsapi.testing.plugin` if the package is installed. So this module, too, loads a name only
when it is first used.
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
        HandlerTransport as HandlerTransport,
        RecordedRequest as RecordedRequest,
        error_response as error_response,
        json_response as json_response,
    )
    from cmsapi.testing.mocked import mocked_aiohttp as mocked_aiohttp
    from cmsapi.testing.requests import assert_requests as assert_requests

_HOME_OF = {
    "RecordedRequest": "cmsapi.testing.handler",
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
    """Import a public name on its first use."""
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
