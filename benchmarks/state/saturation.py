"""Let real processes saturate the sandbox on a socket, in real time, and count what it refuses."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE

import attrs

from cmsapi.sandbox import Faults, Limits, Sandbox

PROCESSES = 4
CALLERS = 30
_TTL = 5.0


@attrs.frozen
class Saturation:
    """Hold what came of it.

    Args:
        refused: 429s.
        requests: Requests that arrived.
        seconds: From the first to the last arrival.
        possible: Requests a second that the limit of the second admits with these round trips.
        by_process: Requests answered, process by process.
        takes: Takes from the state, all told.
    """

    refused: int
    requests: int
    seconds: float
    possible: float
    by_process: tuple[int, ...]
    takes: int


async def saturate(url: str, seconds: float, per_hour: int, latency: tuple[float, float] = (0.0, 0.0)) -> Saturation:
    """Run four processes on one state.

    Args:
        url: The state.
        seconds: How long each of them calls.
        per_hour: The limit of the hour, on both sides.
        latency: Seconds each way, drawn evenly.
    """
    async with Sandbox(limits=Limits(per_hour=per_hour), faults=Faults(latency=latency)) as sandbox:
        words = (url, sandbox.base_url, sandbox.api_key, seconds, CALLERS, per_hour, _TTL)
        command = (sys.executable, "-m", "tests.support.worker", "saturate", *(str(word) for word in words))
        fleet = [await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE) for _ in range(PROCESSES)]
        said = [json.loads((await process.communicate())[0].splitlines()[-1]) for process in fleet]
        arrivals = [entry.at for entry in sandbox.ledger]
        return Saturation(
            refused=sandbox.statistics.rate_limited,
            requests=len(arrivals),
            seconds=arrivals[-1] - arrivals[0],
            possible=20 / (1 + sum(latency)),
            by_process=tuple(each["answered"] for each in said),
            takes=sum(each["takes"] for each in said),
        )
