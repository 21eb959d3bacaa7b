"""Hooks see what happens, and change nothing."""

from __future__ import annotations

import pytest

from cmsapi import Event, RequestFinished, RetryScheduled
from cmsapi.messages import Response
from tests.unit.transport.scripted import Scripted, refusal

pytestmark = pytest.mark.looptime

OK = Response(200, {"x-request-id": "r1"}, b'{"id": "k"}')


async def test_hooks_get_attempts_and_retries() -> None:
    """A repeated request gives two attempts and a retry."""
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
