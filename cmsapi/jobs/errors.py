"""How jobs end without a result, in the words that their waiters read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmsapi.config import PollPolicy
from cmsapi.errors import (
    JobError,
    JobFailedError,
    JobSupersededError,
    JobVanishedError,
    LaunchUnknownError,
    UnknownJobStateError,
)
from cmsapi.jobs.job import Job
from cmsapi.jobs.journal.record import UNKNOWN
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.registry import find_kind
from cmsapi.jobs.polling.failures import VANISHED_AFTER
from cmsapi.jobs.status import Phase
from cmsapi.state.journal import Entry

# A job whose state decides nothing is given up after this long, unless the policy says otherwise. A word that nobody
# lists most likely means that it runs; an old word or none most likely means that it has ended.
LONGEST_DOUBT = 1800.0
LONGEST_RIDDLE = 6 * 3600.0


def doubt_limit(policy: PollPolicy, *, unlisted_word: bool) -> float:
    """Return after how many seconds a job whose state decides nothing is given up."""
    if policy.give_up_after is not None:
        return policy.give_up_after
    return LONGEST_RIDDLE if unlisted_word else LONGEST_DOUBT


def unknown_launch(kind: str, target: str, evidence: Mapping[str, Any]) -> LaunchUnknownError:
    """Tell that a launch may have happened, or several if it was sent several times."""
    sent = evidence.get("sent")
    several = isinstance(sent, int) and sent > 1
    charged = f" It was sent {sent} times, so that up to {sent} credits may have been charged." if several else ""
    return LaunchUnknownError(
        f"The {kind} for {target} may have been launched and charged, and there is no usable "
        f"answer; it is not repeated, because that could be paid twice.{charged} "
        f"{(find_kind(kind) or Kind).where_to_look}",
        kind=str(kind),
        target=target,
        evidence=evidence,
    )


def sent_times(entry: Entry) -> int:
    """Return how often a launch was sent, as far as it may have been executed."""
    sent = entry.facts.get("sent")
    return sent if isinstance(sent, int) else 0


def without_result(entry: Entry) -> JobError | None:
    """Tell how an item of a batch ended in another run; None when it has a result."""
    if entry.status == Phase.SUCCEEDED:
        if find_kind(entry.kind) is not None:
            return None
        return JobError(
            f"The {entry.kind} of {entry.target} has ended, but this version of cmsapi does not know such jobs and "
            "cannot read its result; nothing was sent or forgotten. The version that launched it can."
        )
    if entry.status == UNKNOWN:
        return unknown_launch(entry.kind, entry.target, entry.facts)
    failed = entry.status == Phase.FAILED
    how = "failed" if failed else f"ended as {entry.status!r}"
    return (JobFailedError if failed else JobError)(
        f"The {entry.kind} of {entry.target} {how} in an earlier run. batch.retry_failed() lets the next map launch it "
        "again, which costs a credit."
    )


def failed(job: Job[Any]) -> JobError:
    """Tell that the service says so."""
    return JobFailedError(
        f"The {job.kind.value} of {job.target} failed, says the service. Whether its credit was given back is shown by "
        "client.credit_usages; to try again, launch it again, which costs a credit.",
        job=job,
    )


def superseded(job: Job[Any], newer_id: str | None) -> JobError:
    """Tell that a newer job has taken its place."""
    return JobSupersededError(
        f"{job.target} has a newer {job.kind.value} ({newer_id}) than {job.id}. "
        f"client.jobs.watch({job.kind.value!r}, {job.target!r}) follows the newer one.",
        job=job,
    )


def vanished(job: Job[Any]) -> JobError:
    """Tell that the service no longer knows the job."""
    return JobVanishedError(
        f"The service has not known {job!r} for {VANISHED_AFTER:g} s and more: deleted, no longer visible to this "
        f"key, or never the id of a {job.kind.value}. If it comes back, client.jobs.attach(token) finds it.",
        job=job,
    )


def undecidable(job: Job[Any]) -> JobError:
    """Tell that the end cannot be told."""
    return UnknownJobStateError(
        f"The end of {job!r} cannot be told: the service keeps showing {job._state!r}, which is either a word that "
        "nobody lists or the end of an earlier run. Look at it in the application; client.jobs.attach(token) "
        "goes on waiting.",
        job=job,
    )


def unreadable(job: Job[Any], error: Exception) -> JobError:
    """Tell that looking has failed in the same way for so long that it will not get better."""
    ending = UnknownJobStateError(
        f"The end of {job!r} cannot be told: looking at it keeps failing in the same way ({type(error).__name__}: "
        f"{error}). Look at it in the application; client.jobs.attach(token) goes on waiting.",
        job=job,
    )
    ending.__cause__ = error
    return ending
