"""Events in the log, with stable names."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

import cmsapi
from cmsapi.observability import events
from cmsapi.sandbox import Fault, Limits, Sandbox

pytestmark = pytest.mark.looptime


def test_every_event_has_a_name_and_the_reference_lists_it() -> None:
    """The reference lists exactly the existing events, with their names in the log."""
    classes = [each for each in vars(events).values() if isinstance(each, type) and issubclass(each, cmsapi.Event)]
    existing = {each.name: each.__name__ for each in classes if hasattr(each, "name")}
    page = (Path(__file__).parents[3] / "docs/reference/events.md").read_text()
    listed = dict(re.findall(r"^\| `(cmsapi\.[\w.]+)` \| \{py:class\}`~cmsapi\.(\w+)`", page, re.MULTILINE))
    assert listed == existing


async def test_events_are_logged_with_their_name_and_fields(caplog: pytest.LogCaptureFixture) -> None:
    """A record has the name and the fields as attributes and as text."""
    caplog.set_level("DEBUG", "cmsapi")
    box = Sandbox(faults=[Fault(status=503, times=1)])
    async with cmsapi.Client(
        box.api_key, base_url=box.base_url, transport=box.transport, hooks=[cmsapi.log_event]
    ) as client:
        await client.me()
    logged = [(record.event, record.levelno) for record in caplog.records]  # type: ignore[attr-defined]
    assert logged == [
        ("cmsapi.call.started", logging.DEBUG),
        ("cmsapi.request.started", logging.DEBUG),
        ("cmsapi.request.finished", logging.DEBUG),
        ("cmsapi.retry.scheduled", logging.INFO),
        ("cmsapi.request.started", logging.DEBUG),
        ("cmsapi.request.finished", logging.DEBUG),
        ("cmsapi.call.finished", logging.DEBUG),
    ]
    assert caplog.records[-1].fields["attempts"] == 2  # type: ignore[attr-defined]
    assert "cmsapi.call.finished operation='get_me' method='GET'" in caplog.text


async def test_warnings_have_names_too(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings of clients without hooks have the same names."""
    box = Sandbox(limits=Limits(per_hour=2), faults=[Fault(status=429, retry_after=10)])
    limits = cmsapi.RateLimits(per_hour=2)
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport, limits=limits) as client:
        for _ in range(3):
            await client.me()
    events = {record.event for record in caplog.records}  # type: ignore[attr-defined]
    assert events == {"cmsapi.quota.wait", "cmsapi.rate_limit.paused"}
