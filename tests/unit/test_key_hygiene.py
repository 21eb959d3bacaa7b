"""The key is nowhere: a day of successes and failures, with everything switched on that shows something."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import aiohttp
import anyio
import attrs
import pytest

import cmsapi
from cmsapi.observability.log import StderrHandler
from cmsapi.sandbox import Fault, FaultProxy, Fixed, Limits, Sandbox
from tests.support.raw import DROP, SILENCE, RawServer, Say, http

pytestmark = pytest.mark.enable_socket

FAST = cmsapi.RetryPolicy(max_attempts=2, base=0.001, cap=0.001)


@attrs.define
class ResponseObserver:
    """Collect everything that a user may be shown."""

    shown: list[str] = attrs.field(factory=list)
    locals: bool = True

    def note(self, *things: object) -> None:
        """Take the representations of some things."""
        for thing in things:
            self.shown += (repr(thing), str(thing))

    def caught(self, error: BaseException) -> None:
        """Take all of an error: words, attributes, pickle, copy, and its traceback with the locals of each frame."""
        told = traceback.TracebackException.from_exception(error, capture_locals=self.locals)
        self.shown.append("".join(told.format()))
        self.note(error, vars(error), getattr(error, "__notes__", ()))
        if isinstance(error, cmsapi.CMSError):
            self.shown.append(pickle.dumps(error).decode("latin-1"))
            self.note(copy.copy(error), pickle.loads(pickle.dumps(error)))  # noqa: S301  our own

    async def see(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """Take what a call gives or raises."""
        try:
            self.note(await ask())
        except Exception as error:
            self.caught(error)


class Lines(logging.Handler):
    """Take log records with all that they carry."""

    def __init__(self, observer: ResponseObserver) -> None:
        super().__init__(logging.DEBUG)
        self.observer = observer

    def emit(self, record: logging.LogRecord) -> None:
        """Take one."""
        self.observer.note(record.getMessage(), record.args)
        self.observer.shown.append(self.format(record))
        if record.exc_info and record.exc_info[1] is not None:
            self.observer.caught(record.exc_info[1])


@pytest.fixture
def observer() -> Iterator[ResponseObserver]:
    """Listen to all loggers at DEBUG, and to warnings."""
    observer = ResponseObserver()
    root, handler = logging.getLogger(), Lines(observer)
    levels = {name: logging.getLogger(name).level for name in ("", "cmsapi", "asyncio", "aiohttp")}
    root.addHandler(handler)
    for name in levels:
        logging.getLogger(name).setLevel(logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield observer
        observer.note(*warned)
    root.removeHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def client_of(key: str, url: str, observer: ResponseObserver, **options: Any) -> cmsapi.Client:
    """Make a client that tells everything it can."""
    options.setdefault("retry", FAST)
    options.setdefault("launch", cmsapi.LaunchPolicy(settle=0.05))
    options.setdefault("limits", cmsapi.RateLimits.unlimited())
    return cmsapi.Client(key, base_url=url, hooks=[observer.note], **options)


async def test_a_day_at_the_service(observer: ResponseObserver) -> None:
    """Successes, refusals, jobs that end well and badly, and a key that is revoked."""
    async with (
        Sandbox(durations=Fixed(0.2), limits=Limits.unlimited()) as box,
        client_of(
            box.api_key, box.base_url, observer, polling=cmsapi.PollPolicy(min_interval=0.1, max_interval=0.1)
        ) as client,
    ):
        box.set_outcome(box.keyword_ids[1], "failed")
        job = await client.keywords.analyze(box.keyword_ids[0])
        for ask in (
            client.me,
            lambda: client.contents.get("cnt_unknown"),
            lambda: client.contents.get("../me"),
            lambda: client.contents.create(box.workspace_id, ""),
            lambda: client.contents.create(box.workspace_id, "T", folder_id="fld_unknown"),
            lambda: client.request("POST", "https://elsewhere.example/"),
            lambda: job.wait(),
            lambda: _ended(client, box.keyword_ids[1]),
            lambda: client.jobs.watch("generation", box.content_ids[0]).refresh(),
        ):
            await observer.see(ask)
        observer.note(client, client.statistics, client.rate_limit, job, job.token, job.status, box, box.ledger[:])
        box.revoke(box.api_key)
        await observer.see(client.me)
    await observer.see(client.me)
    _nowhere(box.api_key, observer)


async def _ended(client: cmsapi.Client, keyword_id: str) -> Any:
    return await (await client.keywords.analyze(keyword_id))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(drop=True, times=None),
        Fault(drop=True, when="within", times=None),
        Fault(status=500, when="after", times=None),
        Fault(status=429, times=None),
        Fault(spoil="garbage", times=None),
        Fault(spoil="truncated", times=None),
        Fault(spoil="html", times=None),
        Fault(spoil="nested", times=None),
        Fault(slow=60.0, times=None),
    ],
    ids=lambda fault: fault.kind,
)
@pytest.mark.parametrize(
    "timeouts",
    [cmsapi.Timeouts(request=0.1, deadline=0.3), cmsapi.Timeouts(request=1.0, deadline=0.1)],
    ids=["", "deadline"],
)
async def test_a_bad_day(observer: ResponseObserver, fault: Fault, timeouts: cmsapi.Timeouts) -> None:
    """Every way in which an answer can fail, of a read, a change and a launch."""
    async with (
        Sandbox() as box,
        FaultProxy(box.base_url, fault) as proxy,
        client_of(box.api_key, proxy.base_url, observer, timeouts=timeouts) as client,
    ):
        for ask in (
            client.me,
            lambda: client.folders.create(box.workspace_id, "New"),
            lambda: client.keywords.analyze(box.keyword_ids[0]),
        ):
            await observer.see(ask)
    _nowhere(box.api_key, observer)


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "401 Unauthorized", "500 Oops"])
async def test_a_service_that_repeats_the_key(observer: ResponseObserver, status: str) -> None:
    """What is repeated in an answer, as by debugging servers and pages of proxies, is masked."""
    # The frames that read an answer hold the answer.
    observer.locals = False
    key = "sk_repeated_0123456789abcdef"
    echo = http(f'{{"id": 7, "said": "Bearer {key}", "{key}": "{key}"}}'.encode(), status, "Location: http://x/")
    async with RawServer(echo) as server, client_of(key, server.url, observer) as client:
        await observer.see(client.me)
        await observer.see(lambda: client.keywords.analyze("kw_1"))
    _nowhere(key, observer)


@pytest.mark.parametrize("say", [DROP, SILENCE, Say(b"HTTP/1.1 abc\r\n\r\n", "close")], ids=["drop", "silence", "junk"])
async def test_closing_and_cancelling(observer: ResponseObserver, say: Say) -> None:
    """Calls that are cancelled, and calls that closing ends."""
    key = "sk_closing_0123456789abcdef"
    async with RawServer(say) as server:
        client = client_of(key, server.url, observer)
        calls = [asyncio.create_task(client.me()) for _ in range(3)]
        await asyncio.sleep(0.05)
        calls[0].cancel()
        await client.aclose()
        for error in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(error, BaseException)
            observer.caught(error)
    _nowhere(key, observer)


async def _timeout(call: Awaitable[Any]) -> None:
    async with asyncio.timeout(0.05):
        await call


async def _fail_after(call: Awaitable[Any]) -> None:
    with anyio.fail_after(0.05):
        await call


async def _wait_for(call: Awaitable[Any]) -> None:
    await asyncio.wait_for(call, 0.05)


async def _cancel(call: Awaitable[Any]) -> None:
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0.05)
    task.cancel()
    await task


@pytest.mark.parametrize("give_up", [_timeout, _fail_after, _wait_for, _cancel])
@pytest.mark.parametrize("own", [True, False], ids=["own session", "given session"])
@pytest.mark.parametrize("say", [SILENCE, Say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "silent")])
async def test_who_gives_up_on_a_call(
    observer: ResponseObserver, give_up: Callable[[Awaitable[Any]], Awaitable[None]], own: bool, say: Say
) -> None:
    """A call that waits for its answer is cut short in every way that there is, and its traceback shows no key."""
    key = "sk_giving_up_0123456789abcdef"
    async with (
        RawServer(say) as server,
        aiohttp.ClientSession() as session,
        client_of(key, server.url, observer, **({} if own else {"session": session})) as client,
    ):
        for call in (client.me, lambda: client.keywords.analyze("kw_1")):
            await _see_given_up(observer, give_up(call()))
    _nowhere(key, observer)


async def _see_given_up(observer: ResponseObserver, call: Awaitable[None]) -> None:
    try:
        await call
    except (TimeoutError, asyncio.CancelledError) as error:
        observer.caught(error)


async def test_without_hooks(observer: ResponseObserver) -> None:
    """A connection that is refused, and settings that are wrong."""
    key = "sk_refused_0123456789abcdef"
    async with RawServer() as server:
        url = server.url
    async with client_of(key, url, observer) as client:
        await observer.see(client.me)
    for options in ({"base_url": "http://elsewhere.example"}, {"base_url": url, "ssl": False}, {"base_url": "ftp://x"}):
        with pytest.raises(cmsapi.ConfigError) as caught:
            cmsapi.Client(key, **options)
        observer.note(caught.value)
    _nowhere(key, observer)


@attrs.define
class Clumsy:
    """Carry requests, and quote the key in the errors of some."""

    box: Sandbox
    errors: list[Exception]

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Fail with the next error, or have the request answered by a service that repeats the key."""
        if self.errors:
            raise self.errors.pop(0)
        answer = await self.box.transport.send(request)
        return cmsapi.Response(answer.status, {**answer.headers, "X-Request-Id": f"of {self.box.api_key}"}, answer.body)


@pytest.fixture
def at_debug(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Show the log at its lowest level on standard error, as `CMSAPI_LOG=debug` does."""
    logger = logging.getLogger("cmsapi")
    level = logger.level
    monkeypatch.setenv("CMSAPI_LOG", "debug")
    yield
    logger.setLevel(level)
    for handler in [handler for handler in logger.handlers if isinstance(handler, StderrHandler)]:
        logger.removeHandler(handler)


async def test_the_log_of_a_whole_day(
    at_debug: None, capsys: pytest.CaptureFixture[str], observer: ResponseObserver
) -> None:
    """No line and no event has the key, although a header, a proxy, a transport and the service repeat it."""
    box = Sandbox(durations=Fixed(0.2), limits=Limits.unlimited())
    key = box.api_key
    polling = cmsapi.PollPolicy(min_interval=0.1, max_interval=0.1)
    heard: list[cmsapi.Event] = []

    def note(event: cmsapi.Event) -> None:
        heard.append(event)
        if event.name == "cmsapi.job.released":
            raise RuntimeError(f"a hook that quotes {key}")

    def client_with(**options: Any) -> cmsapi.Client:
        return cmsapi.Client(
            key,
            base_url=box.base_url,
            retry=FAST,
            polling=polling,
            launch=cmsapi.LaunchPolicy(settle=0.05),
            limits=cmsapi.RateLimits.unlimited(),
            hooks=[note],
            headers={"X-Debug": f"Bearer {key}", "X-Api-Key": key},
            **options,
        )

    said = f"the request with {key} cannot be sent"
    errors: list[Exception] = [cmsapi.NotSentError(said)]
    transport = Clumsy(box, errors)
    async with client_with(transport=transport) as client:
        await client.me()
        errors += [ConnectionError(said)]
        await client.me()
        job = await client.keywords.analyze(box.keyword_ids[0])
        errors += [RuntimeError(said)]
        await observer.see(job.wait)
        errors += [cmsapi.NotSentError(said), ConnectionError(said)]
        await job
        errors += [ConnectionError(said)] * 2
        observer.locals = False
        await observer.see(lambda: client.contents.create(box.workspace_id, "T"))
        errors += [cmsapi.OutcomeUnknownError(said)]
        await observer.see(lambda: client.keywords.analyze(box.keyword_ids[1]))
        await observer.see(lambda: client.request("GET", f"/v1/{key}", headers={"X-More": key}))
    async with RawServer(DROP) as server:
        proxy = server.url.replace("http://", f"http://user:{key}@")
    async with cmsapi.Client(key, base_url="https://cms.example", proxy=proxy, retry=FAST, hooks=[note]) as client:
        await observer.see(client.me)
    shown = capsys.readouterr().err
    for word in (
        "request.finished",
        "retry.scheduled",
        "job.observed",
        "launch.lost",
        "launch.settled",
        "call.started",
    ):
        assert f" cmsapi {word} " in shown, word
    assert "went wrong" in shown
    assert "RuntimeError: a hook that quotes sk_***" in shown
    assert key[3:15] not in shown
    assert key[3:15] not in repr(heard)


def _nowhere(key: str, observer: ResponseObserver) -> None:
    assert len(observer.shown) > 10
    places = [text for text in observer.shown if key in text or key[3:15] in text]
    for place in places[:1]:
        at = place.find(key[3:15])
        # Cut, so that a test that fails shows where and not what.
        pytest.fail(f"the key is shown after: {place[max(0, at - 400) : at]}")
