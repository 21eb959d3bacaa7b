"""Hold the entries of jobs in the journal, so that one process polls each job and the others follow the journal."""

from __future__ import annotations

import asyncio
import logging

from cmsapi.errors import CMSError, StateError
from cmsapi.jobs.journal.heartbeat import FOLLOW
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.tracked import Record, TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

# One of so many tries to hold an entry that another process holds claims it; the others only see whether it is there.
_CLAIM_EVERY = 5


class EntryClaims:
    """Claim the entries of the jobs of one poller.

    Args:
        journal: The journal with the entries.
    """

    def __init__(self, journal: LaunchJournal) -> None:
        self._journal = journal

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

    async def acquire(self, job: TrackedJob, record: Record) -> None:
        """Wait until no other process polls a job.

        It is polled without its entry when the state cannot be reached: two streams of polls are better than none.

        Raises:
            CMSError: It cannot be told whose journal it is.
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
        except CMSError:
            raise
        except Exception:
            # A mistake, of a state or of this package: no code awaits this task, and the waiters would never wake.
            logger.exception("Journal unavailable; polling %r anyway", job)
            record.pollable = True
