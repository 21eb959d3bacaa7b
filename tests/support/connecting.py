"""Clients of scripted services."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

import cmsapi
from tests.support.script import KEY

Connect = Callable[..., cmsapi.Client]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Make clients that are closed at the end of the test."""
    async with AsyncExitStack() as stack:

        def make(transport: Any = None, *, base_url: str = "https://api.example.com", **options: Any) -> cmsapi.Client:
            client = cmsapi.Client(KEY, base_url=base_url, transport=transport, **options)
            stack.push_async_callback(client.aclose)
            return client

        yield make
