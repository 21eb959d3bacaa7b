"""The client's life: opened, shared, used wrongly, closed; and what it refuses to send."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import weakref
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, strategies as st

import cmsapi
from cmsapi import errors
from cmsapi.sandbox import Sandbox
from tests.support.script import HANG, LOST, ME, Script, TellingScript, answer, refusal

pytestmark = pytest.mark.looptime

URL = "https://life.example.com"
UNLIMITED = cmsapi.RateLimits.unlimited()


def client_of(service: Any, **options: Any) -> cmsapi.Client:
    """Give a client of a scripted service."""
    return cmsapi.Client("sk_test_0123456789", base_url=URL, transport=service, **options)


# Life


async def test_it_works_without_async_with() -> None:
    """A notebook makes a client, uses it over several cells, and closes it when it likes."""
    service = Script(answer())
    client = client_of(service)
    assert "not used yet" in repr(client)
    assert (await client.me()).id == "usr_1"
    assert repr(client) == f"<cmsapi.Client at {URL}, open>"
    await client.aclose()
    assert (service.closed, "closed" in repr(client)) == (1, True)


async def test_after_closing_nothing_is_sent() -> None:
    """A closed client says so, whatever is asked of it; closing again changes nothing."""
    service = Script(answer())
    client = client_of(service)
    copy = client.with_options(retry=cmsapi.RetryPolicy(max_attempts=1))
    async with client:
        await client.me()
    await client.aclose()
    await copy.aclose()
    for use in (client.me, copy.me, lambda: client.request("GET", "/v1/me"), lambda: client.keywords.analyze("kw_1")):
        with pytest.raises(errors.ClientClosedError, match="closed; nothing was sent"):
            await use()
    with pytest.raises(errors.ClientClosedError):
        _ = client.rate_limit
    with pytest.raises(errors.ClientClosedError):
        async with client:
            pass
    assert (len(service.requests), service.closed, client.statistics.requests) == (1, 1, 1)


def test_a_client_belongs_to_one_loop() -> None:
    """Used or closed from a second loop it says so; once its own loop is gone it can be put away."""
    service = Script(answer())
    client = client_of(service)
    with asyncio.Runner() as first:
        first.run(client.me())
        with asyncio.Runner() as second:
            with pytest.raises(errors.ClientClosedError, match="another event loop; nothing was sent"):
                second.run(client.me())
            with pytest.raises(errors.ClientClosedError, match="close it there"):
                second.run(client.aclose())
    asyncio.run(client.aclose())
    with pytest.raises(errors.ClientClosedError):
        asyncio.run(client.me())
    assert len(service.requests) == 1


async def test_a_client_that_was_never_used_can_be_closed() -> None:
    """Closing needs no first call."""
    service = Script(answer())
    await client_of(service).aclose()
    assert service.closed == 1


@pytest.mark.parametrize("tells", [True, False])
async def test_closing_during_what_cannot_be_repeated_leaves_it_unknown(tells: bool) -> None:
    """A POST under way may have taken effect when the client closes, and its caller is told so."""
    service = (TellingScript if tells else Script)(HANG)
    client = client_of(service)
    creating = asyncio.create_task(client.request("POST", "/v1/things"))
    reading = asyncio.create_task(client_of(Script(HANG), limits=UNLIMITED).me())
    await asyncio.sleep(1)
    await client.aclose()
    with pytest.raises(errors.OutcomeUnknownError, match="may have taken effect"):
        await creating
    assert not reading.done()
    reading.cancel()


async def test_a_deadline_beside_the_closing() -> None:
    """Closing at the very moment of the deadline ends the call once."""
    client = client_of(Script(HANG), timeouts=cmsapi.Timeouts(deadline=5))
    call = asyncio.create_task(client.me())
    await asyncio.sleep(5)
    await client.aclose()
    with pytest.raises((errors.DeadlineError, errors.ClientClosedError)):
        await call


async def test_a_cancelled_caller_is_cancelled_and_not_told_of_a_closing() -> None:
    """Cancelling and closing at once is a cancellation."""
    client = client_of(Script(HANG))
    call = asyncio.create_task(client.me())
    await asyncio.sleep(1)
    call.cancel()
    await client.aclose()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_the_transport_is_closed_whatever_else_fails() -> None:
    """An error or a cancellation while closing does not leave connections open."""
    service = Script(HANG)

    async def stubborn(request: cmsapi.Request) -> cmsapi.Response:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)
        raise AssertionError

    service.send = stubborn  # type: ignore[method-assign]
    client = client_of(service)
    call = asyncio.create_task(client.me())
    await asyncio.sleep(1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await client.aclose()
    assert service.closed == 1
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


async def test_a_transport_need_not_be_closable() -> None:
    """A transport of one method is enough."""

    class Plain:
        """Answer always the same."""

        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            """Answer."""
            return answer()

    async with client_of(Plain()) as client:
        assert (await client.me()).id == "usr_1"


# Copies


async def test_copies_share_limits_connections_and_counts() -> None:
    """`with_options` changes settings and nothing else; of the limits the stricter counts hold for both."""
    service = Script(answer())
    async with client_of(service) as client:
        copy = client.with_options(limits=cmsapi.RateLimits(per_hour=10, max_wait=0))
        await client.me()
        await copy.me()
        assert (client.rate_limit.limit, copy.rate_limit.remaining) == (10, 8)
        assert client.statistics == copy.statistics
        assert client.statistics.requests == 2
        for _ in range(8):
            await copy.me()
        with pytest.raises(errors.RateLimitWaitError):
            await copy.me()
        with pytest.raises(errors.ConfigError, match="`retry` must be"):
            client.with_options(retry=5)  # type: ignore[arg-type]


async def test_a_copy_for_one_call_leaves_nothing_behind() -> None:
    """Settings for a single call do not pile up in the client."""
    async with client_of(Script(answer())) as client:
        copies = []
        copy = client
        for _ in range(5):
            copy = client.with_options(timeouts=cmsapi.Timeouts(deadline=5))
            await copy.me()
            copies.append(weakref.ref(copy.jobs))
        copy = client
        gc.collect()
        assert [copy() for copy in copies] == [None] * 5


# Telling


async def test_statistics_count() -> None:
    """Requests, answers, repeats and 429s are counted, and kept after closing."""
    service = Script(answer(), LOST, refusal(429, "rate_limited"), refusal(503), answer())
    async with client_of(service) as client:
        for _ in range(2):
            await client.me()
    shown = client.statistics
    assert (shown.requests, shown.answered, shown.retries, shown.rate_limited) == (5, 4, 3, 1)
    assert (shown.polls, shown.poll_failures) == (0, 0)


async def test_looks_at_jobs_are_counted(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Polls are requests too, and those that failed are told apart."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    await job.refresh()
    sandbox.forget(sandbox.keyword_ids[0])
    with pytest.raises(errors.NotFoundError):
        await job.refresh()
    assert (client.statistics.polls, client.statistics.poll_failures, client.statistics.requests) == (2, 1, 4)


async def test_a_hook_that_raises_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Telling must not break doing: the error is logged, and the next hook hears the event."""
    heard: list[cmsapi.Event] = []

    def broken(event: cmsapi.Event) -> None:
        raise ZeroDivisionError

    async with client_of(Script(refusal(503), answer()), hooks=[broken, heard.append]) as client:
        assert (await client.me()).id == "usr_1"
    assert [type(event).__name__ for event in heard] == [
        "CallStarted",
        "RequestStarted",
        "RequestFinished",
        "RetryScheduled",
        "RequestStarted",
        "RequestFinished",
        "CallFinished",
    ]
    assert caplog.records[0].message == "A hook failed on CallStarted."


async def test_events_tell_what_happened_without_secrets() -> None:
    """An event has operation, method, path template, attempt, status and times, and no identifier, query or key."""
    heard: list[cmsapi.Event] = []
    service = TellingScript(refusal(503), LOST, answer(200, {"id": "c_1"}), takes=2.0, connects=1.0)
    async with client_of(service, hooks=[heard.append], limits=UNLIMITED) as client:
        await client.contents.get("secret-id")
    finished = [event for event in heard if isinstance(event, cmsapi.RequestFinished)]
    assert [(each.attempt, each.status, each.error) for each in finished] == [
        (1, 503, None),
        (2, None, "OutcomeUnknownError"),
        (3, 200, None),
    ]
    assert {(each.operation, each.method, each.path) for each in finished} == {
        ("get_content", "GET", "/v1/contents/{contentId}")
    }
    assert [each.duration for each in finished] == pytest.approx([3.0] * 3)
    assert {each.waited for each in finished} == {0.0}
    assert [each.reason.partition(":")[0] for each in heard if isinstance(each, cmsapi.RetryScheduled)] == [
        "503 internal_error",
        "OutcomeUnknownError",
    ]
    assert "secret-id" not in repr(heard)


async def test_events_are_logged_by_importance(caplog: pytest.LogCaptureFixture) -> None:
    """Requests, pauses and retries are information, long waits are warnings, and the rest is for debugging."""
    caplog.set_level(logging.DEBUG, "cmsapi")
    service = Script(answer(), refusal(429, "rate_limited"), answer())
    async with client_of(service, limits=cmsapi.RateLimits(per_hour=3)) as client:
        await client.me()
        await client.me()
        await client.me()
    levels = {record.getMessage().partition(" ")[0]: record.levelname for record in caplog.records}
    assert levels == {
        "call.started": "DEBUG",
        "request.started": "DEBUG",
        "request.finished": "INFO",
        "call.finished": "DEBUG",
        "rate_limit.paused": "INFO",
        "retry.scheduled": "INFO",
        "quota.wait": "WARNING",
    }
    (wait,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert re.fullmatch(
        r'quota\.wait operation=get_me expected=360\d\S* window=hour reason="3 of 3 requests of the hour are used"',
        wait,
    )


async def test_the_services_clock_is_learned() -> None:
    """`Date` is taken once per second; without it, or with nonsense, there is no clock."""
    sandbox = Sandbox()
    async with cmsapi.Client(
        sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, limits=UNLIMITED
    ) as client:
        await client.me()
        await client.me()
        assert client.statistics.requests == 2
    for said in ("", "yesterday"):
        async with client_of(Script(answer(200, ME, {"Date": said} if said else {})), limits=UNLIMITED) as client:
            await client.me()


# What is refused before it is sent

BAD_IDS = [
    ("", "1 to 1000 characters, got 0"),
    (".", "dot segment"),
    ("..", "dot segment"),
    ("\ud800", "surrogate"),
    ("x" * 1_000_000, "1 to 1000 characters, got 1000000"),
    (7, "must be a string"),
    (None, "must be a string"),
    (b"kw_1", "must be a string"),
]


@pytest.mark.parametrize(("value", "match"), BAD_IDS, ids=lambda value: repr(value)[:20])
async def test_identifiers_that_mean_another_path_never_reach_the_wire(value: Any, match: str) -> None:
    """An identifier that is empty, a dot segment or no text is refused with the parameter's name."""
    service = Script(answer())
    async with client_of(service) as client:
        for use, parameter in (
            (client.contents.get, "content_id"),
            (client.contents.delete, "content_id"),
            (client.workspaces.get, "workspace_id"),
            (client.knowledge_documents.get, "knowledge_document_id"),
        ):
            with pytest.raises(errors.ArgumentError, match=match) as caught:
                await use(value)
            assert caught.value.parameter == parameter
            assert len(str(caught.value)) < 300
    assert service.requests == []


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
@example("../me")
@example("a b/c%2Fd?e#f\\g\r\n\0")
@example("%2e%2e")
async def test_other_identifiers_are_encoded(value: str) -> None:
    """Whatever else an identifier holds stays one segment of the path."""
    if value in (".", ".."):
        return
    service = Script(answer(200, {"id": "c_1"}))
    async with client_of(service, limits=UNLIMITED) as client:
        await client.contents.get(value)
    assert service.requests[0].url == f"{URL}/v1/contents/{quote(value, safe='')}"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "v1/me",
        "https://evil.example.com/v1/me",
        "//evil.example.com/v1/me",
        "/\\evil.example.com",
        "/",
        "/v1//me",
        "/v1/me/",
        "/v1/../../admin",
        "/v1/./me",
        "/v1/%2e%2e/me",
        "/v1/%2e/me",
        "/v1/100%/me",
        "/v1/%ff/me",
        "/v1/a b",
        "/v1/me?x=1",
        "/v1/me#x",
        "/v1/me\r\nX-Evil: 1",
        "/v1/" + "x" * 10_000,
        "/\ud800",
        None,
        7,
    ],
    ids=lambda path: repr(path)[:24],
)
async def test_a_free_request_stays_at_the_service(path: Any) -> None:
    """The key goes with every request, so that its path is a plain one below the base URL."""
    service = Script(answer())
    async with client_of(service) as client:
        with pytest.raises(errors.ArgumentError) as caught:
            await client.request("GET", path)
    assert (caught.value.parameter, service.requests) == ("path", [])


async def test_a_free_request_takes_encoded_identifiers() -> None:
    """A segment that is percent-encoded is sent as one, and plain paths as they are."""
    service = Script(answer(), answer())
    async with client_of(service) as client:
        await client.request("GET", f"/v1/keywords/{quote('a b/c%', safe='')}")
        await client.request("GET", "/v1/me")
    assert [request.url for request in service.requests] == [f"{URL}/v1/keywords/a%20b%2Fc%25", f"{URL}/v1/me"]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "", "GET /", "get me", None, 7, []])
async def test_a_free_request_has_a_known_method(method: Any) -> None:
    """A method is one of five."""
    service = Script(answer())
    async with client_of(service) as client:
        with pytest.raises(
            errors.ArgumentError, match="`method` must be one of 'GET', 'PUT', 'DELETE', 'PATCH', 'POST'"
        ):
            await client.request(method, "/v1/me")
    assert service.requests == []


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": object()}, {"a": {1, 2}}, b"bytes", {"a": "\ud800"}])
async def test_a_body_that_is_no_json_is_refused(body: Any) -> None:
    """What JSON cannot say is an argument error."""
    service = Script(answer())
    async with client_of(service) as client:
        with pytest.raises(errors.ArgumentError) as caught:
            await client.request("POST", "/v1/things", json=body)
    assert (caught.value.parameter, service.requests) == ("json", [])


async def test_a_free_request_gives_the_document() -> None:
    """Method, query and body go as given, None is left out, sequences are repeated, and the document comes back."""
    service = Script(answer(200, {"ok": True}), cmsapi.Response(204))
    async with client_of(service) as client:
        params = {"a": ["x y", "y/z"], "b": True, "c": None, "d": False, "e": 1.5}
        assert await client.request("post", "/v1/things", params=params, json=[1]) == {"ok": True}
        assert await client.request("PUT", "/v1/things", params={"a": None}) is None
        with pytest.raises(errors.ArgumentError) as caught:
            await client.request("GET", "/v1/things", params={"q": "\ud800"})
    first, second = service.requests
    assert first.url == f"{URL}/v1/things?a%5B%5D=x%20y&a%5B%5D=y%2Fz&b=true&d=false&e=1.5"
    assert (first.method, first.body, second.body, second.url) == ("POST", b"[1]", None, f"{URL}/v1/things")
    assert caught.value.parameter == "q"


async def test_a_query_may_be_pairs() -> None:
    """A list of pairs may repeat a name, and keeps its order."""
    service = Script(answer())
    async with client_of(service) as client:
        await client.request("GET", "/v1/things", params=[("b", 1), ("a", "x"), ("b", 2), ("c", None), ("d", (3, 4))])
    assert service.requests[0].url == f"{URL}/v1/things?b=1&a=x&b=2&d%5B%5D=3&d%5B%5D=4"


@pytest.mark.parametrize(
    ("params", "parameter"),
    [
        ("a=b", "params"),
        (b"a=b", "params"),
        (7, "params"),
        (["a"], "params"),
        (["ab"], "params"),
        ([("a", 1, 2)], "params"),
        ({"a", "b"}, "params"),
        ({7: "a"}, "params"),
        ({"\ud800": "a"}, "params"),
        ([(None, "a")], "params"),
        ({"a": b"x"}, "a"),
        ({"a": {"x": 1}}, "a"),
        ({"a": object()}, "a"),
        ({"a": ["x", None]}, "a"),
        ({"a": ["\ud800"]}, "a"),
        ({"a": 10**5000}, "a"),
    ],
    ids=lambda value: ascii(value)[:24] if isinstance(value, str) else type(value).__name__,
)
async def test_a_query_that_is_none_is_refused(params: Any, parameter: str) -> None:
    """What is no query is refused by name, and nothing is sent."""
    service = Script(answer())
    async with client_of(service) as client:
        with pytest.raises(errors.ArgumentError) as caught:
            await client.request("GET", "/v1/things", params=params)
    assert (caught.value.parameter, service.requests) == (parameter, [])


@pytest.mark.looptime
async def test_copies_do_not_pay_twice(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A launch through a copy joins the job that the client has launched."""
    copy = client.with_options(timeouts=cmsapi.Timeouts(request=5))
    first = await client.keywords.analyze(sandbox.keyword_ids[0])
    second = await copy.keywords.analyze(sandbox.keyword_ids[0])

    assert first is second
    assert len(sandbox.ledger.launches(sandbox.keyword_ids[0])) == 1
    assert (await second).analysis_status == "success"


async def test_a_copy_of_a_subclass_keeps_what_the_subclass_added() -> None:
    """`with_options` copies the client, whatever class it has."""

    class Tagged(cmsapi.Client):
        def __init__(self, tag: str) -> None:
            super().__init__("sk_tagged", base_url="https://api.example.com", transport=Script(answer()))
            self.tag = tag

    async with Tagged("blue") as client:
        copy = client.with_options(retry=cmsapi.RetryPolicy(max_attempts=1))
        assert (type(copy), copy.tag, copy.contents is client.contents) == (Tagged, "blue", False)
