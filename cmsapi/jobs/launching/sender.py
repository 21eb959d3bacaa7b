"""Send a launch that is written down, and find out what became of it.

Only what was certainly not executed (429, or nothing sent) is repeated at once. After a 5xx, a lost answer or an
unreadable one it is found out whether the service has launched it: then the job is taken up, or it is sent again, or
`LaunchUnknownError` says what is known.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.errors import (
    CMSError,
    ConflictError,
    DeadlineError,
    DecodeError,
    LaunchUnknownError,
    OutcomeUnknownError,
)
from cmsapi.jobs.errors import sent_times
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import Finding, Verdict, by_own_clock
from cmsapi.jobs.kinds.kind import ChargeEvidence
from cmsapi.jobs.kinds.observation import JobHistory
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.launching.pending import PendingLaunch
from cmsapi.jobs.launching.reconcile import Reconciler
from cmsapi.jobs.launching.recovery import adopt
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.launching.unknown import Doubts
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import INTENT, SENDING, Record, TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.protocol import expand

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds within which a service is assumed to do what it was asked, or never: from when the last byte may have left.
COMMITS = 60.0
# Seconds after a launch was written down in which its bytes may leave, however soon it is looked up.
_LAST_BYTES = 5.0


@attrs.frozen
class Sender:
    """Send launches.

    Args:
        caller: Calls the operations.
        poller: Looks at what was launched.
        policy: How long a lost request may still arrive, and whether a baseline is read.
        reconciler: Finds out what became of launches.
        doubts: Tells of those of which nobody knows.
    """

    caller: OperationCaller
    poller: Poller
    policy: LaunchPolicy
    reconciler: Reconciler
    doubts: Doubts

    @property
    def journal(self) -> LaunchJournal:
        """Where they are written down."""
        return self.poller.journal

    async def send(self, launch: LaunchRequest, pending: PendingLaunch, record: Record) -> TrackedJob:
        """Send a launch that is written down, find out what became of it, and repeat it only if nothing did."""
        # What cannot be sent is refused before anything is read for it.
        expand(self.caller.operations[launch.operation].path, launch.path)
        kind = kind_of(launch.kind)
        baseline: Mapping[str, Any] = {}
        if self.policy.baseline == "read":
            baseline = await kind.read_baseline(self.caller, launch.target)
            if kind.charge_evidence is not ChargeEvidence.NONE:
                await self.reconciler.read_balances()
        options = self._options(launch, pending, record, baseline)
        tries = 0
        while True:
            tries += 1
            try:
                return await self._ask(launch, pending, record, options)
            except _DoubtError as doubt:
                cause, said = doubt.cause, doubt.said
            except LaunchUnknownError:
                raise
            except CMSError as refusal:
                # A conflict may be the echo of an earlier attempt.
                if tries > 1 and isinstance(refusal, ConflictError):
                    cause, said = refusal, str(refusal)
                elif (earlier := record.entry.facts.get("doubt")) is not None:
                    # This attempt was refused, and the one before it may have been charged.
                    finding = Finding.unknown(str(earlier))
                    await self.doubts.give_up(launch, record, finding, str(refusal), refusal, last=True)
                    raise
                else:
                    if record.held and pending.in_flight:
                        self.journal.withdraw(record)
                    raise
            if self.policy.settle is None and pending.settles_at is not None:
                # The attempt is over, and no byte of it leaves any more.
                pending.settles_at = min(pending.settles_at, self.poller.time() + COMMITS)
            try:
                finding = await self.reconciler.find_out(
                    record.entry, left_at=pending.left_at, settles_at=pending.settles_at
                )
            except (Exception, asyncio.CancelledError) as error:
                found, stays = f"looking it up failed: {error}", self.doubts.stays(launch, record.entry)
                unknown = self.doubts.unknown(launch, said, record.entry, found=found, open=stays)
                self._log(unknown, pending)
                raise unknown from cause
            if finding.verdict is Verdict.LAUNCHED:
                return await adopt(self.poller, record, finding, launch.body)
            last = tries >= self.caller.pipeline.retry.max_attempts or isinstance(cause, ConflictError)
            if finding.verdict is Verdict.UNKNOWN:
                try:
                    await self.doubts.give_up(launch, record, finding, said, cause, last=last)
                except LaunchUnknownError as unknown:
                    self._log(unknown, pending)
                    raise
            elif last:
                await self.journal.delete(record)
                pending.not_executed()
                cause.add_note("It was found out that nothing was launched or charged.")
                raise cause

    def _options(
        self, launch: LaunchRequest, pending: PendingLaunch, record: Record, baseline: Mapping[str, Any]
    ) -> CallOptions:
        """Have it written down before each attempt that it is about to be sent, and afterwards that it was not."""
        clock, settle, leaves = self.caller.pipeline.clock, self.policy.settle, self.caller.pipeline.timeouts.request
        if settle is None:
            settle = leaves + COMMITS
        else:
            leaves = settle

        async def before_attempt(permit: Permit) -> float:
            now = self.poller.time()
            served = clock.at(now)
            first, wall = record.entry.served_at, self.journal.wall()
            mark = self.journal.balances.leaves(record.entry.kind)
            sent = sent_times(record.entry) + 1
            facts = {**record.entry.facts, **baseline, **mark, "sent_at": wall, "settle": settle, "sent": sent}
            await self.journal.write(
                record,
                status=SENDING,
                served_at=first if first is not None else served.timestamp() if served is not None else None,
                facts=facts,
            )
            pending.permit, pending.settles_at = permit, now + settle
            if pending.left_at is None:
                pending.left_at = now
            return now + max(leaves, _LAST_BYTES)

        async def not_executed() -> None:
            pending.not_executed()
            if record.held:
                facts = {**record.entry.facts, "sent": sent_times(record.entry) - 1}
                if "doubt" in facts:
                    await self.journal.write(record, facts=facts)
                else:
                    await self.journal.write(record, status=INTENT, served_at=None, facts=facts)
            # An earlier attempt that is in doubt cannot be called back.
            pending.in_doubt = "doubt" in record.entry.facts

        return CallOptions(
            priority=Priority.LAUNCH,
            sent=tuple(_names(launch.body or {})),
            before_attempt=before_attempt,
            not_executed=not_executed,
        )

    async def _ask(
        self, launch: LaunchRequest, pending: PendingLaunch, record: Record, options: CallOptions
    ) -> TrackedJob:
        """Send it and read the answer.

        Raises:
            _DoubtError: It may have happened.
        """
        kind, asked = kind_of(launch.kind), self.poller.time()
        try:
            exchange = await self.caller.exchange(launch.operation, launch.path, body=launch.body, options=options)
            launched = None if kind.answer is None else self.caller.read(launch.operation, exchange, kind.answer)
            sent_at = exchange.sent_at
        except (OutcomeUnknownError, DecodeError) as error:
            if kind.answer is not None or not _was_accepted(error):
                raise _DoubtError(error) from error
            launched, sent_at = None, asked
        except DeadlineError as error:
            if not error.sent:
                raise
            raise _DoubtError(error) from error
        except CMSError:
            raise
        except asyncio.CancelledError as error:
            # Only the end of the client cancels what is in flight; the next one that asks finds out.
            if pending.in_flight:
                said, stays = type(error).__name__, self.doubts.stays(launch, record.entry)
                unknown = self.doubts.unknown(launch, said, record.entry, open=stays)
                self._log(unknown, pending)
                raise unknown from error
            self.caller.open()
            raise
        except Exception as error:
            # A transport that raises what no transport should: it may have been sent all the same.
            raise _DoubtError(error) from error
        launched_at = self.caller.pipeline.clock.at(sent_at)
        job_id = None if launched is None else str(getattr(launched, "id", None))
        served_at = None if launched_at is None else launched_at.timestamp()
        await self.journal.bind(record, job_id=job_id, served_at=served_at)
        history = JobHistory(
            began=self.poller.time(),
            launched_at=launched_at or by_own_clock(self.journal.wall() - (self.poller.time() - sent_at)),
            job_id=job_id,
            fresh=True,
            settings=launch.body,
            document=launched if kind.result_requests else None,
        )
        job = self.poller.track(launch.kind, kind.job_target(launch.target, job_id), history)
        record.bind(job)
        self.poller.registry.add(job)
        return job

    def _log(self, unknown: LaunchUnknownError, pending: PendingLaunch) -> None:
        if not pending.callers:
            logger.error("nobody waits for this launch any more: %s", unknown)


class _DoubtError(Exception):
    """Say that a launch may have happened."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause
        self.said = str(cause.__cause__ or "") or str(cause) or type(cause).__name__


def _names(body: Mapping[str, Any]) -> Iterator[str]:
    """Name the fields of a body, those of nested objects instead of the objects."""
    for name, value in body.items():
        if isinstance(value, Mapping):
            yield from _names(value)
        else:
            yield name


def _was_accepted(error: CMSError) -> bool:
    """Tell whether the service said 2xx and only the document could not be read."""
    return isinstance(error, DecodeError) or isinstance(error.__cause__, DecodeError)
