"""The program that long runs kill, stop and start again: one batch of mixed kinds with a shared state.

Its only argument is JSON; it writes its results as JSON to the file ``report`` when it ends.
"""

# ruff: noqa: T201  a program that prints

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cmsapi.state.sqlite as sqlite_module
from cmsapi import Client, Job, LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.config import Connect
from cmsapi.errors import LaunchUnknownError
from cmsapi.messages import Request, Response
from cmsapi.state.sql import SqlStore
from cmsapi.transport.http import AiohttpTransport

BATCH = "long"


def client_of(settings: dict[str, Any], transport: Any = None) -> Client:
    """Return a client that polls and gives up quickly, for a service with generous limits."""
    return Client(
        settings["key"],
        base_url=settings["base_url"],
        state=settings["state"],
        transport=transport,
        limits=RateLimits(per_second=settings.get("per_second", 200), per_hour=100_000),
        retry=RetryPolicy(max_attempts=settings.get("attempts", 4), base=0.1, cap=1.0),
        polling=PollPolicy(min_interval=0.5, max_interval=1.0, unclear_timeout=20, outage_timeout=60),
        timeouts=Timeouts(request=settings.get("request", 2.0), connect=0.9),
        launch=LaunchPolicy(on_unknown=settings.get("on_unknown", "raise")),
        allow_http=True,
    )


def launcher(client: Client, workspace: str) -> Callable[[str], Any]:
    """Return the function that launches the job for an item such as ``analysis:kwd_1``."""

    async def launch(item: str) -> Job[Any]:
        kind, _, target = item.partition(":")
        if kind == "analysis":
            return await client.keywords.analyze(target)
        if kind == "prompt":
            return await client.prompts.analyze(target)
        if kind == "search":
            return await client.content_ideas.search(workspace, target)
        return await client.contents.generate(target, on_review="confirm")

    return launch


def described(outcome: Any) -> dict[str, Any]:
    """Return an outcome as JSON."""
    error = outcome.error
    known = {"item": outcome.item, "ok": outcome.ok, "earlier": outcome.earlier, "job": outcome.job is not None}
    return known | {"error": type(error).__name__ if error else None, "text": str(error) if error else None}


async def run_batch(client: Client, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the batch to its end and return the outcomes."""
    batch = client.jobs.batch(BATCH)
    launch, flying = launcher(client, settings["workspace"]), settings.get("in_flight", "auto")
    outcomes = batch.map(launch, settings["items"], in_flight=flying, on_review="confirm")
    return [described(outcome) async for outcome in outcomes]


async def resume(client: Client) -> list[str]:
    """Resume the jobs in the state, wait for them, and return how each ended."""
    return [type(outcome.error).__name__ async for outcome in client.jobs.as_completed(await client.jobs.resume())]


async def launch_alone(client: Client, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Launch all items at once without a batch, and return their outcomes."""
    launch = launcher(client, settings["workspace"])

    async def one(item: str) -> dict[str, Any]:
        try:
            await (await launch(item))
        except Exception as error:
            return {"item": item, "ok": False, "error": type(error).__name__, "text": str(error)}
        return {"item": item, "ok": True, "error": None, "text": None}

    return await asyncio.gather(*map(one, settings["items"]))


async def work(settings: dict[str, Any]) -> dict[str, Any]:
    """Carry out the steps that the settings name, in order, and return the result of each."""
    found: dict[str, Any] = {}
    transport = StoppingTransport() if settings.get("stop") == "before send" else None
    async with client_of(settings, transport) as client:
        for step in settings["steps"]:
            if step == "batch":
                found.setdefault("runs", []).append(await run_batch(client, settings))
            elif step == "resume":
                found.setdefault("resumed", []).append(await resume(client))
            elif step == "open":
                await client.jobs.batches()
            elif step == "alone":
                found["alone"] = await launch_alone(client, settings)
            elif step == "retry_unknown":
                found["retried"] = await client.jobs.batch(BATCH).retry_unknown()
            elif step == "unknown":
                errors: list[LaunchUnknownError] = await client.jobs.unknown()
                found["unknown"] = [{"target": each.target, "text": str(each)} for each in errors]
            elif step == "ready":  # the judge answers once all processes have said so
                print("ready", flush=True)
                await asyncio.to_thread(sys.stdin.readline)
    return found


class StoppingTransport:
    """A transport that stops its process once, right before a launch is sent."""

    def __init__(self) -> None:
        self._inner = AiohttpTransport(Connect(), 0.9)
        self._stopped = False

    async def send(self, request: Request) -> Response:
        """Send a request, and stop before the first launch."""
        if request.method == "POST" and not self._stopped:
            self._stopped = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return await self._inner.send(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def stop_after_insert() -> None:
    """Stop this process once, right after a launch was recorded."""
    insert = SqlStore.insert
    stopped: list[bool] = []

    async def stopping(*arguments: Any, **named: Any) -> Any:
        there = await insert(*arguments, **named)
        if not stopped:
            stopped.append(True)
            os.kill(os.getpid(), signal.SIGSTOP)
        return there

    SqlStore.insert = stopping  # type: ignore[method-assign]


def shift_clock(seconds: float) -> None:
    """Set the state's clock ahead, as on another host."""
    sqlite_module.sqlite = functools.partial(sqlite_module.sqlite, clock=lambda: time.time() + seconds)


def main() -> None:
    """Carry out the steps in the argument."""
    logging.getLogger("cmsapi").addHandler(logging.NullHandler())  # stderr is for what ends the program
    settings = json.loads(sys.argv[1])
    if settings.get("stop") == "after insert":
        stop_after_insert()
    if settings.get("ahead"):
        shift_clock(settings["ahead"])
    if "ready" not in settings["steps"]:
        print("started", flush=True)
    found = asyncio.run(work(settings))
    Path(settings["report"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
