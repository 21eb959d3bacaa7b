"""Every Python block in the README and the pages runs, on a sandbox in virtual time, and its output is compared."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import pad
from sybil.parsers.myst import CodeBlockParser

import cmsapi
import cmsapi.transport.http
from cmsapi.sandbox import Sandbox
from tests.support.strict import virtual_loop

T = TypeVar("T")

THREADS = ThreadPoolExecutor()

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = """[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
addopts = -p asyncio -p looptime_plugin -p looptime_timeproxies -p looptime_chronometers -p cmsapi -p no:cacheprovider
"""
LAUNCHES = ("analyze", "ideas", "generate")
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.is_file()]


async def run_sync(work: Callable[[], T], *, limiter: anyio.CapacityLimiter | None = None) -> T:
    """Run work in a thread that the virtual time waits for."""
    async with limiter or contextlib.nullcontext():
        # Not the loop's own executor, whose end `asyncio.run` waits for in virtual time.
        return await asyncio.get_running_loop().run_in_executor(THREADS, work)


class Page:
    """What the blocks on a page share: names, an event loop, and a sandbox that `Client()` connects to."""

    def __init__(self) -> None:
        self.loop = virtual_loop()
        self.sandbox = Sandbox()
        self.printed = ""

    def names(self) -> dict[str, Any]:
        """Return the names that pages use without defining them."""
        box = self.sandbox
        ids = {name: getattr(box, name) for name in ("workspace_id", "keyword_ids", "content_ids", "page_ids")}
        return {
            "__name__": "__main__",
            "sandbox": box,
            "client": cmsapi.Client(),
            "cmsapi": cmsapi,
            "asyncio": asyncio,
            **ids,
        }

    def run(self, example: Example) -> None:
        """Run a block, with ``await`` allowed at its top level."""
        source = pad(example.parsed, example.line + example.parsed.line_offset)
        if "def test_" in source:
            self.run_tests(example.parsed)
            return
        code = compile(source, example.path, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            result = eval(code, example.namespace)  # noqa: S307  our own pages
            if inspect.iscoroutine(result):
                self.loop.run_until_complete(result)
        self.printed = output.getvalue()

    def run_tests(self, source: str) -> None:
        """Run a block of tests with pytest, as a user does."""
        Path("test_block.py").write_text(source)
        Path("pytest.ini").write_text(SETTINGS)
        command = [sys.executable, "-m", "pytest", "-q", "test_block.py"]
        quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # ours are many, and slow to import
        done = subprocess.run(command, env=quick, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def compare(self, example: Example) -> None:
        """Compare the output of the block above; ``...`` stands for anything."""
        expected = str(example.parsed)
        same = doctest.OutputChecker().check_output(
            expected, self.printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        )
        assert same, f"{example.path}:{example.line}: printed\n{self.printed}\ninstead of\n{expected}"


@pytest.fixture(autouse=True)
def blocking_calls() -> None:
    """Let users' programs block, and let modules be imported where they are first needed."""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Page]:
    """Return what a page needs, and clean up afterwards."""
    page = Page()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMSAPI_API_KEY", page.sandbox.api_key)
    monkeypatch.setenv("CMSAPI_BASE_URL", page.sandbox.base_url)
    monkeypatch.setattr(cmsapi.transport.http, "AiohttpTransport", lambda *_: page.sandbox.transport)
    monkeypatch.setattr(asyncio.events, "new_event_loop", virtual_loop)  # for asyncio.run
    monkeypatch.setattr(anyio.to_thread, "run_sync", run_sync)
    yield page
    page.loop.run_until_complete(page.loop.shutdown_asyncgens())
    page.loop.run_until_complete(page.loop.shutdown_default_executor())
    page.loop.close()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_page_runs(path: Path, page: Page) -> None:
    """Each block on a page works, and prints what the page says."""
    parsers = [CodeBlockParser("python", page.run), CodeBlockParser("text", page.compare)]
    document = Sybil(parsers, patterns=["*.md"]).parse(path)
    document.namespace.update(page.names())
    for example in document.examples():
        example.evaluate()
    page.loop.run_until_complete(document.namespace["client"].aclose())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Serve a sandbox on a socket, and return the environment of a terminal that uses it."""
    folder = Path(sys.executable).parent
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    command = [str(folder / "cmsapi"), "sandbox", "--port", "0", "--seconds", "1", "--seed", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        for _ in range(2):
            name, _, value = server.stdout.readline().removeprefix("export ").strip().partition("=")
            environment[name] = value
        sandbox = Sandbox()  # the same seed
        yield {**environment, "WORKSPACE": sandbox.workspace_id, "CONTENT": sandbox.content_ids[0]}
        server.terminate()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_command_of_a_page_runs(served: dict[str, str], tmp_path: Path) -> None:
    """Each terminal line that begins with the command succeeds, except those that never end by themselves.

    Consecutive launches wait for their jobs at the same time.
    """
    document = Sybil([CodeBlockParser("console", str)], patterns=["*.md"]).parse(ROOT / "docs/how-to/command-line.md")
    lines = [line for example in document.examples() for line in str(example.parsed).splitlines()]
    commands = [line[2:] for line in lines if line.startswith("$ cmsapi") and "sandbox" not in line]
    assert commands
    groups = [list(group) for _, group in itertools.groupby(commands, lambda command: is_launch(command) or command)]
    with ThreadPoolExecutor() as pool:
        for group in groups:
            for done in pool.map(lambda command: run(command, served, tmp_path), group):
                assert done.returncode == 0, f"{done.args}: {done.returncode}\n{done.stdout}{done.stderr}"


def is_launch(command: str) -> bool:
    """Return True for a command that launches jobs and waits for them."""
    return command.split()[1] in LAUNCHES and "--dry-run" not in command


def run(command: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a terminal line."""
    line = ["sh", "-c", command]
    return subprocess.run(line, env=environment, cwd=folder, capture_output=True, text=True, check=False)
