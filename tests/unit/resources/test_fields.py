"""What a missing field, None, a wrong name and a time mean is the same in every method."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

import cmsapi
from cmsapi.api.wire.shape import wire_name
from cmsapi.resources.drafts import ContentFields
from cmsapi.sandbox import Sandbox
from tests.support.script import KEY, Script, answer

pytestmark = pytest.mark.looptime

Call = Callable[[cmsapi.Client], Awaitable[Any]]
FIELDS = tuple(ContentFields.__annotations__)


async def sent(call: Call) -> tuple[str, Any]:
    """Return the URL and the body of the request that a call makes."""
    service = Script(answer(200, {"id": "c", "data": []}))
    async with cmsapi.Client(KEY, base_url="https://api.example.com", transport=service) as client:
        await call(client)
    (request,) = service.requests
    return request.url, json.loads(request.body or b"null")


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("titel", "title"),
        ("metaDescription", "meta_description"),
        ("folder", "folder_id"),
        ("due", "due_date"),
        ("status_id", "content_status_id"),
        ("assignee_id", "assigned_to_id"),
    ],
)
async def test_an_unknown_field_is_refused_with_the_nearest_name(wrong: str, near: str) -> None:
    """`update`, `edit` and `create` take the same names and refuse others before anything is saved."""
    service = Script(answer(200, {"id": "c", "version": 1}))
    changes: Any = {wrong: "x"}
    async with cmsapi.Client(KEY, base_url="https://api.example.com", transport=service) as client:
        for call in (client.contents.update("c", 1, **changes), client.contents.edit("c", lambda _: changes)):
            with pytest.raises(cmsapi.ArgumentError, match=f"Did you mean '{near}'\\?.*Nothing was sent") as caught:
                await call
            assert caught.value.parameter == wrong
        if near != "title":
            with pytest.raises(cmsapi.ArgumentError, match=f"Did you mean '{near}'\\?"):
                await client.contents.create("w", "t", **changes)
    assert {request.method for request in service.requests} == {"GET"}


async def test_a_name_that_is_near_none_lists_them_all() -> None:
    """Where no name is near, the error lists those that there are, without a guess."""
    with pytest.raises(cmsapi.ArgumentError, match=r"There is no field 'x'\. The fields are") as caught:
        await sent(lambda c: c.contents.update("c", 1, x=1))  # type: ignore[call-arg]
    assert all(name in str(caught.value) for name in ("title", *FIELDS))
    assert "page_id" not in str(caught.value)


@pytest.mark.parametrize("name", FIELDS)
async def test_none_is_no_value(name: str) -> None:
    """None clears a field in a change; a new content lacks it, as it lacks what is left out."""
    nothing: Any = {name: None}
    assert (await sent(lambda c: c.contents.update("c", 3, **nothing)))[1] == {"version": 3, wire_name(name): None}
    assert (await sent(lambda c: c.contents.create("w", "t", **nothing)))[1] == {"title": "t"}
    assert (await sent(lambda c: c.contents.create("w", "t")))[1] == {"title": "t"}


async def test_a_filter_that_is_none_does_not_filter() -> None:
    """None and a filter that is left out ask for the same."""
    plain, _ = await sent(lambda c: c.contents.list("w"))
    names = ("assigned_to_id", "content_status_id", "content_score", "content_score_min", "content_score_max")
    nothing: dict[str, Any] = dict.fromkeys(names)
    assert (await sent(lambda c: c.contents.list("w", **nothing)))[0] == plain
    assert (await sent(lambda c: c.contents.publish("c", url=None)))[1] == {}


async def test_a_title_cannot_be_cleared() -> None:
    """None as title is refused, and the error says how to keep it."""
    with pytest.raises(
        cmsapi.ArgumentError,
        match=r"`title` must be a string, got None\. It cannot be cleared; leave it out to keep it",
    ) as caught:
        await sent(lambda c: c.contents.update("c", 1, title=None))  # type: ignore[arg-type]
    assert caught.value.parameter == "title"


class Missing(datetime):
    """Be a missing time of pandas: an aware datetime by its class only."""

    def utcoffset(self) -> Any:
        """Return what is no offset."""
        return self


NAIVE = datetime(2026, 5, 1)  # noqa: DTZ001  the mistake that is tested
BAD_TIMES: list[tuple[Any, str]] = [
    (NAIVE, "no offset and would mean another moment elsewhere"),
    ("2026-05-01T12:00:00", "no offset and would mean another moment elsewhere"),
    *((text, "a text in ISO 8601") for text in ("", "tomorrow", "2026-13-01", "14d", "2026-05-01 12:00Z")),
    (1_777_593_600, "must be a date or an aware datetime, got 1777593600"),
    (timedelta(days=1), "must be a date or an aware datetime"),
    (Missing(2026, 5, 1, tzinfo=UTC), "must be a date or an aware datetime"),
]


@pytest.mark.parametrize(("time", "message"), BAD_TIMES)
async def test_what_is_no_moment_is_refused_everywhere(time: Any, message: str) -> None:
    """A time without offset, another text and a number are refused alike wherever a time is taken."""
    calls: dict[str, list[Call]] = {
        "due_date": [
            lambda c: c.contents.create("w", "t", due_date=time),
            lambda c: c.contents.update("c", 1, due_date=time),
        ],
        "since": [lambda c: c.credit_usages.report(since=time)],
        "until": [lambda c: c.credit_usages.report(until=time)],
    }
    for parameter, each in calls.items():
        for call in each:
            with pytest.raises(cmsapi.ArgumentError, match=message) as caught:
                await sent(call)
            assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (date(2026, 5, 1), "2026-05-01T00:00:00.000Z"),
        (datetime(2026, 5, 1, 1, 30, tzinfo=timezone(timedelta(hours=2))), "2026-04-30T23:30:00.000Z"),
        (datetime(2026, 5, 1, microsecond=1, tzinfo=UTC), "2026-05-01T00:00:00.000001Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00.000Z"),
        ("2026-05-01T24:00z", "2026-05-02T00:00:00.000Z"),
        ("2026-05-01", "2026-05-01T00:00:00.000Z"),
    ],
)
async def test_a_moment_is_sent_in_utc(time: date | str, text: str) -> None:
    """A date is its first moment in UTC, a datetime is sent in UTC, and a text means what it spells."""
    assert (await sent(lambda c: c.contents.create("w", "t", due_date=time)))[1]["dueDate"] == text
    assert (await sent(lambda c: c.contents.update("c", 1, due_date=time)))[1]["dueDate"] == text


async def test_bounds_in_the_wrong_order_are_refused() -> None:
    """A report that begins after its end is refused, also when one of the two is a date."""
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    with pytest.raises(cmsapi.ArgumentError, match="`since` must not exceed the upper bound") as caught:
        await sent(lambda c: c.credit_usages.report(since=noon, until=date(2026, 5, 1)))
    assert caught.value.parameter == "since"


async def test_a_change_needs_the_version_that_it_is_based_on() -> None:
    """A content may come without its version; a change of it is refused before anything is sent."""
    sandbox = Sandbox()
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        with pytest.raises(cmsapi.ArgumentError, match=r"`version` must be .* got None.*contents\.edit"):
            await client.contents.update(sandbox.content_ids[0], None, title="New")
    assert not sandbox.ledger
