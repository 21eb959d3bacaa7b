"""Read pages of lists, each of which may show the states of many jobs."""

from __future__ import annotations

import contextvars
import logging

import attrs

from cmsapi.errors import ClientClosedError, CMSError
from cmsapi.jobs.polling.tasks import BackgroundTasks
from cmsapi.jobs.scheduling.list_page import Listing
from cmsapi.jobs.scheduling.list_reads import ListReads
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import REQUEST_COUNT, CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

_ONE_ATTEMPT = CallOptions(priority=Priority.POLL, max_attempts=1)


def start_read(lists: ListReads, tasks: BackgroundTasks, listing: Listing, job: TrackedJob) -> None:
    """Begin to read a page of a list, with the settings of the client of a job that is on it."""
    # In an empty context, because it is for many jobs. The fan-out of this one counts the request.
    context = contextvars.Context()
    if job.context is not None:
        context.run(REQUEST_COUNT.set, job.context.get(REQUEST_COUNT))
    try:
        tasks.start(_read(lists, listing, job.settings.caller), context)
    except ClientClosedError:
        # Another client may wait for jobs on it.
        lists.read(listing, failed=True)


async def _read(lists: ListReads, listing: Listing, caller: OperationCaller) -> None:
    """Read a page of a list, and the pages after it while they may show jobs whose pages are not known.

    The response observer shows the items to the jobs.
    """
    kind, path, begun = listing.kind, {listing.kind.list_parameter: listing.parent}, listing.number
    seen: set[object] = set()
    while True:
        found = lists.found
        try:
            page = await caller.page(
                kind.model, kind.list_operation, path, number=listing.number, limit=LARGEST_PAGE, options=_ONE_ATTEMPT
            )
        except BaseException as error:
            lists.read(listing, failed=True)
            if isinstance(error, CMSError):
                return
            if isinstance(error, Exception):
                logger.exception("a page of a list could not be read; its jobs are polled one by one")
            raise
        lists.read(listing)
        if listing.number > begun and lists.found == found:
            lists.read_in_vain()
        shown = {getattr(item, "id", None) for item in page}
        # A service whose `hasMore` is never false, or that does not know `page`, would be read for ever.
        if shown <= seen or not (page.has_more and lists.reads_on):
            return
        seen |= shown
        listing = attrs.evolve(listing, number=listing.number + 1)
