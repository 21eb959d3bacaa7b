"""Hold the entries of jobs in the journal, so that one process polls each job and the others follow the journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from cmsapi.errors import CMSError, StateError
from cmsapi.jobs.journal.heartbeat import FOLLOW
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.polling.tasks import BackgroundTasks
from cmsapi.jobs.tracked import Record, TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

# One of so many tries to hold an entry that another process holds claims it; the others only see whether it is there.
_CLAIM_EVERY = 5


class EntryClaims:
    """Claim the entries of the jobs of one poller.

    Args:
        journal: The journal with the entries.
        tasks: Runs what waits for an entry.
        schedule: Has a job polled whose entry is held, or tries again to hold it.
        unsubscribe: Stops polling a job that no caller waits for any more.
    """

    def __init__(
        self,
        journal: LaunchJournal,
        tasks: BackgroundTasks,
        schedule: Callable[[TrackedJob], None],
        unsubscribe: Callable[[TrackedJob], None],
    ) -> None:
        self._journal = journal
        self._tasks = tasks
        self._schedule = schedule
        self._unsubscribe = unsubscribe

    async def held_elsewhere(self, job: TrackedJob) -> bool:
        """Tell whether another process that shares the state polls a job; its end shows in the journal."""
        record = job.record
        if record is None or not self._journal.state.shared:
            return False
        try:
            mine = await self._journal.acquire(record)
        except StateError as error:
            logger.warning("Journal unavailable; polling %r anyway: %s", job, error)
            return False
        if record.held and record.idle:
            # This process only asks.
            self._journal.leases.release_later(record)
        return not mine

    def begin(self, job: TrackedJob, record: Record) -> None:
        """Begin to wait for the entry of a job, unless that is under way."""
        if not job.acquiring:
            job.acquiring = True
            self._tasks.start(self._acquire(job, record)).add_done_callback(lambda task: self._begin_anew(job, task))

    async def _acquire(self, job: TrackedJob, record: Record) -> None:
        """Have a job polled once no other process polls it.

        It is polled without its entry when the state cannot be reached: two streams of polls are better than none.
        """
        try:
            await self._journal.open(job.settings.read_user)
            rounds = 0
            while job.has_subscribers and not await self._journal.acquire(record, claim=rounds % _CLAIM_EVERY == 0):
                rounds += 1
                await asyncio.sleep(FOLLOW)
        except StateError as error:
            logger.warning("Journal unavailable; polling %r anyway: %s", job, error)
            record.pollable = True
        except CMSError as error:
            # It cannot be told whose journal it is.
            job.wake(error)
            self._unsubscribe(job)
            if job.has_subscribers:
                # Events, listeners and review hooks outlast a request that failed.
                await asyncio.sleep(job.settings.policy.max_interval)
        except Exception:
            # A mistake, of a state or of this package: no code awaits this task, and the waiters would never wake.
            logger.exception("Journal unavailable; polling %r anyway", job)
            record.pollable = True
        finally:
            job.acquiring = False
        self._schedule(job)

    def _begin_anew(self, job: TrackedJob, acquiring: asyncio.Task[None]) -> None:
        """Begin again after other code has cancelled that, perhaps before it began; the end of the client does, too."""
        if acquiring.cancelled():
            job.acquiring = False
            asyncio.get_running_loop().call_later(FOLLOW, self._schedule, job)
