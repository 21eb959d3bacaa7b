"""What is to be done, and the service that does it: the sandbox, strict, in this process."""

from __future__ import annotations

import enum
import json
from typing import Self

import attrs

from benchmarks.fanout.durations import Distribution, Script, draw
from benchmarks.fanout.forecasts import Compared
from benchmarks.fanout.worlds import Pause, World, is_own
from cmsapi.message import Request
from cmsapi.sandbox import Behaviour, Faults, Limits, Sandbox

# One way, in seconds; always the same, so that requests arrive in the order in which they left.
ONE_WAY = 0.05
TEN_MINUTES = 600.0


class Kind(enum.Enum):
    """Name a kind of job by its name in the sandbox."""

    SEARCH = "idea_search"
    ANALYSIS = "keyword_analysis"


@attrs.frozen(kw_only=True)
class Work:
    """Describe a batch.

    Args:
        name: What the draws of its durations depend on, beside the seed.
        kind: What is launched.
        jobs: How long each item takes.
        in_flight: Jobs that may be launched and not over; None leaves that to the strategy.
        lever: Whether the service offers a way of learning of ends that is cheaper than a poll of each job.
        pages: Pages that the keywords are on; None for ten keywords a page.
        earlier: How long each item of an earlier batch takes, as many as that has; None for the same as in this one.
        world: What happens meanwhile; None for nothing.
        once: Whether one run is enough, because there is much other work like it.
        forecast: Whether the SDK says before and during the run what it takes.
    """

    name: str
    kind: Kind
    jobs: tuple[Distribution, ...]
    in_flight: int | None = None
    lever: bool = False
    pages: int | None = None
    earlier: tuple[Distribution, ...] | None = None
    world: World | None = None
    once: bool = False
    forecast: bool = False

    @property
    def results(self) -> int:
        """Requests that reading a job's result takes beyond the poll that finds it finished."""
        return 1 if self.kind is Kind.SEARCH else 0

    def durations(self, seed: int) -> list[float]:
        """Return the seconds that the items take."""
        return draw(self.jobs, self.name, seed, "measured")

    def earlier_durations(self, seed: int) -> list[float]:
        """Return the seconds that the items of an earlier batch of the same work take."""
        return draw(self.earlier or self.jobs, self.name, seed, "earlier")


@attrs.frozen
class Service:
    """Hold the service for one run, and what it is to work on.

    Args:
        work: What is done.
        sandbox: Who does it.
        items: Keywords to analyse, or topics to search.
        earlier_items: Those of the batch before.
        durations: Seconds that the items take, in their order.
    """

    work: Work
    sandbox: Sandbox
    items: tuple[str, ...]
    earlier_items: tuple[str, ...]
    durations: tuple[float, ...]

    @classmethod
    async def open(cls, work: Work, seed: int, *, earlier: bool = False) -> Self:
        """Set a service up on the running loop.

        Args:
            work: What will be done.
            seed: Seed of the sandbox and the durations.
            earlier: Whether an earlier batch comes first.
        """
        durations = work.durations(seed)
        batches = [work.earlier_durations(seed), durations] if earlier else [durations]
        count = sum(map(len, batches))
        sandbox = Sandbox(
            seed=seed,
            keywords=count if work.kind is Kind.ANALYSIS and work.pages is None else 0,
            contents=len(batches) * (work.pages or 1),
            limits=Limits(),
            durations={work.kind.value: Script(second for batch in batches for second in batch)},
            faults=Faults(latency=(ONE_WAY, ONE_WAY)),
            behaviour=Behaviour(
                keyword_items="full" if work.lever else "bare",
                ideas_before_success="conflict" if work.lever else "empty",
            ),
        )
        if work.kind is Kind.SEARCH:
            items = [f"topic {number}" for number in range(count)]
        elif work.pages is None:
            items = list(sandbox.keyword_ids)
        else:
            items = await _keywords(sandbox, count)
        measured = len(items) - len(durations)
        return cls(work, sandbox, tuple(items[measured:]), tuple(items[:measured]), tuple(durations))

    async def begin(self) -> None:
        """Let happen what happens beside the batch, and wait until that begins."""
        if self.work.world is not None:
            await self.work.world.begin(self.sandbox)


async def _keywords(sandbox: Sandbox, count: int) -> list[str]:
    """Add keywords to the pages in equal parts, with a key whose requests are not measured."""
    headers = {"Authorization": f"Bearer {sandbox.member_key}", "Content-Type": "application/json"}
    identifiers = []
    for number in range(count):
        page_id = sandbox.page_ids[number * len(sandbox.page_ids) // count]
        body = json.dumps({"keyword": f"keyword {number}"}).encode()
        url = f"{sandbox.base_url}/v1/pages/{page_id}/keywords"
        response = await sandbox.transport.send(Request("POST", url, headers, body))
        identifiers.append(json.loads(response.body)["id"])
    return identifiers


@attrs.frozen
class Outcome:
    """Hold what a batch came to. Times are in seconds.

    Args:
        all_in_hand: From its begin until the last result was in hand.
        turnaround: From its begin until a result was in hand, on average.
        lateness: From a job's end until its result was in hand, on average.
        soon: Results in hand after ten minutes.
        requests: Requests for each job.
        refused: Requests that were answered with 429.
        forecasts: What the SDK forecast of it.
    """

    all_in_hand: float
    turnaround: float
    lateness: float
    soon: int
    requests: float
    refused: int
    forecasts: tuple[Compared, ...] = ()


class Stopwatch:
    """Measure a batch.

    Args:
        service: Who does it.
        now: The loop's time; the batch begins.
    """

    def __init__(self, service: Service, now: float) -> None:
        self._service = service
        self._begun = now
        self._seen = len(service.sandbox.ledger)
        self._launched = len(service.sandbox.jobs)
        self._in_hand: list[float] = []

    def in_hand(self, now: float) -> None:
        """Note that a result has come."""
        self._in_hand.append(now)

    def outcome(self) -> Outcome:
        """Return what the batch came to.

        Raises:
            RuntimeError: It did not do what it was to do, so that its figures mean nothing.
        """
        jobs = self._service.sandbox.jobs[self._launched :]
        count = len(self._service.items)
        if not count == len(jobs) == len(self._in_hand):
            raise RuntimeError(f"{count} items, {len(jobs)} launches, {len(self._in_hand)} results")
        met = sorted(job.duration for job in jobs)
        paused = isinstance(self._service.work.world, Pause)
        if not paused and any(
            abs(one - other) > 1e-3 for one, other in zip(met, sorted(self._service.durations), strict=True)
        ):
            raise RuntimeError("the jobs took other times than those drawn")
        entries = [entry for entry in self._service.sandbox.ledger[self._seen :] if is_own(entry)]
        return Outcome(
            all_in_hand=max(self._in_hand) - self._begun,
            turnaround=sum(self._in_hand) / count - self._begun,
            lateness=(sum(self._in_hand) - sum(job.ends_at for job in jobs)) / count,
            soon=sum(moment <= self._begun + TEN_MINUTES for moment in self._in_hand),
            requests=len(entries) / count,
            refused=sum(entry.status == 429 for entry in self._service.sandbox.ledger if is_own(entry)),
        )
