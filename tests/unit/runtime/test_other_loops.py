"""Without an event loop of asyncio, as under trio, the error names asyncio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox


async def _enter(client: cmsapi.Client) -> None:
    async with client:
        pass


USES: dict[str, Callable[[cmsapi.Client], Any]] = {
    "enter": _enter,
    "close": lambda client: client.aclose(),
    "call": lambda client: client.me(),
    "request": lambda client: client.request("GET", "/v1/me"),
    "list": lambda client: _first(client),
    "launch": lambda client: client.keywords.analyze("kwd_1"),
    "map": lambda client: _map(client),
    "doctor": lambda client: client.doctor(),
}


async def _first(client: cmsapi.Client) -> object:
    return await client.users.list()


async def _map(client: cmsapi.Client) -> object:
    return [each async for each in client.jobs.map(client.keywords.analyze, ["kwd_1"])]


@pytest.mark.parametrize("use", USES)
def test_the_error_names_asyncio(use: str) -> None:
    """Each use of a client that another framework drives is refused in words, and nothing is sent."""
    box = Sandbox()
    client = cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport)
    coroutine: Coroutine[Any, Any, object] = USES[use](client)
    # As the loop of another framework does it.
    with pytest.raises(cmsapi.ClientClosedError, match=r"cmsapi runs on asyncio.*trio"):
        coroutine.send(None)
    assert len(box.ledger) == 0
