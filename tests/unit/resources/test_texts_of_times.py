"""Times as texts: as the service writes them, and as programs give them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

import cmsapi
from tests.support.script import KEY, Script, answer

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-02-28T12:00:00z", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("2026-02-28t12:00:00.5z", datetime(2026, 2, 28, 12, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-02-28T24:00:00Z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-02-28T24:00:00.000+00:00", datetime(2026, 3, 1, tzinfo=UTC)),
        ("20260228T240000Z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-12-31T24:00", datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
async def test_iso_8601_is_read_in_all_its_forms(text: str, time: datetime) -> None:
    """Small letters and the midnight at the end of a day are times, and their texts go out as they came."""
    read = cmsapi.from_dict(cmsapi.Content, {"id": "c", "dueDate": text})
    assert (read.due_date, cmsapi.to_dict(read)) == (time, {"id": "c", "dueDate": text})


@pytest.mark.parametrize(
    "text", ["2026-02-28T24:00:01Z", "2026-02-28T25:00:00Z", "9999-12-31T24:00:00Z", "2026-02-28T24:00:00.1Z"]
)
def test_other_hours_are_no_times(text: str) -> None:
    """Only midnight itself has the hour 24."""
    with pytest.raises(cmsapi.DecodeError):
        cmsapi.from_dict(cmsapi.Content, {"id": "c", "dueDate": text})


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("2026-05-01T12:00:00Z", "2026-05-01T12:00:00.000Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00.000Z"),
        ("2026-05-01T24:00z", "2026-05-02T00:00:00.000Z"),
        ("2026-05-01", "2026-05-01T00:00:00.000Z"),
    ],
)
async def test_a_due_date_may_be_a_text(text: str, sent: str) -> None:
    """A text in ISO 8601 means what the aware datetime or the date that it spells means."""
    content = {"id": "c", "version": 2, "dueDate": sent}
    service = Script(*[answer(document=content)] * 2)
    async with cmsapi.Client(KEY, base_url="https://times.example.com", transport=service) as client:
        await client.contents.create("w", "t", due_date=text)
        await client.contents.update("c", 1, due_date=text)
    assert [json.loads(request.body or b"")["dueDate"] for request in service.requests] == [sent, sent]


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-05-01T12:00:00", "2026-13-01", "14d", "2026-05-01 12:00Z"])
async def test_a_text_that_spells_no_moment_is_refused(text: str) -> None:
    """Nothing is sent, and the error names the parameter."""
    service = Script(answer())
    async with cmsapi.Client(KEY, base_url="https://times.example.com", transport=service) as client:
        calls: tuple[Any, ...] = (
            client.contents.create("w", "t", due_date=text),
            client.contents.update("c", 1, due_date=text),
        )
        for call in calls:
            with pytest.raises(cmsapi.ArgumentError) as caught:
                await call
            assert caught.value.parameter == "due_date"
    assert service.requests == []
