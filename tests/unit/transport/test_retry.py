"""What is repeated, when, and what the caller learns of it (specification 7; the table in `transport.retry`)."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
import random
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi import Replay, RetryPolicy, errors
from cmsapi.transport.retry import Failure, backoff, failure_of
from tests.support.connecting import Connect
from tests.support.script import HANG, LOST, UNSENT, Script, TellingScript, answer, refusal

pytestmark = pytest.mark.looptime

UNLIMITED = cmsapi.RateLimits.unlimited()

# failure: the replay classes that are repeated after it
TABLE = {
    Failure.REFUSED: set(),
    Failure.UNCLEAR: set(),
    Failure.NOT_EXECUTED: set(Replay),
    Failure.NOT_SENT: set(Replay),
    Failure.FAILED: {Replay.SAFE, Replay.IDEMPOTENT},
    Failure.UNKNOWN: {Replay.SAFE, Replay.IDEMPOTENT},
}
# status and code of an answer: what is known then
ANSWERS: dict[tuple[int, str | None], Failure] = {
    (429, "rate_limited"): Failure.NOT_EXECUTED,
    (429, None): Failure.NOT_EXECUTED,
    **{(status, code): Failure.FAILED for status in (500, 502, 503) for code in ("internal_error", None)},
    **dict.fromkeys(((status, None) for status in (408, 501, 504, 507, 520, 599)), Failure.UNKNOWN),
    **{(status, "conflict"): Failure.REFUSED for status in (400, 401, 403, 404, 406, 409, 418, 422, 499)},
    **dict.fromkeys(((status, None) for status in (400, 401, 404, 405, 409, 410, 413, 422)), Failure.REFUSED),
    **{(status, code): Failure.UNCLEAR for status in (299, 300, 301, 302, 304, 307) for code in ("conflict", None)},
    **dict.fromkeys(((status, None) for status in (403, 406, 418, 444, 460, 499)), Failure.UNCLEAR),
}
CALLS = {
    Replay.SAFE: ("GET", "/v1/me"),
    Replay.IDEMPOTENT: ("DELETE", "/v1/contents/c_1"),
    Replay.CREATES: ("POST", "/v1/contents/c_1/publish"),
}


@pytest.mark.parametrize(("answer", "failure"), ANSWERS.items())
def test_what_an_answer_says(answer: tuple[int, str | None], failure: Failure) -> None:
    """The service's own 4xx and what HTTP calls a refusal are refusals; redirects and pages of others are unclear."""
    status, code = answer
    assert failure_of(errors.APIError(status=status, code=code)) is failure


@given(
    st.floats(0.001, 60),
    st.floats(0.001, 600),
    st.integers(1, 2000),
    st.none() | st.floats(0, 86_400),
    st.randoms(use_true_random=False),
)
def test_full_jitter_above_the_floor(
    base: float, cap: float, attempt: int, retry_after: float | None, rng: random.Random
) -> None:
    """A wait lies between `Retry-After` and that plus the doubled base, which the cap bounds."""
    wait = backoff(RetryPolicy(base=base, cap=cap), attempt, retry_after, rng)
    floor = retry_after or 0.0
    assert floor <= wait <= floor + min(cap, base * 2.0 ** min(attempt - 1, 1000)) + 1e-9


def test_jitter_is_full() -> None:
    """Waits are spread over the whole range, so that clients that failed together do not return together."""
    rng = random.Random(1)
    waits = [backoff(RetryPolicy(base=8), 1, None, rng) for _ in range(1000)]
    assert min(waits) < 0.1 < 7.9 < max(waits)
    assert sum(waits) / 1000 == pytest.approx(4, rel=0.1)


async def call(client: cmsapi.Client, replay: Replay) -> Any:
    """Make a call of a replay class."""
    if replay is Replay.COSTS_CREDIT:
        return await client.prompts.analyze("prm_1")
    method, path = CALLS[replay]
    return await client.request(method, path)


@pytest.mark.parametrize("replay", Replay)
@pytest.mark.parametrize(
    ("step", "failure"),
    [
        (refusal(429, "rate_limited"), Failure.NOT_EXECUTED),
        (UNSENT, Failure.NOT_SENT),
        (refusal(500), Failure.FAILED),
        (refusal(502), Failure.FAILED),
        (refusal(503), Failure.FAILED),
        (refusal(504), Failure.UNKNOWN),
        (refusal(408), Failure.UNKNOWN),
        (LOST, Failure.UNKNOWN),
        (HANG, Failure.UNKNOWN),
        (refusal(400, "bad_request"), Failure.REFUSED),
        (refusal(302), Failure.UNCLEAR),
        (cmsapi.Response(403, {}, b"<html>"), Failure.UNCLEAR),
    ],
    ids=["429", "unsent", "500", "502", "503", "504", "408", "lost", "silent", "400", "302", "page"],
)
async def test_each_class_through_the_pipeline(connect: Connect, replay: Replay, step: Any, failure: Failure) -> None:
    """What the table says is what the service sees, and the error says what is known."""
    service = Script(step, answer(200, {"message": "ok"}))
    client = connect(service, limits=UNLIMITED)
    if replay in TABLE[failure]:
        await call(client, replay)
        assert (len(service.requests), client.statistics.retries) == (2, 1)
        return
    with pytest.raises(errors.CMSError) as caught:
        await call(client, replay)
    # A launch is looked up afterwards, which only reads.
    assert [request.method for request in service.requests].count(service.requests[0].method) == 1
    if replay is Replay.COSTS_CREDIT and failure is not Failure.REFUSED:
        assert isinstance(caught.value, errors.LaunchUnknownError)
    elif isinstance(step, cmsapi.Response):
        assert isinstance(caught.value, errors.APIError)
        assert caught.value.status == step.status
    else:
        assert isinstance(caught.value, errors.OutcomeUnknownError)
    assert caught.value.in_doubt == (failure is not Failure.REFUSED and replay is not Replay.SAFE)


async def test_an_unreadable_success_is_unknown(connect: Connect) -> None:
    """A 2xx that cannot be read is repeated for a GET; for what creates, it may exist."""
    service = Script(cmsapi.Response(200, {}, b"<html>"), answer())
    assert (await connect(service).me()).id == "usr_1"
    service = Script(cmsapi.Response(201, {}, b"<html>"), answer())
    with pytest.raises(errors.OutcomeUnknownError, match="may have happened") as caught:
        await connect(service).request("POST", "/v1/things")
    assert isinstance(caught.value.__cause__, errors.DecodeError)
    assert len(service.requests) == 1


@pytest.mark.parametrize("step", [LOST, HANG, cmsapi.Response(200, {}, b"<html>")])
async def test_no_lost_answer_to_a_read_is_in_doubt(connect: Connect, step: Any) -> None:
    """A read changes nothing, and neither does scoring; the same loss of a change is in doubt."""
    client = connect(Script(step), limits=UNLIMITED, retry=RetryPolicy(max_attempts=2))
    for read in (client.me(), client.keywords.score("kwd_1", content_id="cnt_1")):
        with pytest.raises(errors.TransportError) as caught:
            await read
        assert not caught.value.in_doubt
    for change in (client.contents.update("cnt_1", 1, title="New"), client.folders.create("wsp_1", "New")):
        with pytest.raises(errors.TransportError) as caught:
            await change
        assert caught.value.in_doubt


@pytest.mark.parametrize("retry", [True, False, None])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_caller_of_a_free_request_decides(connect: Connect, method: str, retry: bool | None) -> None:
    """`retry=True` repeats also in doubt, False never, and None goes by the method."""
    service = Script(LOST, answer())
    repeated = retry or (retry is None and method == "GET")
    client = connect(service, limits=UNLIMITED)
    if repeated:
        await client.request(method, "/v1/things", retry=retry)
    else:
        with pytest.raises(errors.OutcomeUnknownError):
            await client.request(method, "/v1/things", retry=retry)
    assert len(service.requests) == 1 + repeated


@pytest.mark.parametrize("step", [refusal(502), refusal(504), LOST])
async def test_a_free_request_is_not_repeated_for_the_retry_policy(connect: Connect, step: Any) -> None:
    """A free `POST` may launch what costs a credit, so that only its own `retry=True` repeats it in doubt."""
    service = Script(step, answer(201, {"id": "cis_1"}))
    client = connect(service, limits=UNLIMITED, retry=RetryPolicy(repeat_in_doubt=True))
    with pytest.raises((errors.ServerError, errors.OutcomeUnknownError)) as caught:
        await client.request("POST", "/v1/workspaces/wsp_1/content-idea-searches", json={"keyword": "tents"})
    assert (caught.value.in_doubt, len(service.requests)) == (True, 1)


@pytest.mark.parametrize("step", [refusal(500), refusal(503), refusal(504), LOST, HANG])
async def test_a_typed_method_can_be_told_to_repeat_in_doubt(connect: Connect, step: Any) -> None:
    """`RetryPolicy(repeat_in_doubt=True)` repeats what creates something; without it the first failure is told."""
    service = Script(step, answer(201, {"id": "fld_1", "name": "New"}))
    client = connect(service, limits=UNLIMITED)
    with pytest.raises((errors.ServerError, errors.OutcomeUnknownError)) as caught:
        await client.folders.create("wsp_1", "New")
    assert (caught.value.in_doubt, len(service.requests)) == (True, 1)
    service.requests.clear()
    bold = client.with_options(retry=RetryPolicy(repeat_in_doubt=True))
    assert (await bold.folders.create("wsp_1", "New")).id == "fld_1"
    assert len(service.requests) == 2


async def test_a_repeat_in_doubt_leaves_the_doubt(connect: Connect) -> None:
    """What a repeat in doubt is told may be about the request before it: the error of the last attempt says so."""
    bold = RetryPolicy(repeat_in_doubt=True, max_attempts=2)
    for last, kind in ((refusal(409, "conflict"), errors.ConflictError), (refusal(503), errors.ServerError)):
        with pytest.raises(kind, match="may have taken effect") as caught:
            await connect(Script(LOST, last), limits=UNLIMITED, retry=bold).folders.create("wsp_1", "New")
        assert (caught.value.in_doubt, caught.value.attempts) == (True, 2)
    with pytest.raises(errors.OutcomeUnknownError, match="may have happened"):
        await connect(Script(LOST, UNSENT), limits=UNLIMITED, retry=bold).folders.create("wsp_1", "New")


@pytest.mark.parametrize("step", [refusal(500), refusal(504), LOST])
async def test_a_launch_is_never_repeated_for_the_retry_policy(connect: Connect, step: Any) -> None:
    """What may be paid twice is settled first, whatever `repeat_in_doubt` says."""
    service = Script(step, answer(200, {"message": "ok"}))
    client = connect(service, limits=UNLIMITED, retry=RetryPolicy(repeat_in_doubt=True))
    with pytest.raises(errors.LaunchUnknownError):
        await client.prompts.analyze("prm_1")
    assert [request.method for request in service.requests].count("POST") == 1


async def test_attempts_end_and_are_told(connect: Connect) -> None:
    """After `max_attempts` the last error comes, with the number of requests and a note on the others."""
    service = Script(refusal(503, "service_unavailable", {"Retry-After": "2"}))
    with pytest.raises(errors.ServiceUnavailableError) as caught:
        await connect(service, retry=RetryPolicy(max_attempts=3)).me()
    error = caught.value
    assert (error.attempts, len(service.requests), error.retry_after) == (3, 3, 2.0)
    assert [note.split(";")[0] for note in error.__notes__] == ["tried 3 times"]
    assert "after 3 attempts" in str(error)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert (twin.attempts, twin.__notes__, str(twin)) == (3, error.__notes__, str(error))


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_a_floor(connect: Connect, status: int) -> None:
    """The next attempt comes no sooner than asked, and not much later."""
    service = Script(*[refusal(status, headers={"Retry-After": "7"})] * 3, answer())
    await connect(service).me()
    waits = [later - sooner for sooner, later in zip(service.times, service.times[1:], strict=False)]
    for attempt, wait in enumerate(waits):
        assert 7.0 <= wait <= 7.0 + 0.5 * 2**attempt


async def test_a_longer_retry_after_than_patience_is_an_error_at_once(connect: Connect) -> None:
    """A call that may not wait that long fails at once, with the time to come back."""
    for options in ({"limits": cmsapi.RateLimits(max_wait=10)}, {"timeouts": cmsapi.Timeouts(deadline=10)}):
        service = Script(refusal(429, "rate_limited", {"Retry-After": "11"}))
        began = asyncio.get_running_loop().time()
        client = connect(service, base_url=f"https://{next(iter(options))}.example.com", **options)
        with pytest.raises(errors.RateLimitedError) as caught:
            await client.me()
        assert (caught.value.retry_after, caught.value.attempts, len(service.requests)) == (11.0, 1, 1)
        assert asyncio.get_running_loop().time() == began


async def test_what_attempts_have_in_common_is_said_once(connect: Connect) -> None:
    """Attempts that ended like the last one, or like their neighbours, are told in one line, with their waits."""
    retry = RetryPolicy(max_attempts=5)
    with pytest.raises(errors.NotSentError) as caught:
        await connect(Script(errors.NotSentError("away")), retry=retry).me()
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"tried 5 times; waited \d+\.\d\d s in all", note)

    away = errors.NotSentError("away")
    service = Script(away, away, refusal(503, "service_unavailable"), away)
    with pytest.raises(errors.NotSentError) as caught:
        await connect(service, retry=RetryPolicy(max_attempts=4)).me()
    assert [note.partition(";")[0] for note in caught.value.__notes__] == [
        "attempts 1 to 2: like the last one",
        "attempt 3: 503 service_unavailable",
    ]


async def test_quota_that_is_too_far_ends_the_repeats(connect: Connect) -> None:
    """When the next attempt would wait too long for quota, the caller gets what happened, not that nothing was sent."""
    service = Script(LOST)
    client = connect(service, limits=cmsapi.RateLimits(per_hour=1, max_wait=60))
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        await client.request("DELETE", "/v1/contents/c_1")
    assert (caught.value.attempts, len(service.requests)) == (1, 1)
    assert "no further attempt: the request limit" in caught.value.__notes__[-1]
    with pytest.raises(errors.RateLimitWaitError, match="Nothing was sent") as refused:
        await client.me()
    assert refused.value.available_in == pytest.approx(3602, abs=5)


async def test_a_404_after_a_lost_deletion_is_success(connect: Connect) -> None:
    """The echo of our own deletion is no error; a 404 without doubt is one."""
    for first in (LOST, refusal(504), refusal(500)):
        service = Script(first, refusal(404, "not_found"))
        await connect(service, limits=UNLIMITED).contents.delete("c_1")
        assert len(service.requests) == 2
    for steps in ([refusal(404, "not_found")], [UNSENT, refusal(404, "not_found")]):
        with pytest.raises(errors.NotFoundError) as caught:
            await connect(Script(*steps), limits=UNLIMITED).contents.delete("c_1")
        assert not caught.value.in_doubt
    with pytest.raises(errors.NotFoundError) as caught:
        await connect(Script(LOST, refusal(404, "not_found")), limits=UNLIMITED).contents.update("c_1", 1, title="T")
    assert caught.value.in_doubt
    with pytest.raises(errors.NotFoundError) as caught:
        await connect(Script(LOST, refusal(404, "not_found")), limits=UNLIMITED).me()
    assert not caught.value.in_doubt


async def test_a_failure_that_was_answered_is_not_told_as_silence(connect: Connect) -> None:
    """After a 5xx the effect is not known, but an answer came: the messages do not deny it."""
    with pytest.raises(errors.InternalServerError, match="may have taken effect") as created:
        await connect(Script(refusal(500))).request("POST", "/v1/things")
    with pytest.raises(errors.NotFoundError, match="may have taken effect") as changed:
        await connect(Script(refusal(500), refusal(404, "not_found"))).contents.update("c_1", 1, title="T")
    with pytest.raises(errors.OutcomeUnknownError, match="may have happened") as unsent:
        await connect(Script(refusal(500), UNSENT)).request("DELETE", "/v1/contents/c_1")
    slow = connect(Script(refusal(500)), timeouts=cmsapi.Timeouts(deadline=0.1), retry=RetryPolicy(base=600, cap=600))
    with pytest.raises(errors.CMSError) as late:
        await slow.request("DELETE", "/v1/contents/c_1")
    for caught in (created, changed, unsent, late):
        assert not re.search(r"(no|without an) answer", str(caught.value))


async def test_a_poll_or_a_single_attempt_is_one_request(connect: Connect) -> None:
    """`retry=False` and `max_attempts=1` send one request whatever happens."""
    service = Script(refusal(503))
    with pytest.raises(errors.ServerError):
        await connect(service, retry=RetryPolicy(max_attempts=1)).me()
    assert len(service.requests) == 1


# One deadline over everything


async def test_the_deadline_spans_the_wait_for_quota(connect: Connect) -> None:
    """Waiting for quota counts, and nothing was sent."""
    service = Script(answer())
    client = connect(service, limits=cmsapi.RateLimits(per_hour=1), timeouts=cmsapi.Timeouts(deadline=5))
    await client.me()
    began = asyncio.get_running_loop().time()
    with pytest.raises(errors.DeadlineError) as caught:
        await client.me()
    assert asyncio.get_running_loop().time() == began + 5
    assert (caught.value.sent, caught.value.attempts, caught.value.operation) == (False, 0, "get_me")
    assert isinstance(caught.value, TimeoutError)
    assert len(service.requests) == 1


async def test_the_deadline_spans_attempts(connect: Connect) -> None:
    """Attempts and waits together do not outlast the deadline; the last failure is told as it is."""
    service = Script(refusal(503), takes=1.0)
    began = asyncio.get_running_loop().time()
    retry = RetryPolicy(max_attempts=100, base=1, cap=1)
    with pytest.raises((errors.ServerError, errors.DeadlineError)) as caught:
        await connect(service, timeouts=cmsapi.Timeouts(deadline=5), retry=retry).me()
    assert asyncio.get_running_loop().time() <= began + 5
    assert 2 <= len(service.requests) <= 5
    assert caught.value.__notes__


@pytest.mark.parametrize(
    ("service", "sent"),
    [
        (Script(HANG), True),
        (TellingScript(HANG, connects=1), True),
        (TellingScript(HANG, connects=math.inf), False),
    ],
    ids=["cannot tell", "left", "connecting"],
)
async def test_the_deadline_says_whether_it_was_sent(connect: Connect, service: Script, sent: bool) -> None:
    """A request that may have left may take effect; one that was still connecting cannot."""
    client = connect(service, timeouts=cmsapi.Timeouts(deadline=5))
    with pytest.raises(errors.DeadlineError) as caught:
        await client.request("POST", "/v1/things")
    assert sent == caught.value.sent
    assert ("may have taken effect" in str(caught.value)) == sent
    assert caught.value.attempts == 1


async def test_an_earlier_doubt_is_not_forgotten_by_the_deadline(connect: Connect) -> None:
    """A lost first attempt keeps the outcome open, even if the second was still connecting."""
    service = TellingScript(LOST, HANG)

    async def connecting(request: cmsapi.Request, departing: Any) -> cmsapi.Response:
        if service.requests:
            await asyncio.Event().wait()
        departing()
        return await service.send(request)

    service.send_aware = connecting  # type: ignore[method-assign]
    client = connect(service, timeouts=cmsapi.Timeouts(deadline=9), limits=UNLIMITED)
    with pytest.raises(errors.DeadlineError) as caught:
        await client.request("DELETE", "/v1/contents/c_1")
    assert (caught.value.sent, caught.value.attempts) == (True, 2)
    assert len(caught.value.__notes__) == 1


async def test_the_request_timeout_is_one_attempt(connect: Connect) -> None:
    """Silence ends an attempt after `Timeouts.request`; a GET is repeated then."""
    service = Script(HANG, answer())
    began = asyncio.get_running_loop().time()
    await connect(service, timeouts=cmsapi.Timeouts(request=3), limits=UNLIMITED).me()
    assert 3.0 <= asyncio.get_running_loop().time() - began <= 3.5
    with pytest.raises(errors.NotSentError, match="No connection within 3 s"):
        await connect(
            TellingScript(HANG, connects=math.inf), timeouts=cmsapi.Timeouts(request=3), limits=UNLIMITED
        ).me()


# A permit is ended exactly once


@pytest.mark.parametrize("when", [0.0, 0.5, 1.5, 10.5, 11.2])
@pytest.mark.parametrize("tells", [True, False])
async def test_a_cancelled_call_leaves_no_permit_behind(connect: Connect, when: float, tells: bool) -> None:
    """Cancelled while waiting, connecting, under way or between attempts: nothing stays in flight after the cap."""
    make = TellingScript if tells else Script
    service = make(
        refusal(503, headers={"Retry-After": "3"}), answer(), takes=10.0, **{"connects": 1.0} if tells else {}
    )
    client = connect(service, limits=cmsapi.RateLimits(per_second=1))
    calls = [asyncio.create_task(client.me()) for _ in range(3)]
    await asyncio.sleep(when)
    for each in calls:
        each.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*calls, return_exceptions=True)
    )
    await asyncio.sleep(3.0)
    assert (client.rate_limit.in_flight, client.rate_limit.queued) == (0, 0)
    used = 1000 - (client.rate_limit.remaining or 0)
    assert used <= len(service.requests)
    await client.me()


async def test_what_was_never_sent_costs_nothing(connect: Connect) -> None:
    """Cancelling before the bytes leave gives the token back at once."""
    client = connect(TellingScript(answer(), connects=100.0))
    task = asyncio.create_task(client.me())
    await asyncio.sleep(50)
    assert client.rate_limit.in_flight == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (client.rate_limit.in_flight, client.rate_limit.remaining) == (0, 1000)


@pytest.mark.parametrize("raised", [ConnectionResetError, TimeoutError, asyncio.CancelledError])
async def test_what_fails_before_the_bytes_leave_is_repeated(connect: Connect, raised: type[BaseException]) -> None:
    """An error before a transport says that bytes may leave means that nothing was sent, whatever the request does."""

    class Unconnected(TellingScript):
        async def send_aware(self, request: cmsapi.Request, departing: Any) -> cmsapi.Response:
            if not self.times:
                self.times.append(0.0)
                raise raised
            return await super().send_aware(request, departing)

    service = Unconnected(answer())
    await connect(service).request("POST", "/v1/things")
    assert len(service.requests) == 1


async def test_an_error_of_the_transports_own_is_passed_on(connect: Connect) -> None:
    """A transport that raises what it should not is not hidden, and its permit ends like a lost one."""
    client = connect(Script(ZeroDivisionError("oops")))
    with pytest.raises(ZeroDivisionError):
        await client.me()
    await asyncio.sleep(3)
    assert (client.rate_limit.in_flight, client.rate_limit.remaining) == (0, 999)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda client: client.folders.delete("fld_1"), errors.OutcomeUnknownError),
        (lambda client: client.folders.list("wsp_1"), errors.NotSentError),
    ],
    ids=["a deletion", "a read"],
)
async def test_a_doubt_outlives_an_attempt_that_was_never_sent(connect: Connect, ask: Any, error: Any) -> None:
    """After a lost answer "nothing was sent" is true of the last attempt only, which counts for what changes things."""
    client = connect(Script(LOST, UNSENT), retry=cmsapi.RetryPolicy(max_attempts=3, base=0.1))
    with pytest.raises(error) as caught:
        await ask(client)
    assert (type(caught.value), caught.value.attempts) == (error, 3)
