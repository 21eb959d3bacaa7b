"""Deadlines and errors for requests, in virtual time."""

from __future__ import annotations

import pytest

from cmsapi import (
    APIError,
    DeadlineError,
    NotFoundError,
    OutcomeUnknownError,
    RateLimits,
    ServerError,
    Timeouts,
    ValidationError,
)
from cmsapi.messages import Response
from tests.unit.transport.scripted import Scripted, refusal

pytestmark = pytest.mark.looptime

OK = Response(200, {}, b'{"id": "x"}')


async def test_a_deadline_says_whether_the_request_left() -> None:
    """If an attempt is under way, the deadline's error says that it was sent."""
    service = Scripted(None)
    async with service.client(timeouts=Timeouts(deadline=5)) as client:
        with pytest.raises(DeadlineError) as caught:
            await client.me()
    assert caught.value.sent


async def test_a_deadline_before_sending_says_so() -> None:
    """A request that the hourly limit holds back until its deadline was not sent."""
    service = Scripted(Response(200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "600"}, b'{"id": "x"}'))
    async with service.client(timeouts=Timeouts(deadline=5), limits=None) as client:
        await client.request("GET", "/v1/me")
        with pytest.raises(DeadlineError) as caught:
            await client.request("GET", "/v1/me")
    assert not caught.value.sent
    assert len(service.requests) == 1


@pytest.mark.parametrize(("status", "kind"), [(418, APIError), (404, NotFoundError), (507, ServerError)])
async def test_an_unknown_code_is_kept(status: int, kind: type[APIError]) -> None:
    """An unlisted code is kept in an error of the status's class."""
    async with Scripted(refusal(status, "brand_new")).client() as client:
        with pytest.raises(kind) as caught:
            await client.me()
    assert caught.value.code == "brand_new"


async def test_the_class_goes_by_the_code() -> None:
    """A listed code decides the class, whatever the status."""
    async with Scripted(refusal(400, "validation_error", "'title' is too long")).client() as client:
        with pytest.raises(ValidationError) as caught:
            await client.me()
    assert caught.value.field == "title"


async def test_errors_and_models_know_their_answer() -> None:
    """Errors and models provide headers, status and request id."""
    async with Scripted(refusal(404, "not_found", x_request_id="r1")).client() as client:
        with pytest.raises(NotFoundError, match="visible to this key") as caught:
            await client.contents.get("c")
    assert (caught.value.request_id, caught.value.headers["x-request-id"]) == ("r1", "r1")
    assert "OPERATIONS.override" in str(caught.value)
    async with Scripted(Response(200, {"x-request-id": "r2"}, b'{"id": "k"}')).client() as client:
        response = (await client.keywords.get("k")).response
    assert response is not None
    assert (response.status, response.request_id) == (200, "r2")


async def test_a_deadline_knows_of_earlier_attempts() -> None:
    """If the deadline passes while a retry is waiting, the error says that the service may have acted."""
    limits = RateLimits(per_hour=2)
    async with Scripted(OK, OutcomeUnknownError("lost")).client(
        limits=limits, timeouts=Timeouts(deadline=60)
    ) as client:
        await client.me()
        with pytest.raises(DeadlineError) as over:
            await client.folders.delete("fld_1")
    assert over.value.sent
