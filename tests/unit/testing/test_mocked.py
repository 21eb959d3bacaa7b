"""aioresponses works with each version of aiohttp."""

from __future__ import annotations

import inspect

import aiohttp
import pytest
from aioresponses import aioresponses

from cmsapi.testing import mocked_aiohttp

URL = "https://api.example.com/v1/me"


@pytest.mark.skipif(
    "stream_writer" not in inspect.signature(aiohttp.ClientResponse).parameters, reason="aiohttp before 3.14"
)
async def test_aioresponses_alone_fails() -> None:
    """If this fails, aioresponses works with aiohttp 3.14 itself: remove `mocked._Response`."""
    with aioresponses() as answers:
        answers.get(URL)
        async with aiohttp.ClientSession() as session:
            with pytest.raises(TypeError, match="stream_writer"):
                await session.get(URL)


async def test_mocked_aiohttp_answers() -> None:
    """An answer in the list arrives."""
    with mocked_aiohttp() as answers:
        answers.get(URL, status=418, payload={"tea": True})
        async with aiohttp.ClientSession() as session, session.get(URL) as answer:
            assert (answer.status, await answer.json()) == (418, {"tea": True})
