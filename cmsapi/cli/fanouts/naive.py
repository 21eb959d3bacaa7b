"""Work out what a naive polling loop would have cost for the jobs of a run.

The loop is the obvious one: launch everything at once, then ask for each job every five seconds, and try again five
seconds after a 429. The limits are those of the sandbox, and the durations are those that its jobs had.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import attrs

from cmsapi.sandbox import Limits
from cmsapi.sandbox.service.limits import SlidingWindow

INTERVAL = 5.0


@attrs.frozen
class Traffic:
    """Count requests.

    Args:
        requests: All requests.
        refused: Those that are answered with 429.
        seconds: Seconds from the first request to the last result.
    """

    requests: int
    refused: int
    seconds: float


def run_naively(jobs: Sequence[tuple[float, int]], limits: Limits) -> Traffic:
    """Simulate the loop for some jobs, against the limits of the service.

    Args:
        jobs: For each job the seconds from launch to end, and the requests that read its result after the last poll.
        limits: The limits of the key.
    """
    window = SlidingWindow(limits)
    # When a job sends its next request, its place in `jobs`, when it ends, and the reads that its result still takes.
    queue: list[tuple[float, int, float | None, int]] = [
        (0.0, place, None, results) for place, (_, results) in enumerate(jobs)
    ]
    requests = refused = 0
    at = 0.0
    while queue:
        at, place, end, results = heapq.heappop(queue)
        requests += 1
        later = at + INTERVAL
        if window.wait(at) > 0.0:
            refused += 1
            heapq.heappush(queue, (later, place, end, results))
            continue
        window.add(at)
        if end is None:
            heapq.heappush(queue, (later, place, at + jobs[place][0], results))
        elif at < end:
            heapq.heappush(queue, (later, place, end, results))
        elif results:
            heapq.heappush(queue, (at, place, end, results - 1))
    return Traffic(requests, refused, at)
