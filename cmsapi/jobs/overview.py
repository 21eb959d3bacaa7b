"""Read what all processes of a state do, for people who operate them; sends nothing and changes nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

import attrs

from cmsapi.display import markup
from cmsapi.jobs.fanout.batch_status import BatchStatus, read_batches
from cmsapi.jobs.journal.view import OpenLaunch, told
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.scheduling.overdue import overdue_after
from cmsapi.ratelimit.usage import RequestUse, read_use
from cmsapi.state.entry import Entry, EntryStatus

# The hour is nearly used up from this part on.
_NEARLY = 0.9
# An answer that takes longer is lost.
_LONGEST_SENDING = 300.0


@attrs.frozen(kw_only=True)
class RunningJob:
    """Describe a job that runs, as the journal knows it.

    Args:
        launch: Its launch.
        seconds: Seconds since that was asked for.
        stuck: Whether it runs far longer than nearly all such jobs that were seen to end.
    """

    launch: OpenLaunch
    seconds: float
    stuck: bool


@attrs.frozen(kw_only=True)
class Overview:
    """Show what all processes of a state do with a key.

    Args:
        at: When it was read.
        use: How much of the request limits is used; of a state in memory, by this process.
        batches: The batches, the one that was worked on last first.
        running: The jobs that run, the longest first.
        launching: Launches that are being sent, or are about to be.
        unknown: Launches of the last day that may have happened and been paid for, the oldest first.
        reviews: Articles that wait for a decision, the oldest first.
        processes: The process identifiers of the other processes that have worked on jobs in the last half minute, of
            all hosts; one that only looks is none of them.
        warnings: What needs attention, each in a sentence.
    """

    at: datetime
    use: RequestUse
    batches: tuple[BatchStatus, ...] = ()
    running: tuple[RunningJob, ...] = ()
    launching: tuple[OpenLaunch, ...] = ()
    unknown: tuple[OpenLaunch, ...] = ()
    reviews: tuple[OpenLaunch, ...] = ()
    processes: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return markup.record(self)


async def read_overview(poller: Poller) -> Overview:
    """Read what all processes do."""
    journal, scheduler = poller.journal, poller.scheduler
    state, now = journal.state, journal.wall()
    at = datetime.fromtimestamp(now, UTC)
    use = await read_use(state, journal.account, scheduler.policy.limiter)
    scope = await journal.find()
    if scope is None:
        return Overview(at=at, use=use, warnings=("no process has worked with this key on this state yet",))
    if scheduler.duration_store is not None:
        await scheduler.duration_store.known()
    entries = sorted((await state.entries(scope)).values(), key=lambda entry: entry.asked_at)
    known = [entry for entry in entries if KINDS.get(entry.kind) is not None]
    launches = [told(entry, poller.base_url) for entry in known]
    running = tuple(
        RunningJob(launch=launch, seconds=max(0.0, now - entry.asked_at), stuck=_stuck(poller, entry, now))
        for launch, entry in zip(launches, known, strict=True)
        if launch.state == EntryStatus.RUNNING
    )
    others = await state.others(scope)
    processes = tuple(sorted(await asyncio.to_thread(lambda: [other.pid for other in others if not other.dead])))
    unknown = tuple(told(entry, poller.base_url) for entry in await journal.unknown.recent(scope))
    batches = tuple(await read_batches(journal, scope))
    return Overview(
        at=at,
        use=use,
        batches=batches,
        running=running,
        launching=tuple(launch for launch in launches if launch.state in (EntryStatus.INTENT, EntryStatus.SENDING)),
        unknown=unknown,
        reviews=tuple(launch for launch in launches if launch.state == EntryStatus.REVIEW),
        processes=processes,
        warnings=(*_warnings(use, batches), *_of_launches(known, now, alone=state.shared and not processes)),
    )


def _stuck(poller: Poller, entry: Entry, now: float) -> bool:
    return now - entry.asked_at >= overdue_after(poller.scheduler.policy.durations[KINDS[entry.kind]])


def _warnings(use: RequestUse, batches: Iterable[BatchStatus]) -> list[str]:
    warnings = []
    if use.hour >= _NEARLY * use.per_hour:
        left = max(0, int(use.per_hour) - use.hour)
        warnings.append(f"the hour is nearly used up: {left:,} of {use.per_hour:,.0f} requests are left")
    stopped = [batch.name for batch in batches if not batch.done and not batch.active]
    if stopped:
        name, more = markup.plain(stopped[0]), len(stopped) - 1
        many = f" and {more:,} more, which are not done: run them again"
        warnings.append(f"no process works on the batch {name}{many if more else ', which is not done: run it again'}")
    return warnings


def _of_launches(entries: list[Entry], now: float, *, alone: bool) -> list[str]:
    warnings = []
    left = [entry for entry in entries if entry.status != EntryStatus.REVIEW]
    # A batch that runs again follows its own.
    apart = [entry for entry in left if entry.batch is None]
    if apart and alone:
        warnings.append(f"no process is alive to follow {len(apart):,} open launches: cmsapi jobs resume")
    late = [entry for entry in left if entry.status == EntryStatus.SENDING and now - entry.asked_at > _LONGEST_SENDING]
    if late and not alone:
        warnings.append(
            f"{len(late):,} launches have had no answer for minutes: cmsapi jobs resume, if theirs has ended"
        )
    return warnings
