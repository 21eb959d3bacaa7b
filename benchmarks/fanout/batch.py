"""Run a batch by a strategy: launch, poll when the strategy says so, read the result.

Requests go through the pipeline of the SDK and its limiter, which no strategy can get past. Launches go first, results
before polls. Nothing of the SDK's jobs is used.
"""

from __future__ import annotations

import asyncio
import bisect
from typing import Protocol

import attrs

from benchmarks.fanout.work import Kind, Outcome, Service, Stopwatch
from cmsapi import OPERATIONS, RateLimits, RetryPolicy, Timeouts
from cmsapi.api.wire.converter import Converter
from cmsapi.config import Account
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.transport.answers import ServerClock
from cmsapi.transport.call import Call, CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.pipeline import Pipeline
from cmsapi.transport.requests import RequestBuilder


class Caller:
    """Send requests of one account.

    Args:
        service: Where they go.
    """

    def __init__(self, service: Service) -> None:
        # To the last token: what the SDK keeps for other calls is its own choice.
        limits = RateLimits(reserve=0)
        sandbox = service.sandbox
        self._limiter = RateLimiter(SlidingWindows(limits.per_second, limits.per_hour, reserve=limits.reserve))
        pipeline = Pipeline(
            transport=sandbox.transport,
            clock=ServerClock(),
            retry=RetryPolicy(),
            timeouts=Timeouts(),
        )
        builder = RequestBuilder(Account.resolve(sandbox.api_key, sandbox.base_url), "benchmark")
        self._caller = OperationCaller(OPERATIONS, builder, pipeline, Converter(), lambda: self._limiter)
        self._workspace = sandbox.workspace_id
        self._kind = service.work.kind
        self._settled: list[float] = []

    @property
    def remaining(self) -> int:
        """Tokens that the hour has left."""
        return self._limiter.snapshot().remaining or 0

    def returns(self, now: float) -> list[float]:
        """Return when the tokens that are out come back, in order."""
        return [moment + HOUR for moment in self._settled[bisect.bisect_right(self._settled, now - HOUR) :]]

    async def launch(self, item: str) -> tuple[str, float]:
        """Launch a job; return what to poll, and when the request left."""
        if self._kind is Kind.SEARCH:
            path, body = {"workspaceId": self._workspace}, {"keyword": item}
            exchange = await self._send("start_content_idea_search", path, Priority.LAUNCH, body)
            return exchange.document["id"], exchange.sent_at
        exchange = await self._send("analyze_keyword", {"keywordId": item}, Priority.LAUNCH)
        return item, exchange.sent_at

    async def poll(self, target: str) -> tuple[bool, float]:
        """Look at a job; return whether it is over, and when the request left."""
        if self._kind is Kind.SEARCH:
            exchange = await self._send("get_content_idea_search", {"contentIdeaSearchId": target}, Priority.POLL)
            return exchange.document["status"] == "success", exchange.sent_at
        exchange = await self._send("get_keyword", {"keywordId": target}, Priority.POLL)
        return exchange.document["analysisStatus"] == "success", exchange.sent_at

    async def read(self, target: str) -> None:
        """Read the result of a job that is over, where it is more than the poll has shown."""
        if self._kind is Kind.SEARCH:
            await self._send("list_content_ideas", {"contentIdeaSearchId": target}, Priority.RESULT)

    async def _send(
        self, operation: str, path: dict[str, str], priority: Priority, body: dict[str, str] | None = None
    ) -> Call:
        exchange = await self._caller.exchange(operation, path, body=body, options=CallOptions(priority=priority))
        self._settled.append(asyncio.get_running_loop().time())
        return exchange


@attrs.define(eq=False)
class Watched:
    """Follow one job of a batch.

    Args:
        number: Its place in the batch.
        target: Identifier of what is polled.
        launched_at: Loop time at which its launch left.
        age: Seconds from there to the last poll that found it running.
        polls: Polls so far.
    """

    number: int
    target: str
    launched_at: float
    age: float = 0.0
    polls: int = 0


class Strategy(Protocol):
    """Say when to launch the next job, and when to poll one."""

    async def admit(self) -> None:
        """Wait until another job should be launched."""

    async def until_due(self, job: Watched) -> None:
        """Wait until a job should be polled."""


class Batch:
    """Run a batch.

    Args:
        service: Who does the work.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.caller = Caller(service)
        self.to_launch = len(service.items)
        # Launched and not seen to be over.
        # In the order of their launches, as a set would not keep them: a run must give the same figures again.
        self.running: dict[Watched, None] = {}
        # Over, with a result still to be read.
        self.ready = 0

    async def run(self, strategy: Strategy) -> Outcome:
        """Run it by a strategy, once."""
        loop = asyncio.get_running_loop()
        stopwatch = Stopwatch(self.service, loop.time())
        free = asyncio.Semaphore(self.service.work.in_flight or len(self.service.items))

        async def one(number: int, item: str) -> None:
            await self._job(number, item, strategy)
            stopwatch.in_hand(loop.time())
            free.release()

        async with asyncio.TaskGroup() as jobs:
            for number, item in enumerate(self.service.items):
                await free.acquire()
                await strategy.admit()
                jobs.create_task(one(number, item))
        return stopwatch.outcome()

    async def _job(self, number: int, item: str, strategy: Strategy) -> None:
        target, launched_at = await self.caller.launch(item)
        self.to_launch -= 1
        job = Watched(number, target, launched_at)
        self.running[job] = None
        over = False
        while not over:
            await strategy.until_due(job)
            over, polled_at = await self.caller.poll(target)
            job.polls += 1
            job.age = polled_at - launched_at
        del self.running[job]
        self.ready += 1
        await self.caller.read(target)
        self.ready -= 1
