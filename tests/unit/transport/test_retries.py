"""Which requests are retried, and after how long, in virtual time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cmsapi import (
    APIError,
    BadGatewayError,
    BadRequestError,
    CMSError,
    ConflictError,
    ForbiddenError,
    InternalServerError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitedError,
    RateLimits,
    RetryPolicy,
    ServiceUnavailableError,
    UnauthorizedError,
    ValidationError,
)
from cmsapi.messages import Response
from tests.support.spec import spec
from tests.unit.transport.scripted import Scripted, refusal

pytestmark = pytest.mark.looptime

TEMPORARY = [
    (429, "rate_limited", RateLimitedError), (500, "internal_error", InternalServerError),
    (502, "bad_gateway", BadGatewayError), (503, "service_unavailable", ServiceUnavailableError),
]  # fmt: skip
FINAL = [
    (400, "bad_request", BadRequestError), (401, "unauthorized", UnauthorizedError), (403, "forbidden", ForbiddenError),
    (404, "not_found", NotFoundError), (409, "conflict", ConflictError), (422, "validation_error", ValidationError),
]  # fmt: skip
OK = Response(200, {}, b'{"id": "x"}')
HTML = Response(502, {}, b"<h1>Bad gateway</h1>")
LOST, REFUSED = OutcomeUnknownError("lost"), NotSentError("refused")
NOT_FOUND = refusal(404, "not_found")


@spec("7.1")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("status", "code", "kind"), TEMPORARY)
async def test_temporary_errors_are_repeated(method: str, status: int, code: str, kind: type[APIError]) -> None:
    """Reads and writes are retried after the four temporary errors, which are raised once attempts are used up."""
    service = Scripted(refusal(status, code), OK)
    async with service.client() as client:
        assert (await client.request(method, "/v1/keywords/k")).status == 200
    service = Scripted(refusal(status, code))
    async with service.client(retry=RetryPolicy(max_attempts=3)) as client:
        with pytest.raises(kind):
            await client.request(method, "/v1/keywords/k")
    assert len(service.requests) == 3


@spec("7.1")
async def test_waits_grow_and_differ() -> None:
    """Each wait is random, between half of a bound and the bound, which doubles up to the cap."""
    drawn = set()
    for _ in range(5):
        service = Scripted(refusal(503, "service_unavailable"))
        async with service.client(retry=RetryPolicy(max_attempts=6, base=1, cap=8)) as client:
            with pytest.raises(ServiceUnavailableError):
                await client.me()
        for wait, longest in zip(service.waits, (1, 2, 4, 8, 8), strict=True):
            assert longest / 2 <= wait <= longest + 0.001
        assert all(before <= after + 0.001 for before, after in pairwise(service.waits[:4]))
        drawn.add(round(service.waits[0], 6))
    assert len(drawn) > 1


async def test_a_call_may_be_repeated_for_days() -> None:
    """The wait stays at its cap, however many attempts there are."""
    service = Scripted(refusal(503, "service_unavailable"))
    async with service.client(retry=RetryPolicy(max_attempts=1100)) as client:
        with pytest.raises(ServiceUnavailableError):
            await client.me()
    assert service.waits[-1] <= 30.001


@spec("7.1")
async def test_retry_after_is_the_least_wait() -> None:
    """A 429 is repeated no earlier than it asks for."""
    service = Scripted(refusal(429, "rate_limited", retry_after="40"), OK)
    async with service.client() as client:
        await client.me()
    assert 40 <= service.waits[0] < 45


async def test_a_time_of_day_as_retry_after_is_an_hour() -> None:
    """If a gateway sends a Unix time, the pause is an hour, the longest that the limits can require."""
    service = Scripted(refusal(429, "rate_limited", retry_after="1795000000"), OK)
    async with service.client() as client:
        await client.me()
    assert 3600 <= service.waits[0] < 3700


@spec("7.2")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("status", "code", "kind"), FINAL)
async def test_other_errors_are_not_repeated(method: str, status: int, code: str, kind: type[APIError]) -> None:
    """Permanent refusals are raised at once."""
    service = Scripted(refusal(status, code))
    async with service.client() as client:
        with pytest.raises(kind) as caught:
            await client.request(method, "/v1/keywords/k")
    assert len(service.requests) == 1
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize(
    ("method", "failure", "repeated"),
    [
        ("GET", HTML, True), ("POST", HTML, False), ("GET", LOST, True),
        ("POST", LOST, False), ("POST", REFUSED, True),
    ],
)  # fmt: skip
async def test_only_what_does_no_harm_is_repeated(method: str, failure: Response | CMSError, repeated: bool) -> None:
    """After a lost response or a gateway's error a read is repeated, a write is not; unsent requests always are."""
    service = Scripted(failure, OK)
    async with service.client() as client:
        if repeated:
            assert (await client.request(method, "/v1/keywords/k")).status == 200
        else:
            with pytest.raises((OutcomeUnknownError, BadGatewayError)):
                await client.request(method, "/v1/keywords/k")
    assert len(service.requests) == 1 + repeated


async def test_a_deletion_is_repeated() -> None:
    """A deletion has the same effect when done twice, so it is repeated after a lost response; a creation is not."""
    service = Scripted(LOST, OK)
    async with service.client() as client:
        await client.contents.delete("c")
    assert len(service.requests) == 2
    service = Scripted(LOST)
    async with service.client() as client:
        with pytest.raises(OutcomeUnknownError):
            await client.folders.create("w", "Name")
    assert len(service.requests) == 1


async def test_too_long_a_wait_is_refused() -> None:
    """A Retry-After beyond the policy's maximum raises an error at once, which says how long it is."""
    service = Scripted(refusal(429, "rate_limited", retry_after="61"))
    async with service.client(retry=RetryPolicy(max_retry_after=60)) as client:
        with pytest.raises(RateLimitedError) as caught:
            await client.me()
    assert caught.value.retry_after == 61
    assert len(service.requests) == 1


async def test_a_deletion_that_is_done_when_it_is_repeated_has_succeeded() -> None:
    """After a lost response, a 404 to the retry means that the first attempt succeeded."""
    async with Scripted(LOST, NOT_FOUND).client() as client:
        await client.folders.delete("fld_1")
    async with Scripted(NOT_FOUND).client() as client:
        with pytest.raises(NotFoundError):
            await client.folders.delete("fld_1")


@pytest.mark.parametrize("first", [LOST, refusal(500, "internal_error")])
async def test_nothing_was_sent_is_not_said_after_an_attempt_that_may_have_arrived(
    first: Response | CMSError,
) -> None:
    """A connection that fails on the retry does not undo the first attempt."""
    async with Scripted(first, REFUSED).client() as client:
        with pytest.raises(OutcomeUnknownError):
            await client.folders.delete("fld_1")


async def test_a_repeat_that_would_wait_too_long_raises_what_the_attempt_met() -> None:
    """`max_wait` does not hide the previous attempt's error."""
    limits = RateLimits(per_hour=2, max_wait=5)
    async with Scripted(OK, LOST).client(limits=limits) as client:
        await client.me()
        with pytest.raises(OutcomeUnknownError):
            await client.folders.delete("fld_1")


@pytest.mark.parametrize("of", ["client", "copy", "request"])
async def test_a_policy_is_of_a_client_a_copy_or_a_request(of: str) -> None:
    """The most specific policy decides how often a request is sent."""
    once, service = RetryPolicy(max_attempts=1), Scripted(refusal(503, "service_unavailable"))
    async with service.client(retry=once if of == "client" else RetryPolicy(max_attempts=2)) as client:
        copy = client.with_options(retry=once) if of == "copy" else client
        with pytest.raises(ServiceUnavailableError):
            await copy.request("GET", "/v1/me", retry=once if of == "request" else None)
    assert len(service.requests) == 1
