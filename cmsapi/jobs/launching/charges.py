"""Find the usages that were charged since a launch, as the balances prove them.

The usages since are those that lead from the balance of now to the balance that was known before the launch, each to
the one before it. Their times and their order in the list prove nothing. They only add doubt: a usage from that time
that is not on the way means that credits were bought or given back, so that a charge may hide behind the balances.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence

import attrs

from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.user import User
from cmsapi.api.page import Page
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import Charges, is_after
from cmsapi.jobs.kinds.kind import Balance
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.tracked import INTENT, SENDING, UNKNOWN
from cmsapi.ratelimit.limiter import Priority
from cmsapi.state.entry import Entry
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds by which the clocks of a service may differ from each other. If they differ by more, some launches stay
# unknown that the evidence would tell otherwise.
CLOCKS = 600.0
# Seconds that a service may take to list what it has charged, and how often the list is read.
_LISTING = 1.0
_TRIES = 3
# At most so many pages of usages are read; what lies further back stays unknown.
_MOST_PAGES = 10


@attrs.frozen
class ChargeReader:
    """Read the balances before launches, and what was charged since."""

    caller: OperationCaller
    journal: LaunchJournal
    # One launch of the client at a time reads the balances. Other clients wait as long as their own settings say.
    _reading: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    async def read_balances(self) -> None:
        """Read the balances before a launch; without an answer the launch goes on."""
        balances = self.journal.balances
        if balances.known and self._reading.locked():
            return
        options = CallOptions(priority=Priority.LAUNCH, max_attempts=1 if balances.known else 2)
        try:
            async with self._reading:
                if not balances.fresh:
                    await self.caller.call(User, "get_me", options=options)
        except Exception as error:
            logger.debug("the balances could not be read before a launch: %s", error)

    async def read(self, entry: Entry, balance: Balance) -> Charges:
        """Read what was charged since a launch, between two readings of what else was launched."""
        earlier = await self._others(entry)
        charges = await self._charges(entry, balance)
        # One search has one identifier, whatever else is written of it.
        sure = {each.job_id: each for each in earlier if _is_sure(each, entry)}
        names = {(each.target, each.asked_at) for each in sure.values()}
        perhaps = {
            (each.target, each.asked_at): each
            for each in [*earlier, *(await self._others(entry))]
            if each.job_id not in sure and (each.target, each.asked_at) not in names
        }
        return attrs.evolve(charges, sure=tuple(sure.values()), perhaps=tuple(perhaps.values()))

    async def _others(self, entry: Entry) -> list[Entry]:
        """Return the other launches that draw on the same balance, as far as they are known."""
        journal, scope = self.journal, self.journal.scope
        known = [*journal.balances.memory, *(await journal.state.entries(scope)).values()]
        known += await journal.state.outcomes(scope, since=entry.asked_at - CLOCKS)
        # One that has ended since is in more than one of them.
        found = {(each.kind, each.target, each.asked_at): each for each in known if _same_balance(each, entry)}
        found.pop((entry.kind, entry.target, entry.asked_at), None)
        return list(found.values())

    async def _charges(self, entry: Entry, balance: Balance) -> Charges:
        """Read what was charged since a launch; a service that lists it late is asked again."""
        launched_at = entry.asked_at if entry.served_at is None else entry.served_at
        then = entry.facts.get("balance")
        tries = 0
        while True:
            tries += 1
            # The balance first: each charge that has lowered it is in the list that is read after it.
            user = await self.caller.call(User, "get_me")
            now, found = balance.of(user), None
            if now is not None and isinstance(then, int):
                usages = [usage async for usage in self._newest(balance.type, launched_at - CLOCKS)]
                found = between(then, now, usages, launched_at)
            if found is not None or tries == _TRIES:
                return Charges(user, now, None) if found is None else Charges(user, now, *found)
            await asyncio.sleep(_LISTING)

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


def _same_balance(other: Entry, entry: Entry) -> bool:
    """Tell whether a launch of about the same time or later draws on the same balance."""
    recent = other.asked_at >= entry.asked_at - CLOCKS
    return recent and "mark" in other.facts and _balance_of(other.kind) == _balance_of(entry.kind)


def _is_sure(other: Entry, entry: Entry) -> bool:
    """Tell whether a launch was certainly taken, after the balance before this one was read."""
    taken = other.job_id is not None and other.status not in (INTENT, SENDING, UNKNOWN)
    return taken and is_after(other, entry.facts.get("mark")) is True


def _balance_of(word: str) -> Balance | None:
    kind = KINDS.get(word)
    return None if kind is None else kind.balance


def between(
    then: int, now: int, usages: Iterable[CreditUsage], launched_at: float
) -> tuple[list[CreditUsage], list[CreditUsage]] | None:
    """Find the usages that lead from one balance to a later one, newest first, and those from just before it.

    The usages come in any order. Those of launches since carry `launched_at` or later, apart from clocks that differ.
    The result is None when they do not lead from one balance to the other, or when some are missing.
    """
    costly = sorted({usage.id: usage for usage in usages if usage.amount}.values(), key=age)
    # The list also has what was charged between the reading of the balance and that of the list.
    newer = {
        usage.remaining_credits + abs(usage.amount): usage.remaining_credits
        for usage in costly
        if usage.created_at.timestamp() >= launched_at - CLOCKS
    }
    while now in newer:
        now = newer.pop(now)
    since, at = _chain(costly, now, then)
    if at != then:
        return None
    ids = {usage.id for usage in since}
    # The usages before belong to the same chain as long as no credits came in.
    before, _ = _chain([usage for usage in costly if usage.id not in ids], then, None)
    began = min([launched_at, *(usage.created_at.timestamp() for usage in before[:1])]) - CLOCKS
    recent = {usage.id for usage in costly if usage.created_at.timestamp() >= began}
    if not ids <= recent <= ids | {usage.id for usage in before}:
        return None
    return since, [usage for usage in before if usage.created_at.timestamp() >= launched_at - CLOCKS]


def _chain(usages: Sequence[CreditUsage], balance: int, end: int | None) -> tuple[list[CreditUsage], int]:
    """Follow usages back from a balance, each to the balance before it, until one is reached or none leads on."""
    leading: dict[int, CreditUsage] = {}
    for usage in reversed(usages):
        leading[usage.remaining_credits] = usage
    chain: list[CreditUsage] = []
    while balance != end and balance in leading:
        usage = leading.pop(balance)
        chain.append(usage)
        balance += abs(usage.amount)
    return chain, balance


def counts(usage: CreditUsage) -> bool:
    """Tell whether a usage says what it took from which balance; the others cannot be part of a chain."""
    said = (usage.id, usage.created_at, usage.amount, usage.remaining_credits)
    return None not in said


def age(usage: CreditUsage) -> tuple[float, int]:
    """Return a sort key that grows with the age of a usage, as far as times and balances tell it."""
    return -usage.created_at.timestamp(), usage.remaining_credits
