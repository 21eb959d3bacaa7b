"""Let one process at a time poll a job: the process that holds the job's entry in the journal."""

from __future__ import annotations

import asyncio
import logging

from cmsapi.errors import CMSError, StateError
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.journal.leases import FOLLOW
from cmsapi.jobs.tracked import Record, TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

# One round of so many tries to hold an entry that another process holds; the other rounds only check it.
CLAIM_EVERY = 5


async def acquire(job: TrackedJob, record: Record, journal: LaunchJournal) -> None:
    """Wait until no other process polls a job, or until the job has no waiters.

    The job is polled without its entry when the state cannot be reached: two streams of polls are better than none.

    Raises:
        CMSError: The client cannot tell whose journal it is.
    """
    try:
        await journal.open(job.settings.read_user)
        rounds = 0
        while job.subscribed and not await journal.acquire(record, claim=rounds % CLAIM_EVERY == 0):
            rounds += 1
            await asyncio.sleep(FOLLOW)
    except StateError as error:
        logger.warning("Journal unavailable; polling %r anyway: %s", job, error)
        record.free = True
    except CMSError:
        raise
    except Exception:
        # A mistake, of a state or of this package: no code awaits this task, and the waiters would never wake.
        logger.exception("Journal unavailable; polling %r anyway", job)
        record.free = True
