"""Asyncio SDK for the Content Marketing Service API (v1).

Importing this package loads almost nothing: each public name is imported on its first use, from the module that
`__init__.pyi` gives. The first client loads aiohttp.
"""

from __future__ import annotations

from cmsapi._stub import attach_stub

__getattr__, __dir__ = attach_stub(__name__)
