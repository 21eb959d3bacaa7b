"""Send a launch that is written down, and find out what became of it.

Only what was certainly not executed (429, or nothing sent) is repeated at once. After a 5xx, a lost answer or an
unreadable one the launch is reconciled first: then its job is adopted, or it is sent again, or `LaunchUnknownError`
says what is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import attrs

from cmsapi.api.model import Model
from cmsapi.config import LaunchPolicy
from cmsapi.errors import (
    CMSError,
    ConflictError,
    DeadlineError,
    DecodeError,
    LaunchUnknownError,
    OutcomeUnknownError,
)
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import Verdict, by_own_clock
from cmsapi.jobs.kinds.kind import ChargeEvidence
from cmsapi.jobs.kinds.observation import JobHistory
from cmsapi.jobs.launching.attempts import LaunchAttempts
from cmsapi.jobs.launching.pending import PendingLaunch
from cmsapi.jobs.launching.reconcile import Reconciler, adopt
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.launching.unknown import raise_unknown, unknown_error
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import Record, TrackedJob
from cmsapi.state.journal import Fact
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.urls import expand


@attrs.frozen
class Sender:
    """Send launches.

    Args:
        caller: Calls the operations.
        journal: Where launches are written down.
        poller: Polls what was launched.
        policy: How long a lost request may still arrive, and whether a baseline is read.
        reconciler: Finds out what became of launches.
    """

    caller: OperationCaller
    journal: LaunchJournal
    poller: Poller
    policy: LaunchPolicy
    reconciler: Reconciler

    async def send(self, pending: PendingLaunch, record: Record) -> TrackedJob:
        """Send a launch that is written down; while it may have happened, reconcile it before it is repeated."""
        request, pipeline = pending.request, self.caller.pipeline
        # What cannot be sent is refused before anything is read for it.
        expand(self.caller.operations[request.kind.launch_operation].path, request.path)
        baseline, timeout = await self._read_baseline(request), pipeline.timeouts.request
        settle, clock = self.policy.settle, pipeline.clock
        attempts = LaunchAttempts(pending, record, self.journal, clock, baseline, settle, timeout)
        number = 0
        while True:
            number += 1
            try:
                return await self._send_once(pending, record, attempts.options())
            except _InDoubtError as error:
                cause = error.cause
            except LaunchUnknownError:
                raise
            except CMSError as refusal:
                # A conflict may be the echo of an earlier attempt.
                if number == 1 or not isinstance(refusal, ConflictError):
                    await self._refused(pending, record, refusal)
                    raise
                cause = refusal
            attempts.ended()
            last = number >= pipeline.retry.max_attempts or isinstance(cause, ConflictError)
            job = await self._reconcile(pending, record, cause, last=last)
            if job is not None:
                return job

    async def _read_baseline(self, request: LaunchRequest) -> Mapping[str, Fact]:
        """Read what is so before a launch, as facts for its entry, and the balances if they are evidence."""
        if self.policy.baseline != "read":
            return {}
        kind = request.kind
        baseline = await kind.read_baseline(self.caller, request.target)
        if kind.charge_evidence is not ChargeEvidence.NONE:
            await self.reconciler.read_balances()
        return baseline

    async def _send_once(self, pending: PendingLaunch, record: Record, options: CallOptions) -> TrackedJob:
        """Send it, and take in its answer.

        Raises:
            _InDoubtError: It may have happened.
            CMSError: It was refused, or not sent.
        """
        request, operation = pending.request, pending.request.kind.launch_operation
        answer, answered, sent_at = request.kind.answer, None, asyncio.get_running_loop().time()
        try:
            exchange = await self.caller.exchange(operation, request.path, body=request.body, options=options)
            sent_at = exchange.sent_at
            if answer is not None:
                answered = self.caller.read(operation, exchange, answer)
        except (OutcomeUnknownError, DecodeError) as error:
            if answer is not None or not _was_accepted(error):
                raise _InDoubtError(error) from error
        except DeadlineError as error:
            if not error.sent:
                raise
            raise _InDoubtError(error) from error
        except CMSError:
            raise
        except asyncio.CancelledError as error:
            # Only the end of the client cancels what is in flight; the next one that asks finds out.
            if pending.in_flight:
                said, policy = type(error).__name__, self.policy
                raise unknown_error(self.poller, request, record.entry, said, stays_for=policy) from error
            self.caller.open()
            raise
        except Exception as error:
            # A transport that raises what no transport should: it may have been sent all the same.
            raise _InDoubtError(error) from error
        return await self._launched(request, record, answered, sent_at)

    async def _launched(
        self, request: LaunchRequest, record: Record, answered: Model | None, sent_at: float
    ) -> TrackedJob:
        """Write down that it was launched, and track its job."""
        kind, now = request.kind, asyncio.get_running_loop().time()
        launched_at = self.caller.pipeline.clock.at(sent_at)
        job_id = None if answered is None else str(getattr(answered, "id", None))
        served_at = None if launched_at is None else launched_at.timestamp()
        await self.journal.record_launched(record, job_id=job_id, served_at=served_at)
        history = JobHistory(
            began=now,
            launched_at=launched_at or by_own_clock(self.journal.wall() - (now - sent_at)),
            job_id=job_id,
            fresh=True,
            settings=request.body,
            document=answered if kind.result_requests else None,
        )
        job = self.poller.track(kind, kind.job_target(request.target, job_id), history)
        record.bind(job)
        self.poller.registry.add(job)
        return job

    async def _refused(self, pending: PendingLaunch, record: Record, refusal: CMSError) -> None:
        """Delete the entry of a launch that was refused or not sent.

        Raises:
            LaunchUnknownError: An attempt before that one may have been charged.
        """
        earlier = record.entry.facts.get("doubt")
        if earlier is not None:
            why, said = str(earlier), str(refusal)
            await raise_unknown(self.poller, self.policy, pending.request, record, why, said, refusal, last=True)
        elif record.held and pending.in_flight:
            self.journal.delete_later(record)

    async def _reconcile(
        self, pending: PendingLaunch, record: Record, cause: Exception, *, last: bool
    ) -> TrackedJob | None:
        """Find out whether it happened; return its job, or None to send it again.

        Args:
            pending: The launch.
            record: Its entry.
            cause: What came instead of an answer.
            last: Whether it has been sent as often as it may be.

        Raises:
            LaunchUnknownError: That could not be found out.
            Exception: The cause, because nothing was launched and it is not sent again.
        """
        request, poller, policy = pending.request, self.poller, self.policy
        said = str(cause.__cause__ or "") or str(cause) or type(cause).__name__
        try:
            finding = await self.reconciler.find_out(
                record.entry, left_at=pending.left_at, settles_at=pending.settles_at
            )
        except (Exception, asyncio.CancelledError) as error:
            found = f"its reconciliation failed: {error}"
            raise unknown_error(poller, request, record.entry, said, found=found, stays_for=policy) from cause
        if finding.verdict is Verdict.LAUNCHED:
            return await adopt(poller, record, finding, request.body)
        if finding.verdict is Verdict.UNKNOWN:
            await raise_unknown(poller, policy, request, record, finding.why, said, cause, last=last)
        elif last:
            await self.journal.delete(record)
            pending.not_executed()
            cause.add_note("It was found out that nothing was launched or charged.")
            raise cause
        return None


class _InDoubtError(Exception):
    """Say that a launch may have happened."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


def _was_accepted(error: CMSError) -> bool:
    """Tell whether the service said 2xx and only the document could not be read."""
    return isinstance(error, DecodeError) or isinstance(error.__cause__, DecodeError)
