"""The thread of a blocking client: many callers, Ctrl-C, forks, event loops and the end of the process."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import cmsapi
import cmsapi.blocking
from cmsapi.observability.events import CallStarted
from cmsapi.sandbox import Sandbox
from tests.support.postgres import Postgres

HURRIED = cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1)


@pytest.fixture
def box() -> Sandbox:
    """A service whose jobs take long, unless a test ends them."""
    return Sandbox(durations=1000)


@pytest.fixture
def client(box: Sandbox) -> Iterator[cmsapi.blocking.Client]:
    """A client of it that polls often."""
    with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport, polling=HURRIED) as client:
        yield client


def test_threads_share_a_client_and_its_limiter(box: Sandbox) -> None:
    """Eight threads that begin at once make one thread of a loop, stay inside the limits, and join one job."""
    before = set(threading.enumerate())
    with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        start = threading.Barrier(8)

        def work(_: int) -> Any:
            start.wait()
            return client.me(), client.keywords.analyze(box.keyword_ids[0])

        with ThreadPoolExecutor(8) as pool:
            jobs = [job for _, job in pool.map(work, range(8))]
            assert len(set(threading.enumerate()) - before) == 9
        assert set(jobs) == {jobs[0]}
        assert client.statistics.requests >= 9
    assert len(box.ledger.launches()) == 1
    assert {entry.status for entry in box.ledger if entry.status == 429} == set()
    assert set(threading.enumerate()) <= before


def test_a_client_that_is_forgotten_warns(box: Sandbox) -> None:
    """The warning names the line that made it; a client that was closed or never used, and a copy, are silent."""

    def made() -> cmsapi.blocking.Client:
        return cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with made() as used:
            used.with_options(headers={"x-tried": "1"}).me()
            gc.collect()
        made()
        gc.collect()
    forgotten = [made()]
    forgotten[0].me()
    thread = forgotten[0].thread
    with pytest.warns(ResourceWarning, match="Make it with `with`, or end it with `close\\(\\)`") as told:
        forgotten.clear()
    thread.close()
    (warning,) = told
    _, first = inspect.getsourcelines(made)
    assert (warning.filename, warning.lineno) == (__file__, first + 1)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as a person's shell leaves it: programs that a script starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_waiting_and_loses_no_job(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """The waiter is gone at once, its polls end, and the job can be waited for again."""
    job = client.keywords.analyze(box.keyword_ids[0])
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))

    def wait() -> None:
        timer.start()
        job.wait()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wait()
    assert time.monotonic() - began < 5
    timer.join()
    client.me()  # the loop has seen the cancellation by then
    polls = job.status.polls
    time.sleep(0.3)
    assert job.status.polls == polls
    box.finish(box.keyword_ids[0])
    assert job.wait().analysis_status == "success"
    assert len(box.ledger.launches()) == 1


def test_closing_ends_the_waits_of_other_threads(client: cmsapi.blocking.Client, box: Sandbox) -> None:
    """A thread that waits for a job gets `ClientClosedError`, with the token of the job."""
    job = client.keywords.analyze(box.keyword_ids[0])
    with ThreadPoolExecutor(2) as pool:
        waiting, iterating = pool.submit(job.wait), pool.submit(lambda: list(client.jobs.as_completed([job])))
        time.sleep(0.2)
        client.close()
        with pytest.raises(cmsapi.ClientClosedError):
            waiting.result(timeout=10)
        with pytest.raises(cmsapi.ClientClosedError):
            iterating.result(timeout=10)


async def test_a_call_inside_a_running_loop_is_refused(client: cmsapi.blocking.Client) -> None:
    """It would stop the loop; the message names the async client, and a thread may call."""
    with pytest.raises(cmsapi.ClientClosedError, match=r"cmsapi\.Client\(\)"):
        client.me()
    with pytest.raises(cmsapi.ClientClosedError, match="event loop"):
        client.close()
    assert (await asyncio.to_thread(client.me)).id


def test_a_hook_cannot_call_the_client_that_calls_it(box: Sandbox) -> None:
    """A call from the client's own thread would wait for itself."""
    raised: list[Exception] = []

    def hook(_: Any) -> None:
        try:
            used[0].me()
        except cmsapi.ClientClosedError as error:
            raised.append(error)

    used: list[cmsapi.blocking.Client] = []
    with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport, hooks=[hook]) as made:
        used.append(made)
        made.me()
    assert raised


def test_context_variables_reach_hooks(box: Sandbox) -> None:
    """What the calling thread has set, such as a span of OpenTelemetry, is set during the call."""
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")
    seen = []

    def hook(event: Any) -> None:
        if isinstance(event, CallStarted):
            seen.append(request.get())

    with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport, hooks=[hook]) as client:
        request.set("r1")
        client.me()
        with client.jobs.map(lambda item: client.keywords.analyze(item), box.keyword_ids[:1]):
            pass
    assert set(seen) == {"r1"}


FORK = """
import os, sys, cmsapi, cmsapi.blocking
from cmsapi.sandbox import Sandbox
from tests.support.postgres import Postgres
box = Sandbox()
client = cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport)
if sys.argv[1] == "used":
    job = client.keywords.analyze(box.keyword_ids[0])
if (child := os.fork()) == 0:
    try:
        print(client.me().id)
    except cmsapi.ClientClosedError as error:
        print(error)
        print(job.token[:6])
    client.close()
    sys.exit()
os.waitpid(child, 0)
print(client.me().id)
client.close()
"""


def said(program: str, *words: str) -> list[str]:
    """Run a program and return the lines that it prints."""
    command = [sys.executable, "-W", "ignore", "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_fork_after_the_first_call_is_refused() -> None:
    """The child says so and ends without waiting; the parent goes on."""
    refusal, token, parent = said(FORK, "used")
    assert "forked" in refusal
    assert "after the fork" in refusal
    assert token == "cmsjob"
    assert parent == Sandbox().user_ids[0]


@pytest.mark.slow
def test_a_client_that_was_not_used_survives_a_fork() -> None:
    """A client of a module that gunicorn loads before it forks works in each worker."""
    assert said(FORK, "new") == [Sandbox().user_ids[0]] * 2


EXIT = """
import sys, cmsapi.blocking
from cmsapi.sandbox import Sandbox
from tests.support.postgres import Postgres
box = Sandbox(durations=1000)
client = cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport, state=sys.argv[1])
job = client.keywords.analyze(box.keyword_ids[0])
print("launched")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_process_ends_although_its_client_is_open(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A client of a module need not be closed; nothing is printed, and nothing hangs."""
    state = "memory:" if kind == "memory" else f"sqlite:///{tmp_path / 'state.db'}"
    if kind == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        state = server.url
    assert said(EXIT, state) == ["launched"]


@pytest.mark.slow
def test_importing_starts_no_thread() -> None:
    """Neither does making a client."""
    program = (
        "import threading, cmsapi.blocking\n"
        "client = cmsapi.blocking.Client('sk_1', base_url='https://x.example.com')\n"
        "print(threading.active_count(), client)"
    )
    (line,) = said(program)
    assert line.startswith("1 ")
    assert os.getpid()
