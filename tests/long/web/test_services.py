"""Both services answer alike: submit and poll, fan-outs with events and callbacks, errors, disconnects, restarts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

import cmsapi
from cmsapi.sandbox import Credits, Fault, Faults, Fixed, Limits, Sandbox
from tests.long.web.serving import FRAMEWORKS, PER_HOUR, Callbacks, options, served, verified

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow, pytest.mark.parametrize("framework", FRAMEWORKS)]


class Service:
    """A sandbox, an example that serves it, and an HTTP client of that."""

    def __init__(self, framework: str, folder: Path, stack: AsyncExitStack) -> None:
        self._framework = framework
        self._folder = folder
        self._stack = stack
        self._server = AsyncExitStack()
        self.http: aiohttp.ClientSession
        self.box: Sandbox

    async def open(self, seconds: float = 1.0, *, rules: Iterable[Fault] = (), **more: Any) -> Service:
        """Serve a sandbox whose jobs take so many seconds."""
        credits_left = more.pop("credits", None)
        self.box = Sandbox(
            durations=Fixed(seconds),
            faults=Faults(rules=tuple(rules)),
            credits=credits_left,
            limits=Limits(per_hour=PER_HOUR),
        )
        await self._stack.enter_async_context(self.box)
        await self.start(**more)
        self._stack.push_async_callback(self.stop)
        return self

    async def start(self, **more: Any) -> None:
        """Start the server, again after a stop."""
        settings = options(self.box, self._folder, **more)
        address = await self._server.enter_async_context(served(self._framework, **settings))
        self.http = await self._stack.enter_async_context(aiohttp.ClientSession(address))

    async def stop(self) -> None:
        """Stop it as a service manager does, while its connections are open."""
        await self._server.aclose()

    async def get(self, path: str, status: int = 200) -> Any:
        """Return the document at a path."""
        async with self.http.get(path) as answer:
            assert answer.status == status, await answer.text()
            return await answer.json(content_type=None)

    async def submit(self, keyword_id: str) -> str:
        """Submit an analysis and return its path."""
        async with self.http.post("/analyses", json={"keyword_id": keyword_id}) as answer:
            assert answer.status == 202, await answer.text()
            document = await answer.json()
            assert document["phase"] == "running"
            assert answer.headers["Location"] == f"/analyses/{document['token']}"
            return answer.headers["Location"]

    async def begin(self, name: str, count: int = 5, status: int = 202, **more: Any) -> Any:
        """Start a fan-out."""
        body = {"keyword_ids": list(self.box.keyword_ids[:count]), **more}
        async with self.http.put(f"/fan-outs/{name}", json=body) as answer:
            assert answer.status == status, await answer.text()
            return await answer.json(content_type=None)

    async def events(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """Follow a fan-out."""
        async with self.http.get(f"/fan-outs/{name}/events") as answer:
            assert answer.content_type == "text/event-stream"
            async for line in answer.content:
                if line.startswith(b"data: "):
                    yield json.loads(line.removeprefix(b"data: "))

    async def finished(self, name: str) -> dict[str, Any]:
        """Return a fan-out once it has ended."""
        async with asyncio.timeout(30):
            states = [event["state"] async for event in self.events(name)]
        assert states[-1] == "finished"
        found: dict[str, Any] = await self.get(f"/fan-outs/{name}")
        return found

    def reads(self, keyword_id: str) -> int:
        """Count the polls of a keyword."""
        return len(self.box.ledger.filter(path=f"/v1/keywords/{keyword_id}"))


@pytest.fixture
async def service(framework: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service that is not open yet."""
    async with AsyncExitStack() as stack:
        yield Service(framework, tmp_path, stack)


async def test_an_analysis_is_submitted_and_asked_for(service: Service) -> None:
    """The token comes at once, twice the same for one keyword; the result can be waited for and read again for free."""
    await service.open(3600.0)
    (keyword_id, *_), box = service.box.keyword_ids, service.box
    path = await service.submit(keyword_id)
    assert await service.submit(keyword_id) == path
    running = await service.get(f"{path}?wait=0.2")
    assert (running["done"], running["phase"]) == (False, "running")
    box.finish(keyword_id)
    found = await service.get(f"{path}?wait=20")
    assert (found["done"], found["phase"]) == (True, "succeeded")
    assert found["result"]["analysisStatus"] == "success"
    assert len(box.ledger.launches()) == 1
    before = len(box.ledger)
    for _ in range(5):
        assert await service.get(path) == found
    assert len(box.ledger) == before


async def test_a_fan_out_runs_in_the_background(service: Service) -> None:
    """Its events count up to the end, its items have results, and the same request again launches nothing."""
    await service.open(1.0)
    assert (await service.begin("one"))["events"] == "/fan-outs/one/events"
    states = [(event["state"], event["progress"].get("finished", 0)) async for event in service.events("one")]
    assert states == sorted(states, key=lambda state: state[1])
    assert states[-1] == ("finished", 5)
    found = await service.finished("one")
    assert [item["id"] for item in found["items"]] == list(service.box.keyword_ids[:5])
    assert {item["result"]["analysisStatus"] for item in found["items"]} == {"success"}
    assert found["progress"]["credits"] == 5
    await service.begin("one")
    assert (await service.finished("one"))["items"] == found["items"]
    assert [row["name"] for row in await service.get("/fan-outs")] == ["one"]
    assert len(service.box.ledger.launches()) == 5
    assert (await service.begin("one", 6, 409))["status"] == 409


async def test_a_browser_that_goes_away_costs_nothing(service: Service) -> None:
    """A fan-out goes on without its browser; an analysis goes on, too, and is polled no more."""
    await service.open(3600.0)
    keyword_id, analysed = service.box.keyword_ids[10], service.box.keyword_ids[:5]
    path = await service.submit(keyword_id)
    with pytest.raises(TimeoutError):
        await service.http.get(f"{path}?wait=25", timeout=aiohttp.ClientTimeout(1.5))
    await asyncio.sleep(0.5)
    polls = service.reads(keyword_id)
    assert polls
    await service.begin("one")
    async for event in service.events("one"):
        if event["progress"].get("running") == 5:
            break
    await asyncio.sleep(1.5)
    assert service.reads(keyword_id) == polls
    for each in analysed:
        service.box.finish(each)
    assert (await service.finished("one"))["progress"]["finished"] == 5


async def test_a_restart_goes_on(service: Service) -> None:
    """A server that is stopped in the middle does not wait for its streams, and pays for nothing twice afterwards."""
    await service.open(3600.0)
    await service.begin("one", 8)
    async for event in service.events("one"):
        if event["progress"].get("running", 0) == 8:
            break
    streaming = asyncio.create_task(service.finished("one"))
    await asyncio.sleep(0.2)
    async with asyncio.timeout(20):
        await service.stop()
    await asyncio.gather(streaming, return_exceptions=True)
    await service.start()
    for keyword_id in service.box.keyword_ids[:8]:
        service.box.finish(keyword_id)
    found = await service.finished("one")
    assert {item["state"] for item in found["items"]} == {"finished"}
    assert len(service.box.ledger.launches()) == 8


async def test_a_fan_out_goes_on_when_there_are_credits_again(service: Service) -> None:
    """Items that were not launched say why, and the same request launches them later."""
    await service.open(0.5, credits=Credits(analysis=2))
    await service.begin("one", 4)
    found = await service.finished("one")
    refused = [item for item in found["items"] if item["state"] == "failed"]
    assert len(refused) == 2
    assert all("credits" in item["error"].lower() for item in refused)
    service.box.set_credits(analysis=10)
    await service.begin("one", 4)
    assert {item["state"] for item in (await service.finished("one"))["items"]} == {"finished"}
    assert len(service.box.ledger.launches()) == 4


async def test_errors_are_answered_in_http(service: Service) -> None:
    """Each error has the status that browsers and proxies know, and a document."""
    await service.open(credits=Credits(analysis=0))
    good, unknown = service.box.keyword_ids[0], {"keyword_id": "kwd_unknown"}
    assert (await service.get("/analyses/nonsense", 400))["error"] == "ArgumentError"
    assert (await service.get("/fan-outs/none", 404))["title"] == "Not Found"
    assert (await service.get("/fan-outs/none/events", 404))["status"] == 404
    for body, status in (({"keyword_id": good}, 402), (unknown, 404), ({}, 422)):
        async with service.http.post("/analyses", json=body) as answer:
            assert answer.status == status
    async with service.http.post("/analyses", data=b'{"keyword_id": "a"}') as answer:
        # Another site could send this without being asked for permission.
        assert answer.status in (415, 422)


async def test_a_used_up_hour_is_answered_at_once(service: Service) -> None:
    """A browser does not wait for the next hour: 429 says when to come again."""
    await service.open(limits=cmsapi.RateLimits(per_hour=4))
    for keyword_id in service.box.keyword_ids[:5]:
        async with service.http.post("/analyses", json={"keyword_id": keyword_id}) as answer:
            if answer.status == 429:
                assert int(answer.headers["Retry-After"]) > 60
                assert (await answer.json(content_type=None))["error"] == "RateLimitWaitError"
                break
            assert answer.status == 202
    else:
        pytest.fail("five analyses were launched with four requests")


async def test_a_failing_service_is_a_bad_gateway(service: Service) -> None:
    """What fails behind this service is not called a mistake of the browser."""
    await service.open(rules=[Fault(match="GET /v1/workspaces", status=503, times=None)])
    assert (await service.get("/keywords", 502))["error"] == "ServiceUnavailableError"


async def test_the_end_calls_back(service: Service, unused_tcp_port: int) -> None:
    """A receiver gets what it can verify, again after it failed; other hosts are not called."""
    secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
    got: list[tuple[bool, str, Any]] = []

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        valid = verified(secret, request.headers, body)
        got.append((valid, request.headers["webhook-id"], json.loads(body)))
        assert not verified(secret, request.headers, body + b" ")
        return web.Response(status=500 if len(got) == 1 else 204)

    receiver = web.Application()
    receiver.router.add_post("/done", receive)
    runner = web.AppRunner(receiver)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    try:
        await service.open(0.5, callbacks=Callbacks(secret, ["127.0.0.1"]))
        await service.begin("one", callback=f"http://127.0.0.1:{unused_tcp_port}/done")
        async with asyncio.timeout(20):
            while len(got) < 2:  # noqa: ASYNC110  a list has no event
                await asyncio.sleep(0.05)
        assert [valid for valid, _, _ in got] == [True, True]
        assert got[0][1] == got[1][1]
        assert got[0][2]["data"]["progress"]["finished"] == 5
        for url in ("https://example.com/", "ftp://127.0.0.1/", "http://127.0.0.1.example.com/"):
            await service.begin("two", status=422, callback=url)
    finally:
        await runner.cleanup()


async def test_the_page_and_its_keywords(service: Service) -> None:
    """The page comes from the service itself, and so do the keywords without an analysis, kept for a while."""
    await service.open()
    async with service.http.get("/") as answer:
        assert answer.content_type == "text/html"
    found = await service.get("/keywords")
    assert {each["id"] for each in found} == set(service.box.keyword_ids)
    before = len(service.box.ledger)
    assert await service.get("/keywords") == found
    assert len(service.box.ledger) == before
    await service.begin("one")
    assert not {each["id"] for each in await service.get("/keywords")}.intersection(service.box.keyword_ids[:5])
