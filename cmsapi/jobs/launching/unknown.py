"""What follows when it is unknown whether a launch happened: an error that says what is known, or a repetition."""

from __future__ import annotations

import asyncio
import inspect

from cmsapi.config import LaunchPolicy
from cmsapi.errors import LaunchUnknownError, LeaseLostError, StateError
from cmsapi.jobs.errors import sent_times, unknown_launch
from cmsapi.jobs.journal.journal import LONGEST_REASON
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import Record
from cmsapi.state.journal import Entry

STAYS_OPEN = "it stays in the journal: the next launch of the same, or jobs.resume, reconciles it again"
# A launch that joins none has an entry of its own.
STAYS_APART = (
    "it stays in the journal: jobs.resume reconciles it again; another launch of the same is paid for on its own"
)


async def raise_unknown(
    poller: Poller,
    policy: LaunchPolicy,
    request: LaunchRequest,
    record: Record,
    why: str,
    said: str,
    cause: BaseException | None = None,
    *,
    last: bool = False,
) -> None:
    """Record that it is unknown whether a launch happened, and raise that, unless the policy repeats the launch.

    Args:
        poller: The poller of the client.
        policy: Whether such a launch is repeated.
        request: The launch.
        record: Its entry.
        why: Why it is unknown.
        said: What came instead of an answer.
        cause: The same as an error, if there is one.
        last: Whether it has been repeated as often as it may be.

    Raises:
        LaunchUnknownError: It is not repeated.
    """
    journal = poller.journal
    unknown = unknown_error(poller, request, record.entry, said, found=why)
    wish = "raise" if last else policy.on_unknown
    if callable(wish):
        wish = wish(unknown)
        if inspect.isawaitable(wish):
            wish = await wish
    if wish == "repeat":
        # Whatever becomes of the repetition, this attempt stays in doubt.
        await journal.write(record, facts={**record.entry.facts, "doubt": why[:LONGEST_REASON]})
        return
    try:
        await journal.record_unknown(record, why)
    except (StateError, LeaseLostError):
        # The doubt is about money, and more important than that it could not be written down.
        unknown = unknown_error(poller, request, record.entry, said, found=why, stays_for=policy)
    raise unknown from cause


def unknown_error(
    poller: Poller,
    request: LaunchRequest,
    entry: Entry,
    said: str,
    *,
    found: str | None = None,
    stays_for: LaunchPolicy | None = None,
) -> LaunchUnknownError:
    """Make the error of a launch that may have happened, with what is known of it.

    Args:
        poller: The poller of the client.
        request: The launch.
        entry: Its entry.
        said: What came instead of an answer.
        found: What was found out since, or None when nothing was.
        stays_for: The policy of a launch that stays in the journal, None when it does not.
    """
    now, wall = asyncio.get_running_loop().time(), poller.journal.wall()
    evidence = {
        "operation": request.kind.launch_operation,
        "asked_at": poller.datetime_at(now - max(0.0, wall - entry.asked_at)).isoformat(),
        "said": said,
        "sent": max(1, sent_times(entry)),
    }
    if found is not None:
        evidence["found"] = found
    if stays_for is not None:
        found_again = entry.item is not None or (request.kind.joins and stays_for.dedupe != "allow")
        evidence["open"] = STAYS_OPEN if found_again else STAYS_APART
    return unknown_launch(request.kind.name, request.target, evidence)
