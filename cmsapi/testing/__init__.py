"""Test code that uses the SDK: fixtures for pytest, handwritten answers, and assertions about requests.

Every run of pytest loads `cmsapi.testing.plugin` if the package is installed. So this module, too, loads a name only
when it is first used.
"""

from __future__ import annotations

from cmsapi._stub import attach_stub

__getattr__, __dir__ = attach_stub(__name__)
