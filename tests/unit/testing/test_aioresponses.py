"""Programs whose tests use aioresponses."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aioresponses import aioresponses

from cmsapi import Client


async def test_aioresponses_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client is answered by aioresponses; since aiohttp 3.14 it needs a parameter that it does not pass itself."""
    writer: Any = SimpleNamespace(output_size=0)
    response = partial(aiohttp.ClientResponse, stream_writer=writer)
    monkeypatch.setattr("aioresponses.core.ClientResponse", response)
    with aioresponses() as answers:
        answers.get("https://api.example.com/v1/keywords/k", status=503, payload={"error": {"code": "bad_gateway"}})
        answers.get("https://api.example.com/v1/keywords/k", payload={"id": "k", "keyword": "shoes"})
        async with Client("sk_test", base_url="https://api.example.com") as client:
            assert (await client.keywords.get("k")).keyword == "shoes"
