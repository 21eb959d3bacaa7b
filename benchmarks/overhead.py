"""CPU time per call with cmsapi, bare aiohttp, httpx, a generated client and openai's base client.

Calls are made one after the other, and 100 at once. The server is a child process that answers every request with the
same bytes. The generated client, based on httpx, is made from the sandbox's OpenAPI document. No client uses a proxy.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from benchmarks.table import show
from cmsapi import Client, RateLimits, sandbox

_CALLS = 300
_ROUNDS = 30
_KEYWORD = json.dumps(
    {"id": "kwd_1", "keyword": "shoes", "analysisStatus": "success", "lastAnalyzedAt": "2026-11-28T12:00:00Z",
     "searchVolume": 900, "countryCode": "GB", "languageCode": "en", "pageId": "pag_1"}
).encode()  # fmt: skip
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-RateLimit-Limit: 1000\r\nX-RateLimit-Remaining: 999\r\n"
    b"X-RateLimit-Reset: 3600\r\nX-Request-Id: req_1\r\nDate: Sat, 28 Nov 2026 12:00:00 GMT\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_KEYWORD), _KEYWORD)
)
# If glibc returns memory between requests, a call takes about ten microseconds longer with any client.
_MALLOC = {"MALLOC_TOP_PAD_": "16777216", "MALLOC_TRIM_THRESHOLD_": "268435456"}


def serve(ready: Connection) -> None:
    """Send the port to ``ready``, and response all requests with the same bytes; run this in its own process."""

    class Answer(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport: Any = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(_ANSWER * data.count(b"\r\n\r\n"))

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def generate(folder: str) -> None:
    """Generate a client in ``folder``, and make it importable as ``generated``."""
    document = Path(sandbox.__file__).with_name("openapi.json")
    made = ("--path", str(document), "--output-path", f"{folder}/generated", "--meta", "none")
    command = [sys.executable, "-m", "openapi_python_client", "generate", *made]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  our own arguments
    sys.path.append(folder)


async def measure(url: str) -> None:
    """Measure all contestants against the server at ``url``, and print both tables."""
    unlimited = RateLimits.unlimited()
    made, operation = map(importlib.import_module, ("generated", "generated.api.keywords.get_keyword"))
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer sk_x"}) as session,
        Client("sk_x", base_url=url, limits=unlimited) as client,
        httpx.AsyncClient(headers={"Authorization": "Bearer sk_x"}, trust_env=False) as http,
        made.AuthenticatedClient(url, token="sk_x", httpx_args={"trust_env": False}) as generated,  # noqa: S106
        AsyncOpenAI(api_key="sk_x", base_url=url, http_client=DefaultAsyncHttpxClient(trust_env=False)) as openai,
    ):

        async def bare() -> object:
            async with session.get(f"{url}/v1/keywords/kwd_1") as answer:
                return await answer.json()

        async def ours() -> object:
            return await client.keywords.get("kwd_1")

        async def by_httpx() -> object:
            return (await http.get(f"{url}/v1/keywords/kwd_1")).json()

        async def by_generated() -> object:
            return await operation.asyncio("kwd_1", client=generated)

        async def by_openai() -> object:
            return await openai.get("/v1/keywords/kwd_1", cast_to=object)

        contestants = {
            "bare aiohttp": bare,
            "cmsapi": ours,
            "httpx": by_httpx,
            "a generated client": by_generated,
            "openai's base client": by_openai,
        }
        # A full collection walks through all imported modules, and would always hit the same contestants of a round.
        gc.collect()
        gc.freeze()
        for at_once, title in ((1, "One call after the other"), (100, "A hundred calls at once")):
            figures: dict[str, list[float]] = {name: [] for name in contestants}
            for _ in range(_ROUNDS):
                for name, call in contestants.items():
                    figures[name].append(await cpu(call, at_once))
            show(title, "µs of CPU a call", figures)


async def cpu(call: Callable[[], Awaitable[object]], at_once: int) -> float:
    """Return the CPU time per call in microseconds, with ``at_once`` calls at a time, after some calls to warm up."""
    await asyncio.gather(*(call() for _ in range(at_once)))
    began = time.process_time()
    for _ in range(_CALLS // at_once):
        await asyncio.gather(*(call() for _ in range(at_once))) if at_once > 1 else await call()
    return (time.process_time() - began) / (_CALLS // at_once * at_once) * 1e6


def main() -> None:
    """Start the server, measure all contestants and print the tables; restart first if `_MALLOC` is not set."""
    if any(os.environ.get(name) != value for name, value in _MALLOC.items()):
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.overhead"], {**os.environ, **_MALLOC})  # noqa: S606
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        asyncio.run(measure(f"http://127.0.0.1:{here.recv()}"))
    server.kill()


if __name__ == "__main__":
    main()
