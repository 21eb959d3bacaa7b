"""Real processes that work on one state."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import attrs


@asynccontextmanager
async def workers(count: int, *what: object) -> AsyncIterator[list[Worker]]:
    """Start processes that begin together, and kill what is left of them in the end."""
    async with AsyncExitStack() as stack:
        fleet = []
        for _ in range(count):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.support.worker", *(str(each) for each in what), stdin=PIPE, stdout=PIPE
            )
            stack.push_async_callback(ended, process)
            fleet.append(Worker(process))
        for worker in fleet:
            assert await worker.said() == "ready"
        yield fleet


async def ended(process: Process) -> None:
    """Kill a process if it runs, and wait for its end."""
    if process.returncode is None:
        process.kill()
    await process.communicate()


@attrs.frozen
class Worker:
    """Hold a process and talk to it."""

    process: Process

    async def said(self) -> Any:
        """Return what it says next."""
        assert self.process.stdout is not None
        async with asyncio.timeout(20):
            return json.loads(await self.process.stdout.readline())

    async def ask(self, line: str) -> Any:
        """Tell it something and return its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()
        return await self.said()
