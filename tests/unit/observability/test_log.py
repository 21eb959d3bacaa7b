"""Events in the log: their names, their lines, their levels, and when they are made at all."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from pathlib import Path
from types import FrameType

import pytest

import cmsapi
from cmsapi.observability import events, job_events
from cmsapi.sandbox import Fault, Fixed, Limits, Sandbox
from tests.support.resources import client_of

pytestmark = pytest.mark.looptime


def lines(caplog: pytest.LogCaptureFixture, word: str) -> list[str]:
    """Return the lines of one kind of event."""
    messages = [record.getMessage() for record in caplog.records]
    return [message for message in messages if message.startswith(f"{word} ")]


def test_every_event_has_a_name_and_the_reference_lists_it() -> None:
    """The reference lists exactly the existing events, with their names."""
    classes = [
        each
        for module in (events, job_events)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, cmsapi.Event)
    ]
    existing = {each.name: each.__name__ for each in classes if hasattr(each, "name")}
    page = (Path(__file__).parents[3] / "docs/reference/events.md").read_text()
    listed = dict(re.findall(r"^\| `(cmsapi\.[\w.]+)` \| \{py:class\}`~cmsapi\.(\w+)`", page, re.MULTILINE))
    assert listed == existing


async def test_events_are_logged_with_their_name_and_fields(caplog: pytest.LogCaptureFixture) -> None:
    """A record has the name and the fields as attributes and as text."""
    caplog.set_level("DEBUG", "cmsapi")
    box = Sandbox(faults=[Fault(status=503, times=1)])
    async with client_of(box) as client:
        await client.me()
    logged = [(record.event, record.levelno) for record in caplog.records]  # type: ignore[attr-defined]
    assert logged == [
        ("cmsapi.call.started", logging.DEBUG),
        ("cmsapi.request.started", logging.DEBUG),
        ("cmsapi.request.finished", logging.INFO),
        ("cmsapi.retry.scheduled", logging.INFO),
        ("cmsapi.request.started", logging.DEBUG),
        ("cmsapi.request.finished", logging.INFO),
        ("cmsapi.call.finished", logging.DEBUG),
    ]
    assert caplog.records[-1].fields["attempts"] == 2  # type: ignore[attr-defined]
    first, second = lines(caplog, "request.finished")
    assert re.match(r"request\.finished method=GET path=/v1/me status=503 ms=\d+ attempt=1 ", first)
    assert re.match(r"request\.finished method=GET path=/v1/me status=200 ms=\d+ attempt=2 ", second)
    assert 'reason="503 service_unavailable"' in lines(caplog, "retry.scheduled")[0]


async def test_a_request_has_the_name_that_the_service_gave_it(caplog: pytest.LogCaptureFixture) -> None:
    """`X-Request-Id` of the answer is in the event and in its line, so that the service's people find the request."""
    caplog.set_level("INFO", "cmsapi")

    box = Sandbox()
    async with client_of(box) as client:
        await client.me()
    (line,) = lines(caplog, "request.finished")
    assert re.search(r" request_id=req_\w+ ", line)


async def test_a_poll_says_why_it_came_and_why_the_next_one_comes_then(caplog: pytest.LogCaptureFixture) -> None:
    """The line of a poll names the job, its age, the reason of the poll, and when and why the next poll comes."""
    caplog.set_level("INFO", "cmsapi")
    box = Sandbox(durations=Fixed(20))
    async with client_of(box) as client:
        job = await client.keywords.analyze(box.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(1)
        await job.refresh()
        await waiter
    polls = lines(caplog, "job.observed")
    assert f"target={job.target} id={job.id} phase=running" in polls[0]
    assert 'reason="the program asks for it"' in polls[0]
    assert re.search(r" next_in=[\d.]+ next_reason=\"[^\"]+\"$", polls[0])
    assert all(re.search(r" elapsed=[\d.]+ reason=\"[^\"]+\"", poll) for poll in polls)
    assert "phase=succeeded" in polls[-1]
    assert "next_in" not in polls[-1]


async def test_long_waits_warn_without_any_setting(caplog: pytest.LogCaptureFixture) -> None:
    """A program that stands still finds the reason in its log: which window is used up, or a pause."""
    box = Sandbox(limits=Limits(per_hour=2), faults=[Fault(status=429, retry_after=10)])
    async with client_of(box, limits=cmsapi.RateLimits(per_hour=2)) as client:
        for _ in range(3):
            await client.me()
    assert {(record.event, record.fields.get("window")) for record in caplog.records} == {  # type: ignore[attr-defined]
        ("cmsapi.rate_limit.paused", None),
        ("cmsapi.quota.wait", "hour"),
    }


async def test_a_crowd_waits_for_the_second(caplog: pytest.LogCaptureFixture) -> None:
    """Where many calls wait at once, the line says that the second is used up, not the hour."""
    box = Sandbox(limits=Limits.unlimited())
    async with client_of(box, limits=cmsapi.RateLimits(per_second=2, per_hour=None)) as client:
        await asyncio.gather(*(client.me() for _ in range(30)))
    (line,) = lines(caplog, "quota.wait")
    assert " window=second " in line


async def test_without_hooks_and_log_no_event_is_made(caplog: pytest.LogCaptureFixture) -> None:
    """A client that is not observed makes no event of its calls, launches and polls."""
    made: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        # attrs names the code that it writes after the class.
        if event == "call" and "generated" in (name := frame.f_code.co_filename) and "events." in name:
            made.append(name)

    async def work(client: cmsapi.Client) -> None:
        sys.setprofile(note)
        try:
            await client.me()
            await (await client.keywords.analyze(box.keyword_ids[0]))
        finally:
            sys.setprofile(None)

    caplog.set_level("WARNING", "cmsapi")
    box = Sandbox(durations=Fixed(20))
    async with client_of(box) as client:
        await work(client)
    assert made == []
    async with client_of(Sandbox(durations=Fixed(20)), hooks=[print]) as client:
        await client.me()
        sys.setprofile(note)
        await client.me()
        sys.setprofile(None)
    assert made


async def test_text_of_the_service_cannot_forge_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """Line feeds and control characters in a text are escaped, so that one event is one line."""
    caplog.set_level("INFO", "cmsapi")

    class Rude:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            raise cmsapi.NotSentError('down\nrequest.finished status=200 "x"\x1b[31m')

    box, retry = Sandbox(), cmsapi.RetryPolicy(max_attempts=2)
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=Rude(), retry=retry) as client:
        with pytest.raises(cmsapi.NotSentError):
            await client.me()
    (line,) = lines(caplog, "retry.scheduled")
    assert line.endswith(r'reason="NotSentError: down\nrequest.finished status=200 \"x\"\u001b[31m"')
