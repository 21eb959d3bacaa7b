"""Work for the fan-out benchmark: jobs with set durations, and an oracle that knows the durations in advance."""

from __future__ import annotations

import bisect
import heapq
import math
import random
from collections import deque
from collections.abc import Callable

from attrs import frozen

HOUR, SECOND = 3600.0, 1.0
PER_HOUR, PER_SECOND = 1000, 20
RESULTS = {"analysis": 0, "search": 1, "document": 0}  # requests for a result, after the last poll
EARLIER = 60  # jobs that a warm client has run before


@frozen
class Item:
    """One job.

    Attributes:
        kind: ``analysis``, ``search`` or ``document``.
        seconds: Duration in seconds.
        at: Earliest time of the launch, in seconds from the start.
    """

    kind: str
    seconds: float
    at: float = 0.0


@frozen
class Work:
    """Jobs to launch at once, or at regular intervals.

    Attributes:
        name: Name of the work in tables.
        items: The jobs.
        earlier: Jobs that a warm client runs before; their durations have the same distribution.
        in_flight: Maximum number of jobs that run at the same time; None for no maximum.
        used: Number of requests that others have sent in the hour before the start.
    """

    name: str
    items: tuple[Item, ...]
    earlier: tuple[Item, ...] = ()
    in_flight: int | None = None
    used: int = 0


def oracle(work: Work) -> list[float]:  # noqa: C901  a small simulation, read top to bottom
    """Simulate ``work`` with known durations and no latency, and return the time of each result in seconds.

    Each job is polled once, at its end. A job is launched as soon as ``in_flight`` allows it, and the hour has room for
    all its requests and for those that running jobs still need.
    """
    items, cap = work.items, work.in_flight or len(work.items)
    sent = [-HOUR * (1 - (number + 1) / (work.used + 1)) for number in range(work.used)]
    agenda = [(item.at, number, number, -1) for number, item in enumerate(items)]  # time, order, job, step
    heapq.heapify(agenda)
    held: deque[int] = deque()
    ends, now, order, owed, running = [0.0] * len(items), 0.0, len(items), 0, 0

    def send() -> float:
        at = now
        if len(sent) >= PER_HOUR:
            at = max(at, sent[-PER_HOUR] + HOUR)
        if len(sent) >= PER_SECOND:
            at = max(at, sent[-PER_SECOND] + SECOND)
        sent.append(at)
        return at

    while held or agenda:
        gone = bisect.bisect_right(sent, now - HOUR)
        if held and running < cap:
            needed = 1 + RESULTS[items[held[0]].kind]
            if PER_HOUR - (len(sent) - gone) - owed >= 1 + needed:
                job, now = held.popleft(), send()
                owed, running, order = owed + needed, running + 1, order + 1
                heapq.heappush(agenda, (now + items[job].seconds, order, job, 0))
                continue
        following = agenda[0][0] if agenda else math.inf
        if held and running < cap and gone < len(sent):
            following = min(following, sent[gone] + HOUR + 1e-6)
        now = max(now, following)
        if not agenda or agenda[0][0] > now:
            continue
        _, _, job, step = heapq.heappop(agenda)
        if step < 0:
            held.append(job)
            continue
        now, owed, order = send(), owed - 1, order + 1
        if step < RESULTS[items[job].kind]:
            heapq.heappush(agenda, (now, order, job, step + 1))
        else:
            ends[job], running = now, running - 1
    return ends


def make(
    name: str,
    count: int,
    kind: str,
    draw: Callable[[random.Random], float],
    *,
    every: float = 0.0,
    in_flight: int | None = None,
    used: int = 0,
) -> Work:
    """Return work of ``count`` jobs of one kind: durations from ``draw``, and ``every`` seconds between launches."""
    rng = random.Random(name)
    items = tuple(Item(kind, draw(rng), number * every) for number in range(count))
    return Work(name, items, tuple(Item(kind, draw(rng)) for _ in range(EARLIER)), in_flight, used)


def around(median: float, spread: float = 0.5) -> Callable[[random.Random], float]:
    """Return a function that draws log-normal durations in seconds; ``spread`` is the deviation of the logarithm."""
    return lambda rng: median * math.exp(rng.gauss(0.0, spread))


def exactly(*seconds: float) -> Callable[[random.Random], float]:
    """Return a function that draws one of the given durations, all of which are equally likely."""
    return lambda rng: rng.choice(seconds)


def invent(seed: int) -> Work:
    """Return random work: 60 to 320 analyses or searches, typically of 12 to 300 s, in one of six distributions."""
    rng = random.Random(f"fan-out {seed}")
    kind, count = rng.choice(["search", "analysis"]), rng.randrange(60, 321)
    median = 12 * 25 ** rng.random()
    slow = median * rng.uniform(2.5, 12)
    most = rng.uniform(0.25, 0.9)
    humps = [(median, 1.0), (min(900.0, median * rng.uniform(2, 5)), 1.0), (min(1200.0, slow), rng.uniform(0.3, 1.5))]
    narrow, wide, bend = rng.uniform(0.1, 0.35), rng.uniform(0.1, 1.1), rng.uniform(0.8, 3.5)
    scale = median / math.log(2) ** (1 / bend)
    shapes: dict[str, Callable[[random.Random], float]] = {
        "lognormal": around(median, wide),
        "weibull": lambda rng: rng.weibullvariate(scale, bend),
        "two humps": lambda rng: around(median if rng.random() < most else min(1200.0, slow), narrow)(rng),
        "three humps": lambda rng: around(rng.choices(*zip(*humps, strict=True))[0], narrow)(rng),
        "uniform": lambda rng: rng.uniform(0.25, 1.75) * median,
        "spike and tail": lambda rng: median * (rng.uniform(0.92, 1.08) if rng.random() < most else tail(rng)),
    }

    def tail(rng: random.Random) -> float:
        return min(1200 / median, 1 + rng.expovariate(1.0) * slow / median)

    shape = rng.choice(sorted(shapes))
    return make(f"{seed}: {count} {kind}, {shape}, {median:.0f} s", count, kind, shapes[shape])
