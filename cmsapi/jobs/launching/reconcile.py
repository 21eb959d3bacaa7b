"""Reconcile a launch whose answer is lost: find out whether it happened, then adopt its job, give it up, or repeat it.

This runs only under the lease of the launch, in the process that lost the answer or in the one that recovers an orphan.
It waits until the launch can no longer arrive and reads what shows such launches; what shows nothing is left to the
books. It takes some requests, mostly one to three, and no credit.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import NoReturn

import attrs

from cmsapi.api.models.user import User
from cmsapi.config import LaunchPolicy
from cmsapi.errors import (
    CMSError,
    ForbiddenError,
    LaunchUnknownError,
    LeaseLostError,
    NotFoundError,
    StateError,
)
from cmsapi.jobs.errors import UNUSABLE_ID, sent_times, unknown_launch
from cmsapi.jobs.journal.journal import FOLLOWS_UNKNOWN, LONGEST_REASON
from cmsapi.jobs.kinds.evidence import Finding, Verdict
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.books import Books
from cmsapi.jobs.launching.pending import PendingLaunch
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import Record, TrackedJob
from cmsapi.observability.job_events import LaunchLost, LaunchSettled
from cmsapi.state.entry import Entry, EntryStatus
from cmsapi.transport.call import being_cancelled

logger: logging.Logger = logging.getLogger("cmsapi")

STAYS_OPEN = "it stays in the journal: the next launch of the same, or jobs.resume, reconciles it again"
# A launch that joins none has an entry of its own.
STAYS_APART = (
    "it stays in the journal: jobs.resume reconciles it again; another launch of the same is paid for on its own"
)
# Seconds within which a service is assumed to do what it was asked, or never: from when the last byte may have left.
COMMITS = 60.0
_A_MOMENT = 1.0
# No program waits for longer; an entry that asks for more is damaged.
_LONGEST_SETTLE = 86_400.0


class Reconciler:
    """Settle the launches of one client that have no answer."""

    def __init__(self, poller: Poller, policy: LaunchPolicy, books: Books) -> None:
        self._poller = poller
        self._policy = policy
        self._journal = poller.journal
        self._caller = poller.poll_settings.caller
        self._books = books

    # What follows

    async def settle(self, launch: PendingLaunch) -> TrackedJob | Verdict:
        """Find out whether a launch happened, and do what follows from that.

        Returns:
            Its job when it happened; `ABSENT` when it did not, and `UNKNOWN` when the policy repeats it all the same.
            Then its entry is still held.

        Raises:
            LaunchUnknownError: It stays unknown, and is not repeated.
            CMSError: The service or the state could not be read, and an orphan stays as it is.
        """
        entry, hooks = launch.record.entry, self._poller.hooks
        # A client that is being closed finds nothing out.
        if hooks.wants(LaunchLost.level) and not self._caller.pipeline.active_calls.closing:
            wait = max(0.0, self._settles_in(launch))
            hooks(LaunchLost(kind=entry.kind, target=entry.target, reason=launch.said, settles_in=wait))
        try:
            finding = await self._find_out(launch)
            if finding.verdict is Verdict.UNKNOWN and launch.purpose is not None and launch.purpose.drained is not None:
                # Asking again is cheap then, and what was launched meanwhile is better known.
                await launch.purpose.drained()
                finding = await self._read(launch)
        except (Exception, asyncio.CancelledError) as error:
            if launch.cause is None:
                raise
            found = "it was not found out, because the client was closed"
            if not isinstance(error, asyncio.CancelledError):
                found = f"its reconciliation failed: {error}"
            raise self.unknown(launch, launch.said, found, stays=True) from launch.cause
        if hooks.wants(LaunchSettled.level):
            hooks(
                LaunchSettled(
                    kind=entry.kind,
                    target=entry.target,
                    verdict=finding.verdict.name.lower(),
                    reason=finding.why,
                    id=finding.job_id,
                    orphan=launch.cause is None,
                )
            )
        if finding.verdict is Verdict.LAUNCHED:
            return await self.adopt(launch.record, finding)
        if finding.verdict is Verdict.UNKNOWN:
            await self.give_up(launch, finding.why, launch.said)
        return finding.verdict

    async def settle_orphan(self, record: Record) -> TrackedJob | Verdict:
        """Find out whether the launch of a dead process happened, and do what follows, as `settle` does.

        Without what was asked for it cannot be repeated.
        """
        entry = record.entry
        request = LaunchRequest(kind=KINDS[entry.kind], target=entry.target, path={})
        return await self.settle(
            PendingLaunch(request, self._poller, self._policy, record=record, callers=1, repeatable=False)
        )

    async def give_up(self, launch: PendingLaunch, why: str, said: str) -> None:
        """Record that it is unknown whether a launch happened, and raise that, unless the policy repeats the launch.

        A launch without callers stays in the journal: the next one of the same is told.

        Raises:
            LaunchUnknownError: It is not repeated.
        """
        record, unknown = launch.record, self.unknown(launch, said, why)
        repeats = launch.repeatable and UNUSABLE_ID not in record.entry.facts and await self._repeats(launch, unknown)
        try:
            if repeats:
                # Whatever becomes of the repeat, this attempt stays in doubt.
                facts = {**record.entry.facts, "doubt": why[:LONGEST_REASON]}
                await self._journal.write(record, status=EntryStatus.SENDING, facts=facts)
                return
            if launch.callers:
                await self._journal.record_unknown(record, why)
            # The last caller may have gone meanwhile.
            if stays := not launch.callers:
                self._journal.leave_open(record)
        except asyncio.CancelledError:
            self._journal.leave_open(record)
            raise
        except (StateError, LeaseLostError):
            # The doubt is about money, and more important than that it could not be written down.
            stays = True
        raise (self.unknown(launch, said, why, stays=True) if stays else unknown) from launch.cause

    async def give_up_unnamed(self, launch: PendingLaunch, identifier: str) -> NoReturn:
        """Record that the service has taken a launch whose identifier cannot be used, and raise that.

        It has most likely cost its credit, so that its credit counts and it is not repeated, whatever the policy says.

        Raises:
            LaunchUnknownError: Always.
        """
        why = f"the service took it and named it {identifier}, by which no request can ask for it"
        # In a later process, missing evidence must not count as absence.
        launch.repeatable = False
        entry = launch.record.entry
        facts = {**entry.facts, UNUSABLE_ID: identifier, "doubt": why}
        launch.record.entry = attrs.evolve(entry, facts=facts)
        said = f"an answer with {identifier} at $.id"
        await self.give_up(launch, why, said)
        raise self.unknown(launch, said, why)

    async def _repeats(self, launch: PendingLaunch, unknown: LaunchUnknownError) -> bool:
        """Ask the policy whether to repeat a launch, and take the credit of the repeat.

        A function that fails repeats nothing: what it has raised becomes a note on the error, which is about money.
        """
        choice = self._policy.on_unknown
        if callable(choice):
            try:
                choice = choice(unknown)
                if inspect.isawaitable(choice):
                    choice = await choice
            except (Exception, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and being_cancelled():
                    raise
                logger.exception("the on_unknown function failed; the %s is not repeated", launch.request)
                unknown.add_note(f"The on_unknown function failed: {type(error).__name__}: {error}")
                return False
        # An orphan has cost this client nothing: the launch in its place takes its credit before it is sent.
        return choice == "repeat" and (launch.cause is None or launch.take_repeat())

    def unknown(
        self, launch: PendingLaunch, said: str, found: str | None = None, *, stays: bool = False
    ) -> LaunchUnknownError:
        """Make the error of a launch that may have happened: what came instead of an answer, and what was found out.

        The error tells where to go on when the entry `stays` in the journal.
        """
        entry, kind = launch.record.entry, launch.request.kind
        asked_at = asyncio.get_running_loop().time() - max(0.0, self._journal.wall() - entry.asked_at)
        evidence = {
            "operation": kind.launch_operation,
            "asked_at": self._caller.pipeline.clock.datetime_at(asked_at).isoformat(),
            "said": said,
            "sent": max(1, sent_times(entry)),
        }
        if found is not None:
            evidence["found"] = found
        if (identifier := entry.facts.get(UNUSABLE_ID)) is not None:
            evidence[UNUSABLE_ID] = identifier
        if stays:
            found_again = entry.item is not None or (kind.joins and self._policy.dedupe != "allow")
            evidence["open"] = STAYS_OPEN if found_again else STAYS_APART
        return unknown_launch(kind.name, launch.request.target, evidence)

    async def look_again(self, record: Record) -> TrackedJob | None:
        """Look whether an earlier launch of the same that stayed unknown is shown by now; adopt its job if it is."""
        with record.in_work():
            try:
                return await self._look_again(record)
            except BaseException:
                # It was not sent.
                if not record.bound:
                    self._journal.delete_later(record)
                raise

    async def _look_again(self, record: Record) -> TrackedJob | None:
        entry, kind = record.entry, KINDS[record.entry.kind]
        if kind.polled_by_id or (doubted := await self._journal.unknown.find(record.lease)) is None:
            return None
        record.entry = attrs.evolve(entry, facts={**entry.facts, FOLLOWS_UNKNOWN: True})
        if doubted.settings != entry.settings:
            return None
        try:
            shown, _ = await self._look(doubted, doubted.target)
        except CMSError as error:
            logger.debug("it could not be read whether the %s was launched after all: %s", kind, error)
            return None
        if shown is None or shown.verdict is not Verdict.LAUNCHED:
            return None
        facts, served_at = {**doubted.facts, FOLLOWS_UNKNOWN: True}, doubted.served_at
        record.entry = attrs.evolve(record.entry, asked_at=doubted.asked_at, facts=facts, served_at=served_at)
        return await self.adopt(record, attrs.evolve(shown, served_at=served_at))

    async def adopt(self, record: Record, finding: Finding) -> TrackedJob:
        """Track the job of a launch that happened although its answer is lost."""
        await self._journal.record_launched(record, job_id=finding.job_id, served_at=finding.served_at)
        job = self._poller.take_over(record)
        self._books.note_taken(record.entry, answered=False)
        job.adopted, job.history.saw_running = not finding.ours, finding.running
        return job

    # Finding out

    async def _find_out(self, launch: PendingLaunch) -> Finding:
        """Wait until a launch can no longer arrive, and find out whether it did.

        Raises:
            CMSError: The service or the state could not be read; nothing is known.
        """
        loop = asyncio.get_running_loop()
        settled_at = launch.settles_at = loop.time() + self._settles_in(launch)
        # Others may have been launched just now, or are about to be answered.
        await asyncio.sleep(min(_A_MOMENT, max(0.0, settled_at - loop.time())))
        await self._books.learn(self._caller, launch.request.kind)
        await asyncio.sleep(max(0.0, settled_at - loop.time()))
        await self._date(launch)
        return await self._read(launch)

    def _settles_in(self, launch: PendingLaunch) -> float:
        """Return seconds until a launch can no longer arrive."""
        entry, now = launch.record.entry, asyncio.get_running_loop().time()
        if launch.cause is not None:
            # Its attempt is over, so that no byte of it leaves any more.
            return COMMITS if self._policy.settle is None else launch.left_at + self._policy.settle - now
        # Of another process only the wall's clock is known, and mostly the service's.
        sent_at, settle = entry.facts.get("sent_at"), entry.facts.get("settle")
        if not isinstance(sent_at, int | float) or not isinstance(settle, int | float):
            return 0.0
        gone, served = self._journal.wall() - sent_at, self._caller.pipeline.clock.at(now)
        if served is not None and entry.served_at is not None:
            # A clock that was set forward has let no time pass.
            gone = min(gone, served.timestamp() - entry.served_at)
        settle = min(settle, _LONGEST_SETTLE)
        # A clock that was set back says nothing.
        return settle - gone if gone >= 0 else settle

    async def _date(self, launch: PendingLaunch) -> None:
        """Find out when a launch was sent on the service's clock, if that was not known yet; one request at most."""
        record, clock = launch.record, self._caller.pipeline.clock
        if record.entry.served_at is None and launch.cause is not None:
            # The launch was the first request: the next answer tells the service's time, also of then.
            if clock.at(launch.left_at) is None:
                await self._caller.call(User, "get_me")
            if (served := clock.at(launch.left_at)) is not None:
                record.entry = attrs.evolve(record.entry, served_at=served.timestamp())

    async def _read(self, launch: PendingLaunch) -> Finding:
        """Read what shows such launches, and the books when it shows nothing."""
        entry = launch.record.entry
        try:
            shown, lost = await self._look(entry, launch.request.target)
            finding = shown or await self._books.judge(self._caller, entry, lost)
        except (ForbiddenError, NotFoundError) as refusal:
            return Finding.unknown(f"what would tell cannot be read ({refusal.status})")
        if finding.verdict is not Verdict.LAUNCHED and (doubt := entry.facts.get("doubt")) is not None:
            # That holds for the last attempt only.
            return Finding.unknown(str(doubt))
        return attrs.evolve(finding, served_at=entry.served_at)

    async def look_after_failure(self, launch: PendingLaunch) -> Finding:
        """Say what tells of a launch that the service has answered with its own failure: absent unless that is shown.

        The specification says to repeat it, so that the books need not have been seen to work; but what shows nothing
        because it cannot be read makes it a lost launch.
        """
        try:
            await self._date(launch)
            shown, lost = await self._look(launch.record.entry, launch.request.target)
            charge = shown is None and await self._books.shows_charge(self._caller, launch.record.entry, lost)
        except CMSError as error:
            return Finding.unknown(f"it could not be read whether it happened: {error}")
        if shown is not None:
            return attrs.evolve(shown, served_at=launch.record.entry.served_at)
        if charge:
            return Finding.unknown("the books may show a charge for it")
        return Finding(verdict=Verdict.ABSENT, why="the service failed, and nothing shows a launch")

    async def _look(self, entry: Entry, target: str) -> tuple[Finding | None, str | None]:
        """Read what shows such launches; return what it shows, and how usages call what was launched."""
        kind, caller = KINDS[entry.kind], self._caller
        document = await kind.read_evidence(caller, entry)
        latest = caller.pipeline.clock.latest_at(asyncio.get_running_loop().time())
        shown = kind.judge_shown(entry, document, latest, caller.words)
        if shown is not None and shown.verdict is Verdict.LAUNCHED and kind.in_review:
            shown = attrs.evolve(shown, ours=shown.ours and await self._books.only_ours_since(caller, entry))
        if not kind.in_usages:
            return shown, None
        name = target if kind.polled_by_id else getattr(document, kind.name_field, None)
        return shown, name
