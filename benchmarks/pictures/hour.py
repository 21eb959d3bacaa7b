"""One hour of 300 keyword analyses, in virtual time: a polling loop a job, and the SDK.

The service is the sandbox with the limits of the service, in this process. The loop is what a program without the SDK
looks like: it polls each job every 5 to 10 seconds, as the service advises, and sends a refused request again after the
same time. The durations of the jobs are the same in both runs.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import attrs

from benchmarks.fanout.durations import Script, draw
from benchmarks.virtual import in_virtual_time
from cmsapi import Client
from cmsapi.message import Request
from cmsapi.sandbox import Faults, Limits, Lognormal, Sandbox

HOUR = 3600.0
JOBS = 300
# Each way, in seconds.
_LATENCY = (0.05, 0.05)
_FINAL = ("success", "failed")

# Calls the function once for each result, when the program has it.
Program: TypeAlias = Callable[[Sandbox, Callable[[], None]], Awaitable[None]]


@attrs.frozen
class Hour:
    """Hold what one program reached in an hour.

    Args:
        results: Seconds from the begin until each result was there.
        accepted: Seconds from the begin at which the service accepted each request.
        refused: The same of requests that it refused.
    """

    results: tuple[float, ...]
    accepted: tuple[float, ...]
    refused: tuple[float, ...]

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return len(self.accepted) + len(self.refused)


async def polling_loops(box: Sandbox, in_hand: Callable[[], None]) -> None:
    """Launch and poll each job in a loop of its own, without regard to the others."""
    rng = random.Random(1)
    headers = {"Authorization": f"Bearer {box.api_key}"}

    async def call(method: str, path: str) -> dict[str, str] | None:
        response = await box.transport.send(Request(method, f"{box.base_url}/v1/{path}", headers))
        return None if response.status == 429 else json.loads(response.body or b"{}")

    async def analyse(keyword_id: str) -> None:
        launched = status = None
        while launched is None:
            launched = await call("POST", f"keywords/{keyword_id}/analyze")
            if launched is None:
                await asyncio.sleep(rng.uniform(5.0, 10.0))
        while status not in _FINAL:
            await asyncio.sleep(rng.uniform(5.0, 10.0))
            keyword = await call("GET", f"keywords/{keyword_id}")
            status = keyword and keyword["analysisStatus"]
        in_hand()

    await asyncio.gather(*map(analyse, box.keyword_ids))


async def sdk(box: Sandbox, in_hand: Callable[[], None]) -> None:
    """Use `client.jobs.map` with the settings that a new client has."""
    async with Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        # The picture must be the same when it is made again.
        client._runtime.rng.seed(1)
        async for outcome in client.jobs.map(client.keywords.analyze, box.keyword_ids):
            outcome.result()
            in_hand()


def hour_of(program: Program) -> Hour:
    """Run a program for an hour of virtual time, or until it ends."""
    return in_virtual_time(_hour_of(program))


async def _hour_of(program: Program) -> Hour:
    durations = draw([Lognormal(60, 0.6)] * JOBS, "hour")
    box = Sandbox(
        keywords=JOBS,
        limits=Limits(),
        durations={"keyword_analysis": Script(durations)},
        faults=Faults(latency=_LATENCY),
    )
    loop = asyncio.get_running_loop()
    begun = loop.time()
    results: list[float] = []
    try:
        async with asyncio.timeout(HOUR):
            await program(box, lambda: results.append(loop.time() - begun))
    except TimeoutError:
        pass
    refused = {entry.request_id for entry in box.ledger if entry.status == 429}
    times = [(entry.at - begun, entry.request_id in refused) for entry in box.ledger]
    return Hour(
        results=tuple(results),
        accepted=tuple(at for at, was_refused in times if not was_refused),
        refused=tuple(at for at, was_refused in times if was_refused),
    )
