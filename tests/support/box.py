"""Clients of a sandbox in this process, and the time that they see."""

from __future__ import annotations

import asyncio
from typing import Any

from cmsapi import Client
from cmsapi.sandbox import Sandbox


def client_of(sandbox: Sandbox, **options: Any) -> Client:
    """Return a client of a sandbox, with options other than the fixture's."""
    return Client(sandbox.api_key, **{"base_url": sandbox.base_url, "transport": sandbox.transport, **options})


def now() -> float:
    """Return the loop's time."""
    return asyncio.get_running_loop().time()
