"""Recover what earlier processes left open: running jobs, launches without an answer, articles without a decision."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Any

import attrs

from cmsapi.errors import LaunchUnknownError
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.launching.reconcile import Reconciler
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import Record, TrackedJob
from cmsapi.observability.job_events import LaunchRecovered
from cmsapi.state.entry import Entry, EntryStatus, Lease


@attrs.frozen
class Resumed:
    """Hold what was recovered.

    Args:
        jobs: The running jobs, in the order of their launches; await them for their results.
        unknown: Launches that may have happened and have no job. They are no longer in the journal.
    """

    jobs: tuple[Job[Any], ...]
    unknown: tuple[LaunchUnknownError, ...]


async def resume(poller: Poller, reconciler: Reconciler) -> Resumed:
    """Recover all launches that no process that is alive works on."""
    journal = poller.journal
    await journal.open(poller.poll_settings.read_user)
    found = await journal.known_entries()
    keys = sorted(found, key=lambda key: found[key].asked_at)
    doubted = await journal.unknown.open(journal.scope)
    with contextlib.ExitStack() as working:
        records = []
        for key in keys:
            if (record := await journal.claim(key)) is not None:
                working.enter_context(record.in_work())
                records.append(record)
        ended = await asyncio.gather(
            *(_recover(poller, reconciler, record) for record in records), return_exceptions=True
        )
    unknown = tuple(end for end in ended if isinstance(end, LaunchUnknownError))
    for end in ended:
        if isinstance(end, BaseException) and not isinstance(end, LaunchUnknownError):
            for each in unknown:
                # They are no longer in the journal: the next call would not tell.
                end.add_note(str(each))
            raise end
    shown = [job for key, each in doubted.items() if (job := await _look_again(poller, reconciler, key, each))]
    jobs = tuple(job_of(end, poller) for end in (*ended, *shown) if isinstance(end, TrackedJob))
    return Resumed(jobs, unknown)


async def _look_again(poller: Poller, reconciler: Reconciler, key: str, doubted: Entry) -> TrackedJob | None:
    """Return the job of a launch that stayed unknown, if the service shows it by now."""
    journal = poller.journal
    entry = attrs.evolve(doubted, status=EntryStatus.INTENT, asked_at=journal.wall(), batch=None, item=None)
    record = await journal.begin(key, entry)
    if record.entry is not entry:
        # It was launched again since.
        return None
    job = await reconciler.look_again(record)
    if job is None:
        await journal.delete(record)
    return job


async def _recover(poller: Poller, reconciler: Reconciler, record: Record) -> TrackedJob | None:
    """Recover an entry with an event of what became of it."""
    entry, hooks, outcome = record.entry, poller.hooks, "deleted"
    try:
        if (job := await _settled(poller, reconciler, record)) is not None:
            outcome = "polled"
    except BaseException as raised:
        outcome = type(raised).__name__
        raise
    else:
        return job
    finally:
        if hooks.wants(LaunchRecovered.level):
            hooks(
                LaunchRecovered(
                    kind=entry.kind,
                    target=entry.target,
                    id=record.entry.job_id,
                    status=entry.status,
                    outcome=outcome,
                    elapsed=max(0.0, poller.journal.wall() - entry.asked_at),
                )
            )


async def _settled(poller: Poller, reconciler: Reconciler, record: Record) -> TrackedJob | None:
    """Return the job of an entry, or None when it was not launched, so that the entry is deleted."""
    journal, entry = poller.journal, record.entry
    if entry.status == EntryStatus.INTENT:
        # It was not sent, and its caller is gone.
        await journal.delete(record)
        return None
    if entry.status != EntryStatus.SENDING:
        return poller.take_over(record)
    try:
        settled = await reconciler.settle_orphan(record)
    except BaseException:
        journal.leases.release_later(record)
        raise
    if isinstance(settled, TrackedJob):
        return settled
    await journal.delete(record)
    return None


async def read_reviews(poller: Poller) -> list[GenerationReview]:
    """Read the generations of the journal, and return those that wait for a decision."""
    journal = poller.journal
    await journal.open(poller.poll_settings.read_user)
    await journal.flush()
    reviews = []
    found = await journal.state.entries(journal.scope)
    for key, entry in sorted(found.items(), key=lambda pair: pair[1].asked_at):
        kind = KINDS.get(entry.kind)
        if kind is None or not kind.in_review or entry.status not in (EntryStatus.RUNNING, EntryStatus.REVIEW):
            continue
        record = Record(entry, Lease(journal.scope, key))
        review = await kind.read_review(poller.poll_settings.caller, entry)
        if review is not None:
            review.on_decided = partial(_decided, poller, record, review)
            reviews.append(review)
        elif entry.status == EntryStatus.REVIEW and await kind.is_over(poller.poll_settings.caller, entry):
            journal.record_end(record, EntryStatus.SUCCEEDED, "elsewhere")
    return reviews


def _decided(poller: Poller, record: Record, review: GenerationReview, decision: str) -> None:
    """End the job of a review on which was decided, or its entry where this client does not know the job."""
    if (job := poller.registry.find(record.entry)) is not None:
        poller.decided(job, review)
    else:
        poller.journal.record_end(record, EntryStatus.SUCCEEDED, decision)
