"""Compare fan-outs with cmsapi, cold and warm, and with handwritten loops, on the sandbox in virtual time.

``python -m benchmarks.fanout [--rows TEXT …] [--seeds FIRST LAST] [--strategies NAME …]``

A cell shows mean turnaround / last result, both as ratios to the oracle's (see `benchmarks.work.oracle`), and the
requests per job. All strategies use cmsapi's limiter. "cold" is a new client; "warm" is a client that has run 60 jobs
of each kind with the same durations, and then been idle for an hour; "plus one" is cold, with a service that announces
one more idea than it lists. ``!`` marks figures above their target (the bar), ``h`` fan-outs that end an hour late.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from attrs import evolve, frozen

from benchmarks.work import HOUR, Item, Work, around, exactly, invent, make, oracle
from cmsapi import Client
from cmsapi.messages import Request, Response
from cmsapi.sandbox import Fault, Faults, Limits, Sandbox
from tests.support.strict import virtually

LATENCY = 0.1  # seconds per request
LOOPS: dict[str, Callable[[random.Random], Iterator[float]]] = {
    "5 to 10 s": lambda rng: iter(lambda: rng.uniform(5, 10), None),
    "30 s": lambda rng: iter(lambda: 30.0, None),
    "backoff": lambda rng: (min(60.0, 5.0 * 2**number) for number in range(10**6)),
}
STRATEGIES = ["cold", "warm", *LOOPS]
Bars: TypeAlias = tuple[float, float | None]  # of the mean turnaround, and of the last result
ORDINARY: Bars = (2.5, 1.8)
RANDOM: Bars = (3.2, 1.5)
NO_BAR: Bars = (1e9, None)
refused = [0]  # 429s in each run


class Wire:
    """Sandbox transport that records when requests leave, and adds ``added`` to each announced number of ideas."""

    def __init__(self, box: Sandbox, added: int) -> None:
        self.box, self.added = box, added
        self.times: list[float] = []

    async def send(self, request: Request) -> Response:
        """Record the time, send ``request``, and return the response with the added ideas."""
        self.times.append(asyncio.get_running_loop().time())
        response = await self.box.transport.send(request)
        if self.added and b'"nbContentIdeas"' in response.body:
            document = json.loads(response.body)
            if document["nbContentIdeas"] is not None:
                document["nbContentIdeas"] += self.added
                return evolve(response, body=json.dumps(document).encode())
        return response

    async def aclose(self) -> None:
        """Do nothing: there is no connection to close."""


class Program:
    """A program under test: its client, and a sandbox that is set up for all its jobs."""

    def __init__(self, items: Sequence[Item], used: int, faults: Sequence[Fault], added: int) -> None:
        names = [f"word {number}" for number in range(len(items))]
        plenty = {"analysis": 10**6, "contentIdeasSearches": 10**6}
        faults_and_latency = Faults(list(faults), LATENCY)
        # The calendars of client and service differ, as in real life.
        self.box = box = Sandbox(
            keywords=names, limits=Limits(used=used), faults=faults_and_latency, credits=plenty, clock_skew=-4000
        )
        self.items, self.targets = items, []
        for name, keyword, item in zip(names, box.keyword_ids, items, strict=True):
            self.targets.append(keyword if item.kind == "analysis" else name)
            box.set_outcome(self.targets[-1], "success", duration=item.seconds, ideas=10)
        self.wire = Wire(box, added)
        self.client = Client(box.api_key, base_url=box.base_url, transport=self.wire)
        self.ends: dict[int, float] = {}

    def launch(self, number: int) -> Awaitable[Any]:
        """Return an awaitable that launches job ``number`` with cmsapi."""
        client, target = self.client, self.targets[number]
        match self.items[number].kind:
            case "analysis":
                return client.keywords.analyze(target)
            case "search":
                return client.content_ideas.search(self.box.workspace_id, target)
            case _:
                return client.knowledge_documents.create(self.box.workspace_id, target, text="x")

    async def by_cmsapi(self, numbers: Sequence[int], in_flight: int | None) -> None:
        """Run jobs as users of cmsapi do: in a fan-out per kind, or, if launches are spread out, in a task per job."""
        if any(self.items[number].at for number in numbers):

            async def alone(number: int) -> None:
                await asyncio.sleep(self.items[number].at)
                await (await self.launch(number))
                self.ends[number] = asyncio.get_running_loop().time()

            await asyncio.gather(*map(alone, numbers))
            return

        async def fan_out(some: list[int]) -> None:
            async for outcome in self.client.jobs.map(self.launch, some, in_flight=in_flight or "auto"):
                if outcome.error is not None:
                    raise outcome.error
                self.ends[outcome.item] = asyncio.get_running_loop().time()

        kinds = dict.fromkeys(self.items[number].kind for number in numbers)
        await asyncio.gather(*(fan_out([each for each in numbers if self.items[each].kind == kind]) for kind in kinds))

    async def by_hand(self, numbers: Sequence[int], in_flight: int | None, loop_name: str) -> None:
        """Run jobs as programs without cmsapi do: a task per job launches it, then sleeps and polls until it ends."""
        slots, place = asyncio.Semaphore(in_flight or len(numbers)), f"/v1/workspaces/{self.box.workspace_id}"
        ask = self.client.request

        async def start(number: int) -> str:
            item, target = self.items[number], self.targets[number]
            if item.kind == "analysis":
                await ask("POST", f"/v1/keywords/{target}/analyze")
                return f"/v1/keywords/{target}"
            if item.kind == "search":
                answer = await ask("POST", f"{place}/content-idea-searches", json={"keyword": target})
                return f"/v1/content-idea-searches/{answer.json()['id']}"
            answer = await ask("POST", f"{place}/knowledge-documents", json={"name": target, "text": "x"})
            return f"/v1/knowledge-documents/{answer.json()['id']}"

        async def one(number: int) -> None:
            await asyncio.sleep(self.items[number].at)
            async with slots:
                path = await start(number)
                for delay in LOOPS[loop_name](random.Random(number)):
                    await asyncio.sleep(delay)
                    document = (await ask("GET", path)).json()
                    if document.get("status", document.get("analysisStatus")) == "success":
                        break
                if self.items[number].kind == "search":
                    await ask("GET", f"{path}/content-ideas")
                self.ends[number] = asyncio.get_running_loop().time()

        await asyncio.gather(*map(one, numbers))


@frozen
class Run:
    """Result of one strategy.

    Attributes:
        ends: Seconds from the start to each result.
        late: Seconds from the end of each job at the service to its result.
        times: Seconds from the start to the sending of each request.
    """

    ends: list[float]
    late: list[float]
    times: list[float]

    def mean(self, items: Sequence[Item]) -> float:
        """Return the mean turnaround in seconds, from the earliest launch time of each item to its result."""
        return statistics.mean(end - item.at for end, item in zip(self.ends, items, strict=False))


async def run(
    work: Work,
    strategy: str,
    *,
    faults: Sequence[Fault] = (),
    rest: float = HOUR,
    endless: bool = False,
) -> Run:
    """Run ``work`` with one strategy, and append its number of 429s to `refused`.

    Args:
        work: Jobs to run.
        strategy: ``cold``, ``warm``, ``plus one``, or the name of a loop in `LOOPS`.
        faults: Faults of the sandbox.
        rest: Seconds between the earlier jobs of a warm client and the work.
        endless: True also runs one job that never ends, beside the work.
    """
    earlier = work.earlier if strategy == "warm" else ()
    items = (*earlier, *work.items, *([Item("analysis", 1e7)] * endless))
    program = Program(items, work.used, faults, added=int(strategy == "plus one"))
    loop, first = asyncio.get_running_loop(), len(earlier)
    numbers = range(first, first + len(work.items))
    async with program.client:
        if earlier:
            await program.by_cmsapi(range(first), None)
            await asyncio.sleep(rest)
        began, before = loop.time(), len(program.wire.times)
        stuck = asyncio.ensure_future((await program.launch(len(program.items) - 1)).wait()) if endless else None
        if strategy in LOOPS:
            await program.by_hand(numbers, work.in_flight, strategy)
        else:
            await program.by_cmsapi(numbers, work.in_flight)
        if stuck is not None:
            stuck.cancel()
    refused.append(program.box.ledger.count(status=429))
    launched = {launch.target: launch.time for launch in program.box.ledger.launches}
    ended = [launched[program.targets[number]] + program.items[number].seconds for number in numbers]
    return Run(
        ends=[program.ends[number] - began for number in numbers],
        late=[program.ends[number] - end for number, end in zip(numbers, ended, strict=True)],
        times=[at - began for at in program.wire.times[before:]],
    )


def tell(name: str, measure: Callable[[], str]) -> None:
    """Call ``measure`` and print its figures as a line of the table, with the number of 429s if there were any."""
    before, figures = sum(refused), measure()
    count = sum(refused) - before
    print(f"{name:48}{figures}{f' {count} answers with 429 !' * (count > 0)}", flush=True)


@frozen
class Cell:
    """Figures of one strategy: ``mean`` turnaround and ``last`` result as ratios to the oracle's, requests per job."""

    mean: float
    last: float
    each: float
    missed: bool

    def text(self, bars: Bars) -> str:
        """Return the figures, with ``!`` if one exceeds its bar, and ``h`` if the last result is an hour late."""
        over = self.mean > bars[0] or (bars[1] is not None and self.last > bars[1])
        marks = "!" * over + "h" * self.missed
        return f"{self.mean:6.2f} /{self.last:5.2f}{self.each:6.2f} {marks:2}"


def compare(work: Work, strategies: Sequence[str]) -> dict[str, Cell]:
    """Run ``work`` with each strategy, and return the figures by strategy."""
    best = oracle(work)
    mean = Run(best, [], []).mean(work.items)
    cells = {}
    for strategy in strategies:
        came = virtually(run(work, strategy))
        last = max(came.ends)
        missed = max(best) < HOUR / 2 and last > 0.8 * HOUR
        each = len(came.times) / len(work.items)
        cells[strategy] = Cell(came.mean(work.items) / mean, last / max(best), each, missed)
    return cells


def line(cells: dict[str, Cell], bars: Bars, barred: Sequence[str]) -> str:
    """Return the bars and each strategy's figures as text; only figures of ``barred`` strategies can get a ``!``."""
    figures = [cell.text(bars if name in barred else NO_BAR) for name, cell in cells.items()]
    return f"{bars[0]:.2f} / {'' if bars[1] is None else f'{bars[1]:.2f}':6}{''.join(figures)}"


def named(work: Work, bars: Bars, barred: Sequence[str], strategies: Sequence[str]) -> str:
    """Run ``work`` with each strategy, and return the bars and figures as a line of the table."""
    return line(compare(work, strategies), bars, barred)


def three_kinds() -> Work:
    """Return work of three kinds: 100 analyses, 100 searches and 100 documents, all to be launched at once."""
    parts = [
        make("three kinds at once: 100 each of 40, 120, 20 s", 100, kind, around(median))
        for kind, median in (("analysis", 40), ("search", 120), ("document", 20))
    ]
    return evolve(parts[0], items=sum((part.items for part in parts), ()), earlier=sum((p.earlier for p in parts), ()))


NAMED: list[tuple[Work, Bars, list[str]]] = [
    *(
        (work, ORDINARY, ["cold", "warm"])
        for work in (
            make("300 searches of 60 s", 300, "search", around(60)),
            make("300 searches of exactly 60 s", 300, "search", exactly(60)),
            make("450 analyses of 60 s", 450, "analysis", around(60)),
            make("450 analyses of exactly 60 s", 450, "analysis", exactly(60)),
            make("500 searches of 60 s", 500, "search", around(60)),
            make("300 searches, half of 20 s, half of 300 s", 300, "search", exactly(20, 300)),
            make("300 analyses, half of 20 s, half of 300 s", 300, "analysis", exactly(20, 300)),
            three_kinds(),
            make("400 analyses of 90 s, in_flight=20", 400, "analysis", around(90), in_flight=20),
            make("120 analyses of 90 s, one every 30 s", 120, "analysis", around(90), every=30),
            make("300 analyses of 60 s, one every 12 s", 300, "analysis", around(60), every=12),
            make("300 analyses of 60 s, 333 of the hour used", 300, "analysis", around(60), used=333),
        )
    ),
    (make("warm: 300 searches of 75 s", 300, "search", around(75)), (1.8, None), ["warm"]),
    (make("warm: 440 analyses of 48 s", 440, "analysis", around(48)), (2.0, None), ["warm"]),
    (make("warm: 280 searches of 25 or 240 s", 280, "search", exactly(25, 240)), (1.45, None), ["warm"]),
]


def late(count: int, minutes: int, *, warm: bool) -> str:
    """Run ``count`` jobs of ``minutes`` each; if ``warm``, run 100 one-minute jobs first. Return the worst delay."""
    work = Work("", (Item("analysis", 60.0 * minutes),) * count, (Item("analysis", 60.0),) * 100)
    came = virtually(run(work, "warm" if warm else "cold", rest=0.0))
    worst, bar = max(came.late), 15 + 4 * count
    return f"worst {worst:4.0f} s late (bar {bar} s), {len(came.times)} requests{' !' * (worst > bar)}"


def beside_an_endless_one() -> str:
    """Run 300 jobs alone, then beside a job that never ends; return the ratio of the mean turnarounds as text."""
    work = make("beside", 300, "analysis", around(60))
    alone, beside = virtually(run(work, "cold")), virtually(run(work, "cold", endless=True))
    ratio = beside.mean(work.items) / alone.mean(work.items)
    return f"mean {ratio:.2f} of alone (bar 1.15){' !' * (ratio > 1.15)}"


def outage(fault: Fault) -> str:
    """Run 300 jobs with ``fault``, and return the number of requests during it and the time of the last result."""
    work = make("outage", 300, "analysis", around(60))
    alone, came = virtually(run(work, "cold")), virtually(run(work, "cold", faults=[fault]))
    meanwhile = sum(fault.since < at < fault.until for at in came.times)
    last, bar = max(came.ends), fault.until - fault.since + 60 + max(alone.ends)
    return (
        f"{meanwhile} requests meanwhile (bar 40), last {last:.0f} s (bar {bar:.0f} s)"
        f"{' !' * (meanwhile > 40 or last > bar)}"
    )


def announced(work: Work) -> str:
    """Run ``work`` on a service that announces one more idea than it lists; return ratios to an ordinary service."""
    honest, more = virtually(run(work, "cold")), virtually(run(work, "plus one"))
    ratio, last = more.mean(work.items) / honest.mean(work.items), max(more.ends) / max(honest.ends)
    return f"mean {ratio:.2f}, last {last:.2f} of an honest service (bar 1.05){' !' * (max(ratio, last) > 1.05)}"


OTHERS: dict[str, Callable[[], str]] = {
    **{
        f"{count} of {minutes} min{', after a hundred of a minute' * warm}": partial(late, count, minutes, warm=warm)
        for count, minutes in ((1, 120), (2, 120), (3, 120), (5, 120), (4, 50), (12, 90), (30, 30))
        for warm in (False, True)
    },
    "300 beside one that never ends": beside_an_endless_one,
    "300, no more than 503 for ten minutes": lambda: outage(Fault(status=503, since=30, until=630)),
    "300, connections refused for ten minutes": lambda: outage(Fault(refuse=True, since=30, until=630)),
    "300 searches, one more idea announced": lambda: announced(make("announced", 300, "search", around(60))),
    "150 searches, one more idea announced": lambda: announced(make("announced", 150, "search", around(150, 0.8))),
}


def summary(tables: Sequence[dict[str, Cell]]) -> None:
    """Print each strategy's median and worst figures over all random fan-outs."""
    for name in tables[0]:
        means, lasts = [t[name].mean for t in tables], [t[name].last for t in tables]
        print(
            f"{name:10} mean turnaround: median {statistics.median(means):.2f}, worst {max(means):.2f}; last result: "
            f"median {statistics.median(lasts):.2f}, worst {max(lasts):.2f}; {sum(t[name].missed for t in tables)} of "
            f"{len(tables)} an hour late"
        )


def fan_outs(works: Sequence[Work], strategies: Sequence[str]) -> None:
    """Run random fan-outs. Bars: mean 1.30 (median) and 3.2 (worst), last result 1.5 (worst), none an hour late."""
    tables: list[dict[str, Cell]] = []

    def one(work: Work) -> str:
        tables.append(compare(work, strategies))
        return line(tables[-1], RANDOM, ["cold", "warm", "plus one"])

    for work in works:
        tell(work.name, partial(one, work))
    summary(tables)


def main() -> None:
    """Run the rows and random fan-outs that the arguments choose; by default, all rows and no random fan-outs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", help="parts of names of rows; no part selects no row")
    parser.add_argument("--seeds", nargs=2, type=int, metavar=("FIRST", "LAST"), help="random fan-outs")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES, choices=[*STRATEGIES, "plus one"])
    given = parser.parse_args()
    wanted = ([] if given.seeds else [""]) if given.rows is None else given.rows
    print(f"{'':48}{'bar':13}{''.join(f'{name:^23}' for name in given.strategies)}")
    for work, bars, barred in NAMED:
        if any(part in work.name for part in wanted):
            tell(work.name, partial(named, work, bars, barred, given.strategies))
    for name, measure in OTHERS.items():
        if any(part in name for part in wanted):
            tell(name, measure)
    if given.seeds:
        fan_outs([invent(seed) for seed in range(given.seeds[0], given.seeds[1] + 1)], given.strategies)
    print(f"429s in all of these: {sum(refused)}")


if __name__ == "__main__":
    main()
