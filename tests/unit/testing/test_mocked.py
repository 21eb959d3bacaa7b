"""aioresponses works with each version of aiohttp."""

from __future__ import annotations

import inspect
from typing import Any

import aiohttp
import pytest
from aioresponses import aioresponses

import cmsapi
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


@pytest.mark.looptime
@pytest.mark.parametrize(
    "lost", [aiohttp.ServerDisconnectedError(), aiohttp.ClientOSError(104, "reset"), aiohttp.SocketTimeoutError()]
)
async def test_a_mocked_launch_whose_answer_is_lost_is_sent_once(lost: Exception) -> None:
    """Tests of lost answers see what production does: the launch may have happened, and is not repeated."""
    url = "https://api.example.com/v1"
    user: dict[str, Any] = {"id": "usr_1", "organization": {"id": "org_1", "credits": {"contentIdeasSearches": 10}}}
    with mocked_aiohttp() as answers:
        answers.get(f"{url}/me", payload=user, repeat=True)
        answers.post(f"{url}/workspaces/w1/content-idea-searches", exception=lost, repeat=True)
        async with cmsapi.Client("sk_test", base_url="https://api.example.com") as client:
            with pytest.raises(cmsapi.LaunchUnknownError):
                await client.content_ideas.search("w1", "tents")
        assert sum(len(calls) for (method, _), calls in answers.requests.items() if method == "POST") == 1


async def test_a_request_without_a_mocked_answer_was_not_sent() -> None:
    """What was forgotten in a test is no lost answer, and the error names the request and the mocks."""
    with mocked_aiohttp():
        async with cmsapi.Client("sk_test", base_url="https://api.example.com") as client:
            said = r"GET https://api\.example\.com/v1/me may match no mock of aioresponses\. Nothing was sent"
            with pytest.raises(cmsapi.NotSentError, match=said):
                await client.with_options(retry=cmsapi.RetryPolicy(max_attempts=1)).me()
