"""Find out whether a launch happened: wait until it can no longer arrive, read what is there, and judge that.

It runs only under the lease of the launch, in the process that lost the answer or in the one that recovers an orphan.
It takes some requests, mostly one to three, and no credit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.user import User
from cmsapi.api.pagination import Page
from cmsapi.errors import APIError, ForbiddenError, NotFoundError, ServerError
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import NO_OTHERS, Charges, Finding, Others, Verdict, is_after
from cmsapi.jobs.kinds.kind import Balance, ChargeEvidence
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.charges import CLOCKS, age, between, counts
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import INTENT, SENDING, UNKNOWN, Record, TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.state.journal import Entry
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds that a service may take to list what it has charged, and how often the list is read.
_LISTING = 1.0
_TRIES = 3
# At most so many pages of usages are read; what lies further back stays unknown.
_MOST_PAGES = 10


@attrs.frozen
class Reconciler:
    """Find out whether launches happened.

    Args:
        caller: Calls the operations.
        journal: Where launches are written down.
    """

    caller: OperationCaller
    journal: LaunchJournal
    # One launch of the client at a time reads the balances. Other clients wait as long as their own settings say.
    _reading: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    async def find_out(self, entry: Entry, *, left_at: float | None = None, settles_at: float | None = None) -> Finding:
        """Wait until a launch can no longer arrive, and find out whether it did.

        Args:
            entry: What was written down of it.
            left_at: Loop time at which it left, where that was this process.
            settles_at: Loop time after which it can no longer arrive, where that is known.

        Raises:
            CMSError: The service or the state could not be read; nothing is known.
        """
        await asyncio.sleep(self._settles_in(entry, settles_at))
        if entry.served_at is None and left_at is not None:
            # The launch was the first request: the next answer tells the service's time, also of then.
            await self.caller.call(User, "get_me")
            if (served := self.caller.pipeline.clock.at(left_at)) is not None:
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
        gone = self.journal.wall() - sent_at
        served = self.caller.pipeline.clock.at(asyncio.get_running_loop().time())
        if served is not None and entry.served_at is not None:
            # A clock that was set forward has let no time pass.
            gone = min(gone, served.timestamp() - entry.served_at)
        # A clock that was set back says nothing.
        return max(0.0, settle - gone) if gone >= 0 else settle

    async def _read(self, entry: Entry) -> Finding:
        kind = KINDS.get(entry.kind)
        if kind is None:
            return Finding.unknown(f"this version of cmsapi does not know the kind {entry.kind}")
        document = await kind.read_evidence(self.caller, entry)
        if (shown := kind.judge_shown(entry, document, self._now())) is not None:
            return shown
        if kind.balance is None or kind.charge_evidence is ChargeEvidence.NONE:
            return kind.judge(entry, document, None, NO_OTHERS)
        optional = kind.charge_evidence is ChargeEvidence.OPTIONAL
        if "mark" not in entry.facts and not optional:
            return Finding.unknown("no balance was read before the launch")
        try:
            charges, others = await self._charges_and_others(entry, kind.balance)
        except APIError as refusal:
            if not optional or isinstance(refusal, ServerError):
                raise
            return kind.judge(entry, document, None, NO_OTHERS)
        return kind.judge(entry, document, charges, others)

    async def read_balances(self) -> None:
        """Read the balances before a launch, unless they were read just before; it goes on without them, too."""
        balances = self.journal.balances
        if balances.fresh or (balances.known and self._reading.locked()):
            return
        options = CallOptions(priority=Priority.LAUNCH, max_attempts=1 if balances.known else 2)
        try:
            async with self._reading:
                if not balances.fresh:
                    await self.caller.call(User, "get_me", options=options)
        except asyncio.CancelledError:
            # A launch that waits for its turn while the client is closed raises that.
            self.caller.open()
            raise
        except Exception as error:
            logger.debug("the balances could not be read before a launch: %s", error)

    async def _charges(self, entry: Entry, balance: Balance) -> Charges:
        """Read what was charged since a launch; a service that lists it late is asked again."""
        charges = await self._read_charges(entry, balance)
        for _ in range(_TRIES - 1):
            if charges.since is not None:
                break
            await asyncio.sleep(_LISTING)
            charges = await self._read_charges(entry, balance)
        return charges

    async def _others(self, entry: Entry) -> list[Entry]:
        """Return the other launches that draw on the same balance, as far as they are known."""
        journal, scope = self.journal, self.journal.scope
        known = [*journal.balances.memory, *(await journal.state.entries(scope)).values()]
        known += await journal.state.recent_outcomes(scope, entry.asked_at - CLOCKS)
        # One that has ended since is in more than one of them.
        found = {(each.kind, each.target, each.asked_at): each for each in known if _same_balance(each, entry)}
        found.pop((entry.kind, entry.target, entry.asked_at), None)
        return list(found.values())

    async def _charges_and_others(self, entry: Entry, balance: Balance) -> tuple[Charges, Others]:
        """Read the charges between two readings of what else was launched."""
        earlier = await self._others(entry)
        charges = await self._charges(entry, balance)
        # One search has one identifier, whatever else is written of it.
        sure = {each.job_id: each for each in earlier if _is_sure(each, entry)}
        names = {(each.target, each.asked_at) for each in sure.values()}
        everything = [*earlier, *(await self._others(entry))]
        perhaps = {
            (each.target, each.asked_at): each
            for each in everything
            if each.job_id not in sure and (each.target, each.asked_at) not in names
        }
        return charges, Others(tuple(sure.values()), tuple(perhaps.values()))

    def _now(self) -> datetime | None:
        """Return the latest time that the service may have, as its answers tell it."""
        return self.caller.pipeline.clock.latest_at(asyncio.get_running_loop().time())

    async def _read_charges(self, entry: Entry, balance: Balance) -> Charges:
        # The balance first: whatever has lowered it is in the list that is read after it.
        user = await self.caller.call(User, "get_me")
        now, then = balance.of(user), entry.facts.get("balance")
        if now is None or not isinstance(then, int):
            return Charges(user, now, None)
        launched_at = entry.asked_at if entry.served_at is None else entry.served_at
        usages = [usage async for usage in self._newest(balance.type, launched_at - CLOCKS)]
        since, before = between(then, now, usages, launched_at) or (None, ())
        return Charges(user, now, since, before)

    async def _newest(self, type_: str, until: float) -> AsyncIterator[CreditUsage]:
        """Read the newest usages, page by page until one is dated before a time, but not more than some pages."""
        page = await self._page(type_, 1)
        for usage in page:
            yield usage
        oldest_first = len(page) > 1 and age(page[0]) > age(page[-1])
        last = -(-(page.total or 0) // LARGEST_PAGE)
        numbers = range(last, 1, -1) if oldest_first and page.total else range(2, _MOST_PAGES + 1)
        for number in numbers[: _MOST_PAGES - 1]:
            newest_first = not oldest_first or number != last
            if newest_first and (not page or min(usage.created_at.timestamp() for usage in page) < until):
                return
            if not oldest_first and not page.has_more:
                return
            page = await self._page(type_, number)
            for usage in page:
                yield usage

    async def _page(self, type_: str, number: int) -> Page[CreditUsage]:
        query = {"type": type_}
        page = await self.caller.page(CreditUsage, "list_credit_usages", number=number, limit=LARGEST_PAGE, query=query)
        return attrs.evolve(page, items=tuple(usage for usage in page if counts(usage)))


async def adopt(
    poller: Poller, record: Record, finding: Finding, settings: Mapping[str, Any] | None = None
) -> TrackedJob:
    """Track the job of a launch that happened although its answer is lost."""
    await poller.journal.record_launched(record, job_id=finding.job_id, served_at=finding.served_at)
    job = poller.take_over(record)
    if settings is not None:
        job.history.settings = settings
    job.adopted, job.history.saw_running = not finding.ours, finding.running
    return job


def _same_balance(other: Entry, entry: Entry) -> bool:
    """Tell whether a launch of about the same time or later draws on the same balance."""
    recent = other.asked_at >= entry.asked_at - CLOCKS
    return recent and "mark" in other.facts and _balance_of(other.kind) == _balance_of(entry.kind)


def _is_sure(other: Entry, entry: Entry) -> bool:
    """Tell whether a launch was certainly taken, after the balance before this one was read."""
    taken = other.job_id is not None and other.status not in (INTENT, SENDING, UNKNOWN)
    return taken and is_after(other, entry.facts.get("mark"))


def _balance_of(word: str) -> Balance | None:
    kind = KINDS.get(word)
    return None if kind is None else kind.balance
