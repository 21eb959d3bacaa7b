"""Fan-outs between the listed ones: a few long jobs, one that never ends, an hour that is nearly used up."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any, TypeAlias

import attrs

from benchmarks.fanout import ranges
from benchmarks.fanout.durations import Distribution
from benchmarks.fanout.product import client_of, fan_out, launched
from benchmarks.fanout.ranges import Reading
from benchmarks.fanout.work import ONE_WAY, Kind, Service, Work
from cmsapi import Client
from cmsapi.sandbox import Fixed, Lognormal

_MINUTE = 60.0
# A client waits a day for a job; no fan-out here takes as long.
_NEVER = Fixed(7 * 86_400.0)
_HOUR, _LEFT, _SOON = 1000, 67, 30.0
# With requests to spare a job is polled about this often (specification 8, rule 5).
_POLL_EVERY = 9.5


@attrs.frozen
class Late:
    """Hold how late the ends of a fan-out were noticed.

    Args:
        lateness: Seconds from each end until its result was in hand, the round trip apart.
        turnaround: Seconds until a result was in hand, on average.
        requests: Requests of the fan-out.
        refused: Requests that were answered with 429.
    """

    lateness: tuple[float, ...]
    turnaround: float
    requests: int
    refused: int


@attrs.frozen
class Beside:
    """Compare a fan-out beside another job with the same one alone.

    Args:
        alone: Seconds until a result was in hand, on average.
        short: The same, when as many requests were used before as the other job takes.
        beside: The same, beside the other job.
        refused: Requests that were answered with 429.
    """

    alone: float
    short: float
    beside: float
    refused: int


Tried: TypeAlias = Late | Beside | tuple[Reading, ...]


async def _measured(client: Client, service: Service, items: Sequence[str]) -> Late:
    """Do a batch of analyses with a client."""
    sandbox, begun = service.sandbox, asyncio.get_running_loop().time()
    requests, in_hand = len(sandbox.ledger), {}
    async for outcome in launched(client, service, items):
        outcome.result()
        in_hand[outcome.item] = asyncio.get_running_loop().time()
    ends = {job.target_id: job.ends_at for job in sandbox.jobs}
    return Late(
        lateness=tuple(in_hand[item] - ends[item] - 2 * ONE_WAY for item in items),
        turnaround=fmean(in_hand.values()) - begun,
        requests=len(sandbox.ledger) - requests,
        refused=sandbox.ledger.count(status=429),
    )


async def long_jobs(work: Work, seed: int, warm: bool) -> Late:
    """Do a few long jobs; warm, right after a hundred of a minute."""
    service = await Service.open(work, seed, earlier=warm)
    async with client_of(service, seed=seed) as client:
        if warm:
            await fan_out(client, service, service.earlier_items)
        return await _measured(client, service, service.items)


async def stuck(work: Work, seed: int, warm: bool, *, since: float) -> Beside:
    """Do the work alone, and in another run beside a job that never ends and was launched some seconds before it.

    That job was polled meanwhile, so that the hour has fewer requests left. Without it, but with as many requests used,
    the work shows what the job costs besides these.
    """
    alone, short = await _alone(work, seed, 0.0), await _alone(work, seed, since)
    beside = await _beside(attrs.evolve(work, jobs=(_NEVER, *work.jobs)), seed, since)
    return Beside(alone.turnaround, short.turnaround, beside.turnaround, alone.refused + short.refused + beside.refused)


async def _alone(work: Work, seed: int, since: float) -> Late:
    """Do the work alone, after as many requests as one job takes within some seconds."""
    service = await Service.open(work, seed)
    async with client_of(service, seed=seed) as client:
        for _ in range(round(since / _POLL_EVERY)):
            await client.me()
            await asyncio.sleep(_POLL_EVERY)
        return await _measured(client, service, service.items)


async def _beside(work: Work, seed: int, since: float) -> Late:
    service = await Service.open(work, seed)
    async with client_of(service, seed=seed) as client:
        job = await client.keywords.analyze(service.items[0])
        wait = asyncio.create_task(job.wait())
        await asyncio.sleep(since)
        late = await _measured(client, service, service.items[1:])
        wait.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await wait
        return late


async def last_requests(work: Work, seed: int, warm: bool) -> Late:
    """Do the work when only a few requests of the hour are left."""
    service = await Service.open(work, seed)
    async with client_of(service, seed=seed) as client:
        for _ in range(_HOUR - _LEFT):
            await client.me()
        return await _measured(client, service, service.items)


def refusals(tried: Tried) -> int:
    """Return the requests of a run that were answered with 429."""
    return tried.refused if isinstance(tried, Late | Beside) else max(reading.refused for reading in tried)


@attrs.frozen
class Judged:
    """Hold what a case came to, next to its bar.

    Args:
        figures: What was reached, by its name.
        met: Whether that suffices.
    """

    figures: Mapping[str, str]
    met: bool


def _late(work: Work, tried: Sequence[Tried]) -> Judged:
    late = [each for each in tried if isinstance(each, Late)]
    worst, bar = max(max(each.lateness) for each in late), 10.0 + 8.0 * len(work.jobs)
    requests = fmean(each.requests for each in late)
    return Judged(
        {"worst lateness": f"{worst:,.0f} s", "bar": f"{bar:.0f} s", "requests": f"{requests:,.0f}"}, worst <= bar
    )


def _beside_alone(work: Work, tried: Sequence[Tried]) -> Judged:
    both = [each for each in tried if isinstance(each, Beside)]
    alone, short, beside = (fmean(getattr(each, of) for each in both) for of in ("alone", "short", "beside"))
    seconds = {"alone": alone, "with as many requests used": short, "beside it": beside}
    figures = {f"mean turnaround {name}": f"{each:.0f} s" for name, each in seconds.items()}
    ratios = {"ratio": f"{beside / alone:.2f}", "to that with as many used": f"{beside / short:.2f}"}
    return Judged({**figures, **ratios, "bar": "1.15"}, beside <= 1.15 * alone)


def _soon(work: Work, tried: Sequence[Tried]) -> Judged:
    late = [each for each in tried if isinstance(each, Late)]
    soon = fmean(sum(seconds <= _SOON for seconds in each.lateness) for each in late)
    worst, bar = max(max(each.lateness) for each in late), len(work.jobs) / 2
    figures = {f"in hand {_SOON:.0f} s after their ends": f"{soon:.0f} of {len(work.jobs)}", "bar": f"{bar:.0f}"}
    return Judged({**figures, "worst lateness": f"{worst:,.0f} s"}, soon >= bar)


def _ranges(work: Work, tried: Sequence[Tried]) -> Judged:
    readings = [each for readings in tried if isinstance(readings, tuple) for each in readings]
    return Judged(*ranges.judged(readings))


@attrs.frozen(kw_only=True)
class Regime:
    """Describe a kind of case.

    Args:
        title: As the table shows it.
        cases: What is done, by its name.
        run: Does it with a seed, cold or warm.
        judge: Compares what all seeds came to with the bar.
        modes: How it is done: `"cold"`, and `"warm"` with what the title says.
    """

    title: str
    cases: Mapping[str, Work]
    run: Callable[[Work, int, bool], Coroutine[Any, Any, Tried]]
    judge: Callable[[Work, Sequence[Tried]], Judged]
    modes: Sequence[str] = ("cold",)


def _works(jobs: Iterable[tuple[str, Sequence[Distribution]]], *, bare: bool = False) -> dict[str, Work]:
    """Make work for the sandbox as it is by default, whose lists show a status, and also for one with bare lists."""
    works = {}
    for (name, each), lever in itertools.product(jobs, (True, False) if bare else (True,)):
        full_name = name if lever else f"{name}, bare lists"
        works[full_name] = Work(
            name=full_name, kind=Kind.ANALYSIS, jobs=tuple(each), lever=lever, earlier=(Fixed(_MINUTE),) * 100
        )
    return works


_LONG = ((1, 120), (2, 120), (3, 120), (5, 120), (4, 50), (12, 90))
_BESIDE = _works(
    [("of 60 s each", [Fixed(_MINUTE)] * 300), ("of median 60 s", [Lognormal(_MINUTE, 0.6)] * 300)], bare=True
)
REGIMES: Mapping[str, Regime] = {
    "long jobs": Regime(
        title="A few long jobs; warm, right after a hundred of a minute",
        cases=_works(
            ((f"{count} of {minutes} min", [Fixed(minutes * 60.0)] * count) for count, minutes in _LONG), bare=True
        ),
        run=long_jobs,
        judge=_late,
        modes=("cold", "warm"),
    ),
    "stuck": Regime(
        title="300 analyses beside a job that never ends and has run for ten minutes",
        cases=_BESIDE,
        run=partial(stuck, since=600.0),
        judge=_beside_alone,
    ),
    "stuck for an hour": Regime(
        title="300 analyses beside a job that never ends and has run for an hour",
        cases=_BESIDE,
        run=partial(stuck, since=3600.0),
        judge=_beside_alone,
    ),
    "last requests": Regime(
        title=f"{_LEFT} requests of the hour are left",
        cases=_works([("40 of 10 s", [Fixed(10.0)] * 40)]),
        run=last_requests,
        judge=_soon,
    ),
    "ranges": Regime(
        title="The range of the seconds left",
        cases=_works(ranges.WORKS.items()),
        run=ranges.read,
        judge=_ranges,
    ),
}
