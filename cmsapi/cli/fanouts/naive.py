"""Work out what a naive polling loop would have cost for the jobs of a run.

The loop is the obvious one: launch everything at once, then ask for each job every five seconds, and try again five
seconds after a 429. The limits are those of the sandbox, and the durations are those that its jobs had.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence

import attrs

from cmsapi.sandbox import Limits
from cmsapi.sandbox.service.limits import SlidingWindow

INTERVAL = 5.0
# The longest time that a request takes on its way, so that requests do not arrive in lockstep.
_LATENCY = 0.1


@attrs.frozen
class NaiveJob:
    """Describe a job for the loop.

    Args:
        duration: Seconds from launch to end.
        results: Requests that read the result after the last poll.
    """

    duration: float
    results: int = 0


@attrs.frozen
class NaiveRun:
    """Count what the loop sends.

    Args:
        requests: All requests.
        refused: Those that are answered with 429.
        seconds: Seconds until the last result.
    """

    requests: int
    refused: int
    seconds: float


def run_naively(jobs: Sequence[NaiveJob], limits: Limits) -> NaiveRun:
    """Simulate the loop for some jobs, against the limits of the service.

    Args:
        jobs: The jobs.
        limits: The limits of the key.
    """
    rng, window = random.Random(0), SlidingWindow(limits)  # noqa: S311  no secret
    # When a job sends its next request, its number, when it was launched, and how many results it has read.
    queue: list[tuple[float, int, float | None, int]] = [
        (rng.uniform(0.0, _LATENCY), number, None, 0) for number in range(len(jobs))
    ]
    heapq.heapify(queue)
    requests = refused = 0
    at = 0.0
    while queue:
        at, number, launched, read = heapq.heappop(queue)
        job = jobs[number]
        requests += 1
        again = INTERVAL + rng.uniform(0.0, _LATENCY)
        if window.wait(at) > 0.0:
            refused += 1
            heapq.heappush(queue, (at + again, number, launched, read))
            continue
        window.add(at)
        if launched is None:
            heapq.heappush(queue, (at + again, number, at, 0))
        elif at < launched + job.duration:
            heapq.heappush(queue, (at + again, number, launched, 0))
        elif read < job.results:
            heapq.heappush(queue, (at + rng.uniform(0.0, _LATENCY), number, launched, read + 1))
    return NaiveRun(requests, refused, at)
