"""Each example, run as its docstring says, against a sandbox on a socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import nbclient
import nbformat
import pytest

from cmsapi.sandbox import Limits, Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"


class Place:
    """A sandbox on a socket, and programs in a folder of their own, with the variables in ``environment``."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self._folder = folder
        self.environment = {
            **os.environ,
            "CMSAPI_BASE_URL": sandbox.base_url,
            "CMSAPI_API_KEY": sandbox.api_key,
            "CMSAPI_STATE": f"sqlite:///{folder}/launches.db",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{EXAMPLES}",
        }

    @asynccontextmanager
    async def started(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Start a program, and end it when the context ends."""
        where: dict[str, Any] = {"cwd": self._folder, "env": self.environment}
        pipes: dict[str, Any] = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
        process = await asyncio.create_subprocess_exec(sys.executable, *arguments, **where, **pipes)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()

    async def run(self, *arguments: str) -> str:
        """Run a program to its end and return what it printed."""
        async with self.started(*arguments) as process:
            output = (await process.communicate())[0].decode()
            assert process.returncode == 0, output
            return output

    async def launches(self, count: int) -> None:
        """Wait until the service has accepted a number of launches."""
        async with asyncio.timeout(60):
            while len(self.sandbox.ledger.launches) < count:  # noqa: ASYNC110  the ledger has no event
                await asyncio.sleep(0.02)

    def paid_twice(self) -> list[str]:
        """Return the targets that have more than one launch."""
        launches = Counter(launch.target for launch in self.sandbox.ledger.launches)
        return [target for target, count in launches.items() if count > 1]


@pytest.fixture
async def place(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """Serve a sandbox, whose jobs take a second unless the test says otherwise."""
    settings = getattr(request, "param", {})
    sandbox = Sandbox(**{"durations": 1, **settings})
    async with sandbox.serve():
        yield Place(sandbox, tmp_path)


def named(name: str) -> str:
    """Return an example's path."""
    return str(EXAMPLES / name)


async def test_script(place: Place) -> None:
    """It analyzes as many keywords as it may pay for."""
    output = await place.run(named("script.py"), "3")
    assert output.count(": success") == 3
    assert len(place.sandbox.ledger.launches) == 3


@pytest.mark.parametrize("place", [{"durations": 4, "keywords": 40}], indirect=True)
async def test_batch(place: Place, tmp_path: Path) -> None:
    """Killed twice with ``kill -9``, it completes each keyword and pays for nothing twice."""
    keywords = place.sandbox.keyword_ids
    (tmp_path / "ids.txt").write_text("\n".join(keywords))
    for launches in (3, 25):
        async with place.started(named("batch.py"), "keywords-2026-11", "ids.txt") as process:
            await place.launches(launches)
            process.kill()
    async with place.started(named("batch.py"), "keywords-2026-11", "ids.txt") as process:
        output = (await process.communicate())[0].decode()
    # A response that was under way when the program died may leave a launch that nothing shows: told, not repeated.
    assert not place.paid_twice()
    assert output.count(" success") + output.count("LaunchUnknownError") == len(keywords), output
    assert process.returncode == (1 if "LaunchUnknownError" in output else 0)


async def test_article(place: Place) -> None:
    """It lists drafts, and an article is confirmed after its review."""
    content = place.sandbox.content_ids[0]
    assert content in await place.run(named("article.py"))
    assert "applied: version 2" in await place.run(named("article.py"), content)


@pytest.mark.parametrize("place", [{"durations": 8}], indirect=True)
async def test_article_after_a_stop(place: Place) -> None:
    """Stopped while the article is being written, it finds the article again and pays for one."""
    content = place.sandbox.content_ids[0]
    async with place.started(named("article.py"), content) as process:
        await place.launches(1)
        await asyncio.sleep(0.5)
        process.send_signal(signal.SIGKILL)
    assert "applied: version 2" in await place.run(named("article.py"), content)
    assert not place.paid_twice()


class Visitor:
    """A visitor to the web service."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(self, path: str, body: Any = None) -> tuple[int, dict[str, Any], Mapping[str, str]]:
        """Return a response's status, document and headers."""
        async with self._session.post(path, json=body) as answer:
            return answer.status, await answer.json(), answer.headers

    async def events(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """Read server-sent events, and hang up at the end."""
        async with self._session.get(path) as answer:
            async for line in answer.content:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])


@asynccontextmanager
async def service(place: Place) -> AsyncIterator[Visitor]:
    """Run the web service, and return a visitor."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = ("-m", "uvicorn", "--port", str(port), "--timeout-graceful-shutdown", "3", "fastapi_service:app")
    async with place.started(*serve) as process, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        assert process.stdout is not None
        while b"running on" not in await process.stdout.readline():
            pass
        yield Visitor(session)


async def test_fastapi(place: Place) -> None:
    """Progress arrives as events, and the polls end when the visitor leaves."""
    ledger, keywords = place.sandbox.ledger, list(place.sandbox.keyword_ids)
    place.sandbox.set_outcome(keywords[1], "success", duration=3600)
    async with service(place) as visitor:
        _, short, _ = await visitor.post(f"/analyses/{keywords[0]}")
        seen = [event async for event in visitor.events(short["events"])]
        assert seen[-1]["result"]["analysisStatus"] == "success"
        _, long, _ = await visitor.post(f"/analyses/{keywords[1]}")
        async with aclosing(visitor.events(long["events"])) as stream:
            assert (await anext(stream))["phase"] == "running"
        polls = ledger.count("get_keyword")
        await asyncio.sleep(11)
        assert ledger.count("get_keyword") <= polls + 1
        _, batch, _ = await visitor.post("/batches/spring", keywords[2:6])
        progress = [event async for event in visitor.events(batch["events"])]
        assert progress[-1]["done"] == progress[-1]["of"] == 4
        assert (await visitor.post("/analyses/kwd_0"))[0] == 404
    assert not place.paid_twice()
    assert len(ledger.launches) == 6


@pytest.mark.parametrize("place", [{"limits": Limits(per_second=20, per_hour=3)}], indirect=True)
async def test_fastapi_answers_503_when_the_hour_is_used_up(place: Place) -> None:
    """A visitor does not wait for the limits, and learns when to try again."""
    async with service(place) as visitor:
        for keyword in place.sandbox.keyword_ids[:3]:
            await visitor.post(f"/analyses/{keyword}")
        status, _, headers = await visitor.post(f"/analyses/{place.sandbox.keyword_ids[4]}")
        assert status == 503
        assert 3000 < int(headers["Retry-After"]) <= 3600


@pytest.mark.parametrize("place", [{"durations": 6}], indirect=True)
async def test_celery(place: Place, tmp_path: Path) -> None:
    """The process of a task is killed with ``kill -9``; the task runs again, and pays for nothing twice."""
    keywords = place.sandbox.keyword_ids[:4]
    for folder in ("data_in", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "data_out").symlink_to("data_in")
    place.environment |= {"CELERY_BROKER_URL": "filesystem://", "CELERY_RESULT_BACKEND": f"file://{tmp_path}/results"}
    async with (
        place.started("-m", "celery", "-A", "celery_task", "worker", "--concurrency", "1") as worker,
        place.started(named("celery_task.py"), "keywords-2026-11", *keywords) as caller,
    ):
        await place.launches(2)
        children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text()  # noqa: ASYNC240  a file of memory
        os.kill(int(children.split()[-1]), signal.SIGKILL)
        output = (await caller.communicate())[0].decode()
    assert output.count(" success") + output.count("LaunchUnknownError") == 4, output
    assert not place.paid_twice()


@pytest.mark.skipif(
    sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42), reason="DBOS needs a newer SQLite here"
)
@pytest.mark.parametrize("place", [{"durations": 6}], indirect=True)
async def test_dbos(place: Place, tmp_path: Path) -> None:
    """The worker is killed with ``kill -9``; the next one resumes its workflows, and pays for nothing twice."""
    keywords = place.sandbox.keyword_ids[:4]
    place.environment["WORKFLOWS"] = f"sqlite:///{tmp_path}/workflows.db"
    async with place.started(named("dbos_worker.py"), "work") as worker:
        assert worker.stdout is not None
        while b"ready" not in await worker.stdout.readline():
            pass
        async with place.started(named("dbos_worker.py"), "analyze", "keywords-2026-11", *keywords) as caller:
            await place.launches(4)
            await asyncio.sleep(0.5)
            worker.kill()
            await worker.communicate()
            async with place.started(named("dbos_worker.py"), "work"):
                output = (await caller.communicate())[0].decode()
    assert output.count(" success") == 4, output
    assert not place.paid_twice()


async def test_notebook(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells run from top to bottom; a second run costs nothing."""
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    for _ in range(2):
        notebook: Any = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
        client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
        await client.async_execute()
        assert "10 of 10" in str(notebook.cells)
    assert len(place.sandbox.ledger.launches) == 10


async def test_tests_of_ones_own(place: Place) -> None:
    """They pass with the plugin, in a project without pytest settings."""
    options = ("-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", "-c", os.devnull)
    output = await place.run("-m", "pytest", *options, named("test_example.py"))
    assert "4 passed" in output
