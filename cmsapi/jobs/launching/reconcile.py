"""Reconcile a launch whose answer is lost: find out whether it happened, then adopt its job, give it up, or repeat it.

This runs only under the lease of the launch, in the process that lost the answer or in the one that recovers an orphan.
It waits until the launch can no longer arrive, reads what is there, and lets the kind judge that. It takes some
requests, mostly one to three, and no credit.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

import attrs

from cmsapi.api.models.user import User
from cmsapi.config import LaunchPolicy
from cmsapi.errors import (
    APIError,
    ForbiddenError,
    JobError,
    LaunchUnknownError,
    LeaseLostError,
    NotFoundError,
    ServerError,
    StateError,
)
from cmsapi.jobs.errors import sent_times, unknown_launch
from cmsapi.jobs.job import job_of
from cmsapi.jobs.journal.journal import LONGEST_REASON, LaunchJournal
from cmsapi.jobs.kinds.evidence import Finding, Verdict
from cmsapi.jobs.kinds.kind import ChargeEvidence
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.charges import ChargeReader
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import SENDING, Record, TrackedJob
from cmsapi.state.entry import Entry
from cmsapi.transport.caller import OperationCaller

STAYS_OPEN = "it stays in the journal: the next launch of the same, or jobs.resume, reconciles it again"
# A launch that joins none has an entry of its own.
STAYS_APART = (
    "it stays in the journal: jobs.resume reconciles it again; another launch of the same is paid for on its own"
)
_PROCESS_ENDED = "the process that sent it ended before its answer"


@attrs.frozen(kw_only=True)
class LostAnswer:
    """Say what is known of a launch that this process has sent, and whose answer is lost.

    Args:
        cause: What came instead of the answer.
        left_at: Loop time at which it left.
        settles_at: Loop time after which it can no longer arrive.
        wanted: Tells whether a caller still waits for it.
        repeat: Takes the credit of a repeat, if there is one; None when it must not be repeated.
    """

    cause: Exception
    left_at: float | None = None
    settles_at: float | None = None
    wanted: Callable[[], bool] = lambda: True
    repeat: Callable[[], bool] | None = None

    @property
    def said(self) -> str:
        """What came instead of the answer, in words."""
        return str(self.cause.__cause__ or "") or str(self.cause) or type(self.cause).__name__


class Reconciler:
    """Settle launches without an answer; it also holds what the launches of one client have in common."""

    def __init__(self, poller: Poller, policy: LaunchPolicy) -> None:
        self.poller: Poller = poller
        self.policy: LaunchPolicy = policy
        self.journal: LaunchJournal = poller.journal
        self.caller: OperationCaller = poller.poll_settings.caller
        self.charges: ChargeReader = ChargeReader(self.caller, self.journal)

    def check_join(
        self,
        request: LaunchRequest,
        settings: str | None,
        job: TrackedJob | None = None,
        *,
        elsewhere: bool = False,
        same_item: bool = False,
    ) -> None:
        """Refuse to join a launch with another digest of its settings; if the policy says so, any of another item.

        Raises:
            JobError: It must not be joined; nothing was sent.
        """
        problem = ", launched by another client" if elsewhere else ""
        if self.journal.digest(request.body) != settings:
            problem = f" with {'other settings' if settings else 'settings not known to this client'}{problem}"
        elif self.policy.dedupe != "error" or same_item:
            return
        raise JobError(
            f"A {request.kind} for {request.target} is under way already{problem}; nothing was sent or charged. "
            "Wait for it, or launch with LaunchPolicy(dedupe='allow').",
            job=None if job is None else job_of(job, self.poller),
        )

    # What follows

    async def settle(
        self, record: Record, request: LaunchRequest | None = None, lost: LostAnswer | None = None
    ) -> TrackedJob | Verdict:
        """Find out whether a launch happened, and do what follows from that.

        A launch of this process comes with its lost answer, an orphan of another one without. An orphan that is only
        recovered comes without a request, and is never repeated.

        Returns:
            Its job when it happened; `ABSENT` when it did not, and `UNKNOWN` when the policy repeats it all the same.
            Then its entry is still held.

        Raises:
            LaunchUnknownError: It stays unknown, and is not repeated.
            CMSError: The service or the state could not be read, and an orphan stays as it is.
        """
        try:
            finding = await self.find_out(record.entry, lost)
        except (Exception, asyncio.CancelledError) as error:
            if lost is None:
                raise
            found = f"its reconciliation failed: {error}"
            raise self.unknown(record.entry, request, lost.said, found, stays=True) from lost.cause
        if finding.verdict is Verdict.LAUNCHED:
            return await self._adopt(record, finding)
        if finding.verdict is Verdict.UNKNOWN:
            await self.give_up(record, request, finding.why, _PROCESS_ENDED if lost is None else lost.said, lost)
        return finding.verdict

    async def give_up(
        self, record: Record, request: LaunchRequest | None, why: str, said: str, lost: LostAnswer | None = None
    ) -> None:
        """Record that it is unknown whether a launch happened, and raise that, unless the policy repeats the launch.

        A launch without callers stays in the journal: the next one of the same is told.

        Raises:
            LaunchUnknownError: It is not repeated.
        """
        unknown = self.unknown(record.entry, request, said, why)
        repeatable = request is not None and (lost is None or lost.repeat is not None)
        choice = self.policy.on_unknown if repeatable else "raise"
        if callable(choice):
            choice = choice(unknown)
            if inspect.isawaitable(choice):
                choice = await choice
        try:
            if choice == "repeat" and (lost is None or lost.repeat is None or lost.repeat()):
                # Whatever becomes of the repeat, this attempt stays in doubt.
                facts = {**record.entry.facts, "doubt": why[:LONGEST_REASON]}
                await self.journal.write(record, status=SENDING, facts=facts)
                return
            if lost is None or lost.wanted():
                await self.journal.record_unknown(record, why)
            stays = lost is not None and not lost.wanted()
            if stays:
                self.journal.restore_later(record)
        except asyncio.CancelledError:
            self.journal.restore_later(record)
            raise
        except (StateError, LeaseLostError):
            # The doubt is about money, and more important than that it could not be written down.
            stays = True
        if stays:
            unknown = self.unknown(record.entry, request, said, why, stays=True)
        raise unknown from None if lost is None else lost.cause

    def unknown(
        self, entry: Entry, request: LaunchRequest | None, said: str, found: str | None = None, *, stays: bool = False
    ) -> LaunchUnknownError:
        """Make the error of a launch that may have happened: what came instead of an answer, and what was found out.

        The error tells where to go on when the entry `stays` in the journal.
        """
        kind, now = KINDS[entry.kind], asyncio.get_running_loop().time()
        evidence = {
            "operation": kind.launch_operation,
            "asked_at": self.poller.datetime_at(now - max(0.0, self.journal.wall() - entry.asked_at)).isoformat(),
            "said": said,
            "sent": max(1, sent_times(entry)),
        }
        if found is not None:
            evidence["found"] = found
        if stays:
            found_again = entry.item is not None or (kind.joins and self.policy.dedupe != "allow")
            evidence["open"] = STAYS_OPEN if found_again else STAYS_APART
        return unknown_launch(kind.name, entry.target if request is None else request.target, evidence)

    async def _adopt(self, record: Record, finding: Finding) -> TrackedJob:
        """Track the job of a launch that happened although its answer is lost."""
        await self.journal.record_launched(record, job_id=finding.job_id, served_at=finding.served_at)
        job = self.poller.take_over(record)
        job.adopted, job.history.saw_running = not finding.ours, finding.running
        return job

    # Finding out

    async def find_out(self, entry: Entry, lost: LostAnswer | None = None) -> Finding:
        """Wait until a launch can no longer arrive, and find out whether it did.

        Raises:
            CMSError: The service or the state could not be read; nothing is known.
        """
        await asyncio.sleep(self._settles_in(entry, None if lost is None else lost.settles_at))
        if entry.served_at is None and lost is not None and lost.left_at is not None:
            # The launch was the first request: the next answer tells the service's time, also of then.
            await self.caller.call(User, "get_me")
            if (served := self.caller.pipeline.clock.at(lost.left_at)) is not None:
                entry = attrs.evolve(entry, served_at=served.timestamp())
        try:
            finding = await self._read(entry)
        except (ForbiddenError, NotFoundError) as refusal:
            return Finding.unknown(f"what would tell cannot be read ({refusal.status})")
        if finding.verdict is not Verdict.LAUNCHED and (doubt := entry.facts.get("doubt")) is not None:
            # That holds for the last attempt only.
            return Finding.unknown(str(doubt))
        return attrs.evolve(finding, served_at=entry.served_at)

    def _settles_in(self, entry: Entry, settles_at: float | None) -> float:
        """Return seconds until a launch can no longer arrive."""
        if settles_at is not None:
            return max(0.0, settles_at - asyncio.get_running_loop().time())
        # Of another process only the wall's clock is known, and mostly the service's.
        sent_at, settle = entry.facts.get("sent_at"), entry.facts.get("settle")
        if not isinstance(sent_at, int | float) or not isinstance(settle, int | float):
            return 0.0
        gone, served = self.journal.wall() - sent_at, self.caller.pipeline.clock.at(asyncio.get_running_loop().time())
        if served is not None and entry.served_at is not None:
            # A clock that was set forward has let no time pass.
            gone = min(gone, served.timestamp() - entry.served_at)
        # A clock that was set back says nothing.
        return max(0.0, settle - gone) if gone >= 0 else settle

    async def _read(self, entry: Entry) -> Finding:
        """Read the evidence, the cheapest first, and have the kind judge it."""
        kind = KINDS.get(entry.kind)
        if kind is None:
            return Finding.unknown(f"this version of cmsapi does not know the kind {entry.kind}")
        document = await kind.read_evidence(self.caller, entry)
        latest = self.caller.pipeline.clock.latest_at(asyncio.get_running_loop().time())
        if (shown := kind.judge_shown(entry, document, latest)) is not None:
            return shown
        if kind.balance is None or kind.charge_evidence is ChargeEvidence.NONE:
            return kind.judge(entry, document, None)
        optional = kind.charge_evidence is ChargeEvidence.OPTIONAL
        if "mark" not in entry.facts and not optional:
            return Finding.unknown("no balance was read before the launch")
        try:
            charges = await self.charges.read(entry, kind.balance)
        except APIError as refusal:
            if not optional or isinstance(refusal, ServerError):
                raise
            return kind.judge(entry, document, None)
        return kind.judge(entry, document, charges)
