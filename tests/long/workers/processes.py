"""Start programs, talk to them, and end what is left of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from cmsapi.sandbox import Sandbox

PATIENCE = 40.0


class Fleet:
    """Start programs of Python in one environment, and kill those that still run in the end.

    Args:
        sandbox: The service that they use.
        python: The interpreter of their environment.
        more: What else their environment says.
    """

    def __init__(self, sandbox: Sandbox, python: str = sys.executable, **more: str) -> None:
        self._python = python
        self._environment = {
            **os.environ,
            "CMSAPI_API_KEY": sandbox.api_key,
            "CMSAPI_BASE_URL": sandbox.base_url,
            **more,
        }
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def start(self, *words: str) -> Process:
        """Run `python WORDS…`; what it prints can be read."""
        process = await asyncio.create_subprocess_exec(
            self._python, *words, stdout=PIPE, env=self._environment, start_new_session=True
        )
        self._stack.push_async_callback(ended, process)
        return process

    async def ready(self, *words: str) -> Process:
        """Run `python WORDS…` and wait for its first line."""
        process = await self.start(*words)
        await line_of(process)
        return process


async def line_of(process: Process) -> str:
    """Return the next line that a process prints.

    Raises:
        AssertionError: It ended instead.
    """
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        line = await process.stdout.readline()
    assert line, "the process ended instead"
    return line.decode().strip()


async def lines_of(process: Process) -> list[str]:
    """Return what a process prints until its end, which is a good one."""
    async with asyncio.timeout(PATIENCE):
        printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode().splitlines()


async def killed(process: Process) -> None:
    """Kill a process with SIGKILL."""
    process.kill()
    await process.wait()


async def ended(process: Process) -> None:
    """Kill a process and those that it has started, if they still run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110  the sandbox's ledger has no event
            await asyncio.sleep(0.01)
