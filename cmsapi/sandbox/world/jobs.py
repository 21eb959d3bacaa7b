"""Asynchronous jobs without timers: a job's end is known at its launch and applied after the clock has passed it.

The status of a running job depends on the reading of the clock alone, so real and virtual time behave alike.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from cmsapi.sandbox.randomness.seeded import seeded_random

if TYPE_CHECKING:
    import random

    from cmsapi.sandbox.randomness.distributions import Distribution
    from cmsapi.sandbox.world.billing import Purchase

SUCCESS = "success"
FAILED = "failed"
QUEUED_FRACTION = 0.1

Failures = float | Mapping[str, float] | Callable[[str, "random.Random"], bool] | None


@attrs.define(eq=False)
class Job:
    """The truth about one job, of which a client polls the status.

    Args:
        kind: Name of its kind.
        target_id: Keyword, prompt, search, content or knowledge document of the job.
        launched_at: Moment of the launch, in seconds of the sandbox's clock.
        ends_at: Moment of the end, in the same seconds.
        outcome: `success` or `failed`; a successful generation shows `review`.
        purchase: Its price, if it has one.
        done: Whether its end was applied.
        dropped: Whether it ended without effect, because its target was deleted or another job replaced it.
        stamp: What an analysis has written to `lastAnalyzedAt`, in epoch seconds.
    """

    kind: str
    target_id: str
    launched_at: float
    ends_at: float
    outcome: str
    purchase: Purchase | None = None
    done: bool = False
    dropped: bool = False
    stamp: float | None = None

    @property
    def duration(self) -> float:
        """Seconds from launch to end."""
        return self.ends_at - self.launched_at

    def word(self, at: float, queued: str, running: str) -> str:
        """Return the status word of the running job: the first tenth of its duration it is queued."""
        return queued if at < self.launched_at + QUEUED_FRACTION * self.duration else running


class Jobs:
    """Launch jobs and determine their ends.

    Args:
        seed: Seed of durations and failures.
        distributions: Distribution of the duration, by kind.
        failures: Fraction of jobs that fail, for all kinds or by kind, or a callable `(kind, rng) -> bool`.
    """

    def __init__(self, seed: object, distributions: Mapping[str, Distribution], failures: Failures = None) -> None:
        self._seed = seed
        self._distributions = distributions
        self._failures = failures
        self._launches: Counter[tuple[str, str]] = Counter()
        self._ends: list[tuple[float, int, Job]] = []
        self.all: list[Job] = []
        self.running: dict[str, Job] = {}
        # By target: the outcome of its next jobs, and of how many; None for all.
        self._fixed: dict[str, tuple[str, int | None]] = {}
        self.next_end: float = float("inf")
        self._resume_at = float("-inf")

    def launch(self, kind: str, target_id: str, at: float, purchase: Purchase | None = None) -> Job:
        """Start a job on a target."""
        nth = self._launches[kind, target_id]
        self._launches[kind, target_id] += 1
        rng = seeded_random(self._seed, kind, target_id, nth)
        ends_at = max(at, self._resume_at) + max(0.0, self._distributions[kind](rng))
        outcome = self._take_outcome(target_id) or (FAILED if self._fails(kind, rng) else SUCCESS)
        job = Job(kind, target_id, at, ends_at, outcome, purchase)
        heapq.heappush(self._ends, (ends_at, len(self.all), job))
        self.next_end = self._ends[0][0]
        self.all.append(job)
        self.running[target_id] = job
        return job

    def due(self, at: float) -> list[Job]:
        """Return the jobs whose end has passed, in order of their ends, and mark them as done."""
        ended = []
        while self._ends and self._ends[0][0] <= at:
            job = heapq.heappop(self._ends)[2]
            if not job.done:
                self._close(job)
                ended.append(job)
        self.next_end = self._ends[0][0] if self._ends else float("inf")
        return ended

    def end_now(self, target_id: str, outcome: str, at: float) -> Job:
        """End the running job of a target.

        Raises:
            LookupError: No job runs on the target.
        """
        if target_id not in self.running:
            raise LookupError(f"no job is running on {target_id}")
        job = self.running[target_id]
        job.ends_at, job.outcome = at, outcome
        self._close(job)
        return job

    def pause(self, at: float, seconds: float) -> None:
        """Let no job make progress for some seconds; of two pauses that overlap, the one that ends later counts."""
        resume_at = max(self._resume_at, at + seconds)
        for job in self.running.values():
            job.ends_at += resume_at - max(self._resume_at, at)
        self._resume_at = resume_at
        self._ends = [(job.ends_at, number, job) for _, number, job in self._ends]
        heapq.heapify(self._ends)
        self.next_end = self._ends[0][0] if self._ends else float("inf")

    def drop(self, target_id: str) -> Job | None:
        """End the running job of a target without effect, and return it; None if no job runs."""
        job = self.running.get(target_id)
        if job is not None:
            job.dropped = True
            self._close(job)
        return job

    def fix_outcome(self, target_id: str, outcome: str | None, times: int | None) -> None:
        """Fix the outcome of the next jobs of a target, or of all if `times` is None; None leaves it to chance."""
        self._fixed.pop(target_id, None)
        if outcome is not None:
            self._fixed[target_id] = (outcome, times)

    def _take_outcome(self, target_id: str) -> str | None:
        outcome, times = self._fixed.get(target_id, (None, None))
        if times is not None:
            self.fix_outcome(target_id, outcome if times > 1 else None, times - 1)
        return outcome

    def _close(self, job: Job) -> None:
        job.done = True
        del self.running[job.target_id]

    def _fails(self, kind: str, rng: random.Random) -> bool:
        if self._failures is None:
            return False
        if callable(self._failures):
            return self._failures(kind, rng)
        fraction = self._failures.get(kind, 0.0) if isinstance(self._failures, Mapping) else self._failures
        return rng.random() < fraction
