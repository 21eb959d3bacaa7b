"""Serve an example on a port of this machine, in this process and in a hurry."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from aiohttp import web

import cmsapi
from cmsapi.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).parents[3] / "examples/web"))

import aiohttp_service as aiohttp_service
import fastapi_service as fastapi_service
from answers import problem as problem
from callbacks import Callbacks as Callbacks, verified as verified

# Here everything is on one machine, so that nothing arrives late, and jobs take a second or so.
PER_HOUR = 100_000
HURRY: dict[str, Any] = {
    "limits": cmsapi.RateLimits(per_hour=PER_HOUR),
    "polling": cmsapi.PollPolicy(min_interval=0.3, max_interval=0.5),
    "timeouts": cmsapi.Timeouts(request=5.0),
    "launch": cmsapi.LaunchPolicy(settle=1.0),
}
FRAMEWORKS = ("fastapi", "aiohttp")


def options(sandbox: Sandbox, folder: Path, **more: Any) -> dict[str, Any]:
    """Return the options of an application for a sandbox, with its files in a folder."""
    files = {"state": f"sqlite:///{folder}/cmsapi.db", "table": f"{folder}/fan_outs.db"}
    return {"api_key": sandbox.api_key, "base_url": sandbox.base_url, **files, **HURRY, **more}


@asynccontextmanager
async def served(framework: str, **options: Any) -> AsyncIterator[str]:
    """Serve the example of a framework, and give its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        serve = _fastapi if framework == "fastapi" else _aiohttp
        async with serve(listening, options):
            yield address


@asynccontextmanager
async def _fastapi(listening: socket.socket, options: dict[str, Any]) -> AsyncIterator[None]:
    application = fastapi_service.create_app(**options)
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not task.done():  # noqa: ASYNC110  the server has no event
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def _aiohttp(listening: socket.socket, options: dict[str, Any]) -> AsyncIterator[None]:
    runner = web.AppRunner(aiohttp_service.create_app(**options), **aiohttp_service.ENDING)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    try:
        yield
    finally:
        await runner.cleanup()
