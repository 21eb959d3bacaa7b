"""How clients end: in a crowd, by the garbage collector, in a child process, beside another one on a session."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import subprocess
import sys
import textwrap
import warnings
from collections import Counter

import aiohttp
import anyio
import pytest

import cmsapi
from cmsapi.sandbox import Faults, Fixed, Sandbox
from tests.support.raw import RawServer, http
from tests.support.script import KEY

pytestmark = pytest.mark.usefixtures("turning_loop")


@pytest.mark.looptime
async def test_closing_with_a_thousand_calls_in_flight() -> None:
    """Each call ends at once with a clear error: reads that they were ended, changes that they may have happened."""
    box = Sandbox(faults=Faults(latency=(50.0, 60.0)))
    client = cmsapi.Client(
        box.api_key,
        base_url=box.base_url,
        transport=box.transport,
        limits=cmsapi.RateLimits.unlimited(),
        timeouts=cmsapi.Timeouts(request=1000.0),
    )
    reads = [asyncio.create_task(client.me()) for _ in range(500)]
    changes = [asyncio.create_task(client.folders.create(box.workspace_id, "New")) for _ in range(300)]
    launches = [asyncio.create_task(client.prompts.analyze(f"prm_{number}")) for number in range(200)]
    await asyncio.sleep(10.0)
    began = asyncio.get_running_loop().time()
    await client.aclose()
    ended = await asyncio.gather(*reads, *changes, *launches, return_exceptions=True)
    assert asyncio.get_running_loop().time() == began
    assert Counter(type(error).__name__ for error in ended) == {
        "ClientClosedError": 500,
        "OutcomeUnknownError": 300,
        "LaunchUnknownError": 200,
    }
    assert asyncio.all_tasks() == {asyncio.current_task()}


class Closable:
    """Carry requests to a sandbox, and take a moment to close."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.send = sandbox.transport.send
        self.closed = False

    async def aclose(self) -> None:
        """Close."""
        await asyncio.sleep(1.0)
        self.closed = True


@pytest.mark.looptime
async def test_a_client_is_closed_whole_in_a_cancelled_scope() -> None:
    """A client that is left because an anyio scope is over closes its transport and leaves its jobs to the next one."""
    sandbox = Sandbox(durations=Fixed(30.0))
    transport = Closable(sandbox)
    with anyio.move_on_after(10.0):
        async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=transport) as client:
            job = await client.keywords.analyze(sandbox.keyword_ids[0])
            await job
    assert transport.closed
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        async with asyncio.timeout(60.0):
            assert (await client.keywords.analyze(sandbox.keyword_ids[0])).id == job.id
            await client.jobs.attach(job.token)
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.enable_socket
async def test_a_client_that_is_forgotten_warns() -> None:
    """Without a close, the garbage collection only warns: of the line that made the client, and how to close it."""
    heard: list[tuple[type[Warning], str, str, int]] = []
    unheard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context["message"]))

    async def use(url: str) -> None:
        client = cmsapi.Client(KEY, base_url=url)
        await client.request("GET", "/v1/me")

    async with RawServer(http()) as server:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            # Not recorded by `warnings` itself, which would hold on to the session.
            warnings.showwarning = lambda message, category, file, line, *_: heard.append(
                (category, str(message), file, line)
            )
            await use(server.url)
            gc.collect()
            await asyncio.sleep(0.05)
    assert {category for category, *_ in heard} == {ResourceWarning}
    assert KEY not in f"{heard} {unheard}"
    (told,) = [each for each in heard if "was not closed" in each[1]]
    _, first = inspect.getsourcelines(use)
    assert told[2:] == (__file__, first + 1)
    assert "Make it with `async with`, or end it with `aclose()`" in told[1]


@pytest.mark.looptime
async def test_a_client_that_was_never_sent_anything_is_forgotten_in_silence(sandbox: Sandbox) -> None:
    """What holds no connection needs no close."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url)
        gc.collect()


@pytest.mark.enable_socket
async def test_two_clients_on_one_session() -> None:
    """Closing one leaves the session to the other, and the session open."""
    async with RawServer(http()) as server, aiohttp.ClientSession() as session:
        first, second = (cmsapi.Client(KEY, base_url=server.url, session=session) for _ in range(2))
        await first.request("GET", "/v1/me")
        await first.aclose()
        with pytest.raises(cmsapi.ClientClosedError):
            await first.me()
        await second.request("GET", "/v1/me")
        await second.aclose()
        assert not session.closed
        assert len(server.requests) == 2


def ends_silently(program: str, code: int, *flags: str) -> None:
    """Run a program, which has to end with a code and to write nothing to standard error."""
    ended = subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},  # noqa: PTH109
    )
    assert (ended.returncode, ended.stderr) == (code, "")


@pytest.mark.slow
def test_a_forked_child_cannot_use_its_parents_client() -> None:
    """After a fork the child is told that the client belongs to another loop, and the parent's goes on."""
    program = """
        import asyncio, os, sys
        import cmsapi
        from cmsapi.sandbox import Sandbox

        box = Sandbox()
        client = cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport)

        async def child():
            try:
                await client.me()
            except cmsapi.ClientClosedError as error:
                return 0 if "another event loop; nothing was sent" in str(error) else 2
            return 1

        with asyncio.Runner() as runner:
            runner.run(client.me())
            pid = os.fork()
            if not pid:
                # The parent's loop is no running one here.
                asyncio.events._set_running_loop(None)
                os._exit(asyncio.run(child()))
            _, status = os.waitpid(pid, 0)
            runner.run(client.me())
            runner.run(client.aclose())
        sys.exit(os.waitstatus_to_exitcode(status) or (0 if len(box.ledger) == 2 else 3))
    """
    ends_silently(program, 0, "-W", "error")


@pytest.mark.slow
def test_a_process_may_end_while_jobs_are_waited_for() -> None:
    """Leaving by an error of the caller's own ends all waiting and looking, and says nothing of its own."""
    program = """
        import asyncio
        import cmsapi
        from cmsapi.sandbox import Sandbox

        async def main():
            box = Sandbox()
            async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
                first, *others = [await client.keywords.analyze(id_) for id_ in box.keyword_ids[:3]]
                for job in others:
                    job.on(object, print)
                try:
                    await first.wait(timeout=0.1)
                except TimeoutError:
                    raise SystemExit(7)

        asyncio.run(main())
    """
    ends_silently(program, 7)
