"""Read pages of lists, each of which may show the states of many jobs."""

from __future__ import annotations

import contextvars
import logging

import attrs

from cmsapi.errors import ClientClosedError, CMSError
from cmsapi.jobs.polling.tasks import BackgroundTasks
from cmsapi.jobs.scheduling.list_reads import Listing, ListReads
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

_ONE_ATTEMPT = CallOptions(priority=Priority.POLL, max_attempts=1)


@attrs.frozen
class ListReader:
    """Read pages of lists for the jobs that they show.

    Args:
        tasks: Runs the reads.
        lists: The lists that show the jobs of the account.
    """

    tasks: BackgroundTasks
    lists: ListReads

    def start(self, listing: Listing, caller: OperationCaller) -> None:
        """Begin to read a page, with the settings of the client of a job that is on it."""
        try:
            # In an empty context, because it is for many jobs.
            self.tasks.start(self._read(listing, caller), contextvars.Context())
        except ClientClosedError:
            # Another client may wait for jobs on it.
            self.lists.read(listing, failed=True)

    async def _read(self, listing: Listing, caller: OperationCaller) -> None:
        kind, path = listing.kind, {listing.kind.list_parameter: listing.parent}
        try:
            page = await caller.page(
                kind.model, kind.list_operation, path, number=listing.number, limit=LARGEST_PAGE, options=_ONE_ATTEMPT
            )
        except BaseException as error:
            self.lists.read(listing, failed=True)
            if isinstance(error, CMSError):
                return
            if isinstance(error, Exception):
                logger.exception("a page of a list could not be read; its jobs are polled one by one")
            raise
        # The response observer has shown its items to the jobs.
        self.lists.read(listing)
        if page.has_more and self.lists.has_unlisted_jobs:
            self.start(attrs.evolve(listing, number=listing.number + 1), caller)
