"""Hooks and the log see what happens, and change nothing."""

from __future__ import annotations

import logging

import pytest

from cmsapi import Event, RateLimits, RequestFinished, RetryScheduled
from cmsapi.messages import Response
from tests.support.children import run
from tests.unit.transport.scripted import Scripted, refusal

pytestmark = pytest.mark.looptime

OK = Response(200, {"x-request-id": "r1"}, b'{"id": "k"}')


async def test_hooks_get_attempts_and_retries() -> None:
    """A repeated request is two attempts and a retry."""
    events: list[Event] = []
    async with Scripted(refusal(429, "rate_limited", retry_after="30"), OK).client(hooks=[events.append]) as client:
        await client.keywords.get("k")
    finished = [each for each in events if isinstance(each, RequestFinished)]
    assert [(each.status, each.attempt, each.operation) for each in finished] == [
        (429, 1, "get_keyword"),
        (200, 2, "get_keyword"),
    ]
    assert finished[1].request_id == "r1"
    (retry,) = (each for each in events if isinstance(each, RetryScheduled))
    assert (retry.attempt, retry.seconds >= 30) == (1, True)


async def test_a_raising_hook_changes_nothing() -> None:
    """The call succeeds, and the other hooks get their events."""
    events: list[Event] = []

    def broken(_: Event) -> None:
        raise RuntimeError("hook")

    async with Scripted(OK).client(hooks=[broken, events.append]) as client:
        assert (await client.keywords.get("k")).id == "k"
    assert len(events) == 1


async def test_the_log_has_no_key(caplog: pytest.LogCaptureFixture) -> None:
    """Attempts and repeats are logged without the key."""
    with caplog.at_level(logging.DEBUG):
        async with Scripted(refusal(503, "service_unavailable"), OK).client() as client:
            await client.keywords.get("k")
    assert "503" in caplog.text
    assert "sk_scripted" not in caplog.text


@pytest.mark.looptime
async def test_long_waits_are_warnings(caplog: pytest.LogCaptureFixture) -> None:
    """A program without any logging is told when its requests wait for the hour."""
    service = Scripted(OK)
    async with service.client(limits=RateLimits(per_hour=1)) as client:
        await client.keywords.get("k")
        await client.keywords.get("k")
    assert any(record.levelno == logging.WARNING and "wait" in record.message for record in caplog.records)


@pytest.mark.parametrize(("level", "lines"), [("info", 0), ("debug", 1), ("nonsense", 0)])
def test_the_environment_switches_the_log_on(level: str, lines: int) -> None:
    """``CMSAPI_LOG`` names the level from which events are written to stderr."""
    program = f"""
import asyncio, contextlib, io, os
os.environ["CMSAPI_LOG"] = {level!r}
from cmsapi.sandbox import Sandbox
out = io.StringIO()
async def main():
    sandbox = Sandbox()
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        await client.me()
with contextlib.redirect_stderr(out):
    asyncio.run(main())
print(out.getvalue().count("/v1/me"))
"""
    assert int(run(program)) == lines
