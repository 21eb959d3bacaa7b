"""The service's jobs: analyses, searches, generations, knowledge documents (specification 3 and 4.4 to 4.6).

The status of a record changes when its job is launched and when the job ends. For some kinds, it also changes in
between. The times of the later changes are chosen at launch and pushed onto a heap. Whenever a request arrives, the
service first makes all changes that are due. There are no tasks and no timers.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import TypeAlias

from attrs import frozen

from cmsapi.sandbox.credits import Credits
from cmsapi.sandbox.durations import Distribution, Fixed, Lognormal
from cmsapi.sandbox.ledger import AcceptedLaunch, Ledger
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record, Store

QUEUED_PART = 0.1  # fraction of an analysis's duration before its status is pending


@frozen
class Kind:
    """Properties that all jobs of a kind share."""

    field: str  # the record's field that contains the status
    words: tuple[str, ...]  # at launch, and after `QUEUED_PART` of the duration
    success: str  # the word after a success
    duration: Distribution  # by default; the real durations are unknown


KINDS: Mapping[str, Kind] = {
    "analysis": Kind("analysisStatus", ("queued", "pending"), "success", Lognormal(45, 0.5)),
    "prompt": Kind("analysisStatus", ("queued", "pending"), "success", Lognormal(30, 0.5)),
    "search": Kind("status", ("pending",), "success", Lognormal(60, 0.5)),
    "generation": Kind("status", ("queued",), "review", Lognormal(150, 0.4)),
    "knowledge_document": Kind("status", ("pending",), "success", Lognormal(15, 0.5)),
}


@frozen
class Outcome:
    """How a job ends. ``word`` is the status. ``duration`` (in seconds) and ``ideas`` are sampled if they are None."""

    word: str | None = "success"
    duration: float | None = None
    ideas: int | None = None


Finished: TypeAlias = Callable[[Record, float, Outcome], None]


@frozen(eq=False)
class Job:
    """A running job."""

    record: Record  # shows its status
    launch: AcceptedLaunch
    usage: Record  # workspace, user and keyword for its credit usages
    finished: Finished | None  # called with the record, the end time and the outcome, after the status has changed


class Jobs:
    """All jobs of a service. ``durations`` is a duration for all kinds, or a mapping by kind; numbers are seconds."""

    def __init__(
        self,
        seed: int,
        store: Store,
        credits: Credits,  # noqa: A002 - the specification's word
        ledger: Ledger,
        durations: Distribution | float | Mapping[str, Distribution | float] | None,
    ) -> None:
        given: Mapping[str, Distribution | float] = {}
        if durations is not None:
            given = durations if isinstance(durations, Mapping) else dict.fromkeys(KINDS, durations)
        if unknown := set(given) - set(KINDS):
            raise ValueError(f"durations: unknown kind {min(unknown)!r}; known are {', '.join(KINDS)}")
        self._durations: dict[str, Distribution] = {}
        for name, kind in KINDS.items():
            duration = given.get(name, kind.duration)
            self._durations[name] = Fixed(duration) if isinstance(duration, int | float) else duration
        self.credits = credits
        self._store = store
        self._ledger = ledger
        self._rngs = {name: Random(f"{seed} {name}") for name in KINDS}  # noqa: S311 - made-up durations
        self._accepted: Counter[tuple[str, str]] = Counter()
        self._running: dict[str, Job] = {}
        self._moves: list[tuple[float, int, Job, str | None]] = []  # time, order, job, and new word or None for the end
        self._number = 0
        self.outcomes: dict[str, Outcome] = {}

    def check(self, kind: str, record: Record | None = None) -> None:
        """Check that a credit is left for a job of ``kind``, and that no job is running on ``record``.

        Raises:
            Refusal: 409 if either check fails.
        """
        if record is not None and record["id"] in self._running:
            raise Refusal(409, "It is already running; wait until it has ended.")
        self.credits.check(kind)

    def launch(
        self, kind: str, record: Record, *, user: Record, target: str, keyword: str, finished: Finished | None = None
    ) -> None:
        """Start a job on ``record`` without checks. ``target`` is for the ledger, ``keyword`` for the credit usage."""
        now, field, words = self._store.clock.now(), KINDS[kind].field, KINDS[kind].words
        self._accepted[kind, target] += 1
        launch = AcceptedLaunch(kind, target, now, record["id"], self._accepted[kind, target])
        self._ledger.launches.append(launch)
        job = Job(
            record, launch, {"workspaceId": record["workspaceId"], "userId": user["id"], "keyword": keyword}, finished
        )
        self.credits.launched(launch, job.usage, now)
        duration = self._outcome(launch).duration
        if duration is None:
            duration = self._durations[kind].draw(self._rngs[kind])
        record[field] = words[0]
        self._running[record["id"]] = job
        later = [(now + duration * QUEUED_PART, word) for word in words[1:]]
        for at, word in [*later, (now + duration, None)]:
            self._number += 1
            heapq.heappush(self._moves, (at, self._number, job, word))

    def advance(self, now: float) -> None:
        """Make all status changes that are due at the time ``now``."""
        while self._moves and self._moves[0][0] <= now:
            at, _, job, word = heapq.heappop(self._moves)
            if self._running.get(job.launch.job_id) is not job:
                continue  # `finish` has ended it
            if word is None:
                self._end(job, at)
            else:
                job.record[KINDS[job.launch.kind].field] = word

    def finish(self, target: str | None) -> int:
        """End all running jobs now, or only those whose target or job identifier is ``target``; return their number."""
        now = self._store.clock.now()
        self.advance(now)
        jobs = [job for job in self._running.values() if target in (None, job.launch.job_id, job.launch.target)]
        for job in jobs:
            self._end(job, now)
        return len(jobs)

    def _outcome(self, launch: AcceptedLaunch) -> Outcome:
        return self.outcomes.get(launch.job_id) or self.outcomes.get(launch.target) or Outcome()

    def _end(self, job: Job, at: float) -> None:
        del self._running[job.launch.job_id]
        outcome, kind = self._outcome(job.launch), KINDS[job.launch.kind]
        job.record[kind.field] = kind.success if outcome.word == "success" else outcome.word
        self.credits.ended(job.launch, job.usage, at, outcome.word)
        if job.finished is not None:
            job.finished(job.record, at, outcome)
