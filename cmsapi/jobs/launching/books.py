"""The books of the service: balances and usages, which tell whether a launch without an answer was paid for.

This reads them and puts together what `verdict` counts.

Books prove an absence only where they were seen to show a presence: that is the *control*. It is known of a kind once a
launch was seen in balance and usages, by its name, a few seconds after its answer and while its job was open: then a
service books such launches at once, and under which user. The state keeps that, and forgets it when a launch that was
certainly taken is missing.

The books are read while no launch is in flight: new launches wait for these two or three requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import attrs

from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.user import User
from cmsapi.errors import CMSError
from cmsapi.jobs.errors import sent_times
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import Finding, name_of
from cmsapi.jobs.kinds.kind import Balance, Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.verdict import Control, Span, judge, user_of, written
from cmsapi.jobs.polling.registry import JobRegistry
from cmsapi.state.entry import Entry, EntryStatus
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

#: Seconds after its answer within which the books have to show a launch to be relied on.
PROMPT = 5.0
_MOST_PAGES = 10
# Seconds for which a reading waits for the launches in flight; one that takes longer counts as one in doubt.
_PATIENCE = 5.0
# Seconds for which launches wait for a reading at most.
_LONGEST_READING = 10.0
# Seconds between readings of books that do not balance.
_PAUSES = (0.0, 1.0, 3.0)
# Seconds before a launch after which an older one can no longer be charged together with it.
_LONG_BEFORE = 600.0
# Seconds by which a launch may have left later than the time of the service that is known of it: `Date` is cut to a
# second, and takes its time.
_CLOCK = 2.0
# Seconds before a control that has failed is learned again.
_FORGOTTEN_FOR = 86_400.0
# Most keywords that are read to know how usages call them: for a verdict, and where no launch is in doubt.
_MOST_NAMES, _FEW_NAMES = 100, 20
# Seconds before a control that could not be learned is tried again while no launch is in doubt.
_LEARN_AGAIN = 600.0
# Most launches that are remembered.
_LARGEST_MEMORY = 1000


@attrs.frozen
class Taken:
    """Hold a launch that the service has certainly taken.

    Args:
        entry: Its entry in the journal.
        at: Loop time at which that was known.
        answered: Whether its answer said so just then; what was found later is older than it seems.
    """

    entry: Entry
    at: float
    answered: bool


@attrs.frozen
class Reading:
    """Hold what the books said once.

    Args:
        number: Which reading of the balances of this process it is.
        began: Loop time at which it began.
        ended: Loop time at which it ended.
        balance: The credits that were left, or None where the service does not show them.
        usages: The newest usages, the newest first; None where they cannot be counted.
        whole: Whether these are all usages.
        taken: The launches that the service had certainly taken by then, as far as this process knows.
        user: Identifier of the user of the key, or None.
    """

    number: int
    began: float
    ended: float
    balance: int | None
    usages: tuple[CreditUsage, ...] | None
    whole: bool = False
    taken: tuple[Taken, ...] = ()
    user: str | None = None

    def reaches(self, then: int) -> bool:
        """Tell whether the usages lead back to an earlier balance, as far as they can."""
        if self.usages is None or self.whole or self.balance is None:
            return True
        return sum(abs(usage.amount) for usage in self.usages[:-1]) >= then - self.balance

    def since(self, then: int) -> tuple[tuple[CreditUsage, ...], tuple[CreditUsage, ...]] | None:
        """Return the newest usages, which add up to what left the balance since an earlier one, and the two before.

        It is None where they do not add up to that exactly.
        """
        if self.usages is None or self.balance is None:
            return None
        left = then - self.balance
        for place, usage in enumerate(self.usages):
            if left <= 0:
                return (self.usages[:place], self.usages[place : place + 2]) if left == 0 else None
            left -= abs(usage.amount)
        return (self.usages, ()) if left == 0 and self.whole else None

    def may_charge(self, then: int, known: int, lost: str | None) -> bool:
        """Tell whether it may show a charge for a launch in doubt.

        Args:
            then: The balance before the launch.
            known: How many launches the service has certainly taken since.
            lost: What was launched, as people call it; None where that is not known.
        """
        usages, _ = self.since(then) or ((), ())
        named = lost is not None and any(written(usage) == name_of(lost) for usage in usages)
        return named or self.balance is None or then - self.balance > known

    def only_ours(self, then: int) -> bool:
        """Tell whether it shows that all credits since an earlier balance were spent by the user of the key."""
        found = self.since(then)
        return found is not None and all(user_of(usage) == self.user for usage in found[0])


@attrs.frozen
class _Before:
    """Hold which balance a launch draws on, and what was left of it before."""

    balance: Balance
    left: int


class Books:
    """Read the books of one account, and remember the launches that have to be there.

    Args:
        registry: The jobs in flight, what their targets are called, and the journal of their launches.
    """

    def __init__(self, registry: JobRegistry) -> None:
        self._registry = registry
        self._journal: LaunchJournal = registry.journal
        self._balances: BalanceReadings = registry.journal.balances
        # The newest reading by the type of usages.
        self._newest: dict[str, Reading] = {}
        # The launches that the service has certainly taken.
        self._taken: deque[Taken] = deque(maxlen=_LARGEST_MEMORY)
        # One reading at a time, while launches wait; and one task at a time learns, not before some loop time by kind.
        self._reading, self._learning = asyncio.Lock(), asyncio.Lock()
        self._learn_at: dict[str, float] = {}
        # By kind, whether it was seen how the first launch is booked, or cannot be.
        self._first_seen: dict[str, asyncio.Event] = {}
        self._open, self._idle = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._idle.set()
        self._in_flight = 0

    # Launches

    @contextlib.asynccontextmanager
    async def turn(self, kind: Kind, *, first_alone: bool) -> AsyncIterator[None]:
        """Let a launch go while the books are not being read.

        Args:
            kind: What is launched.
            first_alone: Whether it waits until it was seen how the first launch of its kind is booked, unless the state
                knows that: the launches of a fan-out leave together, and without that no absence is told if all of them
                are lost.
        """
        try:
            # A reading may hang; one during which launches leave tells less.
            async with asyncio.timeout(_LONGEST_READING):
                if first_alone and kind.in_usages:
                    await self._after_first(kind)
                await self._open.wait()
        except TimeoutError:
            self.go_on(kind)
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def _after_first(self, kind: Kind) -> None:
        """Wait until it was seen how the first launch of a kind is booked; return at once for that one."""
        if (seen := self._first_seen.get(kind.name)) is not None:
            await seen.wait()
        else:
            self._first_seen[kind.name] = asyncio.Event()
            if await self._document(kind):
                self.go_on(kind)

    def go_on(self, kind: Kind) -> None:
        """Let the launches go that wait for the first one of their kind."""
        if kind.name in self._first_seen:
            self._first_seen[kind.name].set()

    def note_taken(self, entry: Entry, *, answered: bool) -> None:
        """Remember a launch that the service has certainly taken, by its own answer or as it was found out later."""
        self._taken.append(Taken(entry, asyncio.get_running_loop().time(), answered))

    # Readings

    @contextlib.asynccontextmanager
    async def _quiet(self) -> AsyncIterator[None]:
        """Keep new launches waiting, and wait for those in flight."""
        async with self._reading:
            self._open.clear()
            try:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE):
                        await self._idle.wait()
                yield
            finally:
                self._open.set()

    async def _read_since(self, caller: OperationCaller, balance: Balance, then: int) -> Reading:
        """Return a reading that begins from now on and leads back to a balance; launches share it."""
        due = asyncio.get_running_loop().time()
        async with self._quiet():
            reading = self._newest.get(balance.type)
            if reading is None or reading.began < due or not reading.reaches(then):
                reading = self._newest[balance.type] = await self._read(caller, balance, then)
        return reading

    async def _read(self, caller: OperationCaller, balance: Balance, then: int) -> Reading:
        """Read a balance, and the usages that lead back to an earlier one."""
        loop, taken, usages = asyncio.get_running_loop(), tuple(self._taken), list[CreditUsage]()
        began = loop.time()
        # The balance first: each usage of what has lowered it is in the list that is read after it.
        user = await caller.call(User, "get_me")
        self._balances.saw(user, began)
        reading = Reading(self._balances.number, began, began, balance.of(user), (), taken=taken, user=user.id)
        for number in range(1, _MOST_PAGES + 1):
            page = await caller.page(
                CreditUsage, "list_credit_usages", number=number, limit=LARGEST_PAGE, query={"type": balance.type}
            )
            usages += page
            reading = attrs.evolve(reading, usages=_in_order(usages, whole=not page.has_more), whole=not page.has_more)
            # Of one usage it cannot be told which comes first.
            if reading.usages is None or reading.whole or (len(usages) > 1 and reading.reaches(then)):
                break
        return attrs.evolve(reading, ended=loop.time())

    async def _span(
        self, caller: OperationCaller, entry: Entry, reading: Reading, most_names: int = _MOST_NAMES
    ) -> Span | None:
        """Put together what happened between the balance before a launch and a reading; None if it does not add up."""
        before = _before(entry)
        found = None if before is None else reading.since(before.left)
        if before is None or found is None:
            return None
        since = self._balances.number_of(entry)
        since_then = (each.entry for each in reading.taken if self._left_after(each.entry, since))
        taken = [each for each in since_then if each.kind == entry.kind]
        sure = {_key(each) for each in taken} | {_key(entry)}
        others = [each for each in await self._others(entry, reading) if _key(each) not in sure]
        # Names are asked for only where something has to be called by them.
        sure_names, other_names = [
            await self._names(caller, each, most_names) if found[0] else [None] * len(each) for each in (taken, others)
        ]
        # The time of the first attempt says nothing of a later one.
        left_at = entry.served_at if sent_times(entry) < 2 else entry.facts.get("repeated_at")
        launched_at = left_at + _CLOCK if isinstance(left_at, int | float) else None
        return Span(*found, before.left, sure_names, other_names, launched_at)

    def _left_after(self, entry: Entry, number: int | None) -> bool:
        """Tell whether a launch of this process certainly left after a reading of the balances."""
        own = self._balances.number_of(entry)
        return own is not None and number is not None and own >= number

    async def _others(self, entry: Entry, reading: Reading) -> list[Entry]:
        """Return the launches that may have been charged between the balance before a launch and a reading."""
        journal, oldest = self._journal, entry.asked_at - _LONG_BEFORE
        known = [
            *(each.entry for each in self._taken),
            *(await journal.state.entries(journal.scope)).values(),
            *await journal.state.outcomes(journal.scope, since=oldest),
            *await journal.unknown.recent(journal.scope),
        ]
        # One that has ended since is in more than one of them; what was not sent costs nothing.
        found = {_key(each): each for each in known if _draws_alike(each, entry) and each.status != EntryStatus.INTENT}
        return [
            each for each in found.values() if each.asked_at >= oldest and not self._left_after(each, reading.number)
        ]

    async def _names(self, caller: OperationCaller, entries: Sequence[Entry], most: int) -> list[str | None]:
        """Return how usages call the targets of launches; at most `most` names that are not known yet are read."""
        found: list[str | None] = []
        for entry in entries:
            kind = KINDS[entry.kind]
            name = entry.target if kind.polled_by_id else self._registry.names.get((kind, entry.target))
            found.append(name if kind.in_usages else None)
        unread = [place for place, name in enumerate(found) if name is None and KINDS[entries[place].kind].in_usages]

        async def read(place: int) -> None:
            kind, target = KINDS[entries[place].kind], entries[place].target
            document = await caller.call(kind.model, kind.operation, {kind.parameter: target})
            found[place] = getattr(document, kind.name_field, None)

        await asyncio.gather(*map(read, unread[:most]))
        return [None if name is None else name_of(name) for name in found]

    # Verdicts

    async def judge(self, caller: OperationCaller, entry: Entry, lost: str | None) -> Finding:
        """Say what the books tell of a launch that can no longer arrive.

        Args:
            caller: Calls the operations.
            entry: The launch.
            lost: What was launched, as people call it; None where that is not known.

        Raises:
            CMSError: They cannot be read.
        """
        kind, before = KINDS[entry.kind], _before(entry)
        if before is None:
            return Finding.unknown("the balance was not read before the launch")
        if lost is None:
            return Finding.unknown(f"usages do not tell which {kind} they are of")
        if (control := await self.control(kind)) is None:
            await self.learn(caller, kind)
            control = await self.control(kind)
        # It may have arrived just now.
        await asyncio.sleep(PROMPT if control is None else control.within)
        finding = Finding.unknown("the usages do not add up to what left the balance")
        for pause in _PAUSES:
            await asyncio.sleep(pause)
            reading = await self._read_since(caller, before.balance, before.left)
            if (span := await self._span(caller, entry, reading)) is not None:
                if self._misses(span, reading, kind):
                    await self._forget(kind)
                finding = judge(span, lost, await self.control(kind))
                if span.imbalance is None:
                    break
        return finding

    async def shows_charge(self, caller: OperationCaller, entry: Entry, lost: str | None) -> bool:
        """Tell whether there may be a charge for a launch: more has left the balance than known launches cost.

        So it is where the balance was not read before the launch, or cannot be read now.

        Raises:
            CMSError: The books cannot be read.
        """
        if (before := _before(entry)) is None:
            return True
        reading = await self._read_since(caller, before.balance, before.left)
        since = self._balances.number_of(entry)
        taken = (each.entry for each in reading.taken)
        known = sum(_draws_alike(each, entry) and self._left_after(each, since) for each in taken)
        return reading.may_charge(before.left, known, lost)

    async def only_ours_since(self, caller: OperationCaller, entry: Entry) -> bool:
        """Tell whether no other user has spent such credits since a launch, as far as the service shows that."""
        if (before := _before(entry)) is None:
            return True
        try:
            reading = await self._read_since(caller, before.balance, before.left)
        except CMSError:
            return True
        return reading.only_ours(before.left)

    # The control

    async def control(self, kind: Kind) -> Control | None:
        """Return how launches of a kind were seen to be booked, None while that was not seen."""
        document = await self._document(kind)
        within, user = document.get("within"), document.get("user")
        if document.get("holds") is not True or not isinstance(within, int | float) or not 0 <= within <= PROMPT:
            return None
        return Control(float(within), user if isinstance(user, str) else None)

    async def learn(self, caller: OperationCaller, kind: Kind) -> None:
        """Look whether the books show a launch that was answered just now, unless that is known of its kind."""
        async with self._learning:
            await self._learn(caller, kind, _MOST_NAMES)

    async def learn_cheaply(self, caller: OperationCaller, kind: Kind) -> None:
        """Do the same while no launch is in doubt: with few requests, and after a failure not again for a while."""
        now = asyncio.get_running_loop().time()
        try:
            if not self._learning.locked() and now >= self._learn_at.get(kind.name, now):
                async with self._learning:
                    self._learn_at[kind.name] = now + _LEARN_AGAIN
                    await self._learn(caller, kind, _FEW_NAMES)
        finally:
            self.go_on(kind)

    async def _learn(self, caller: OperationCaller, kind: Kind, most_names: int) -> None:
        loop = asyncio.get_running_loop()
        youngest = _youngest(self._taken, kind)
        before = None if youngest is None else _before(youngest.entry)
        if youngest is None or before is None or not kind.in_usages:
            return
        try:
            document = await self._document(kind)
            at = document.get("at")
            forgotten = isinstance(at, int | float) and self._journal.wall() - at < _FORGOTTEN_FOR
            if document.get("holds") is True or forgotten or loop.time() - youngest.at > PROMPT:
                return
            reading = await self._read_since(caller, before.balance, before.left)
            seen = _youngest(reading.taken, kind) or youngest
            # A charge that comes with the end of a job would be late for others. Short jobs end while names are read.
            within, runs = reading.ended - seen.at, self._runs(seen.entry)
            span = await self._span(caller, seen.entry, reading, most_names) if runs and within <= PROMPT else None
            if span is None or span.imbalance is not None:
                return
            users = {user_of(usage) for usage in span.usages}
            if len(users) == 1:
                control = Control(within, users.pop())
                await self._keep(kind, {"holds": True, "at": self._journal.wall(), **attrs.asdict(control)})
        except CMSError as error:
            logger.debug("it could not be learned how a %s is booked: %s", kind, error)

    def _runs(self, entry: Entry) -> bool:
        """Tell whether the job of a launch has not ended, as far as it was polled."""
        kind = KINDS[entry.kind]
        job = self._registry.jobs.get((kind, kind.job_target(entry.target, entry.job_id)))
        return job is not None and not job.closed

    def _misses(self, span: Span, reading: Reading, kind: Kind) -> bool:
        """Tell whether launches that were taken long enough ago are not in the books."""
        kinds = ((each.entry.kind == kind.name.value, each.at) for each in reading.taken)
        young = sum(same and at > reading.began - PROMPT for same, at in kinds)
        return len(span.usages) < len(span.taken) - young

    async def _forget(self, kind: Kind) -> None:
        """Rely no more on what was seen, because it is not so any more."""
        if await self.control(kind) is not None:
            logger.info("this service does not book each %s at once any more", kind)
            await self._keep(kind, {"holds": False, "at": self._journal.wall()})

    async def _document(self, kind: Kind) -> Mapping[str, Any]:
        found = await self._journal.state.get_document(self._journal.scope, f"books {kind}")
        return found if isinstance(found, Mapping) else {}

    async def _keep(self, kind: Kind, document: Mapping[str, Any]) -> None:
        state, scope, name = self._journal.state, self._journal.scope, f"books {kind}"
        stands = await state.get_document(scope, name)
        await state.compare_and_set(scope, name, stands, dict(document))


# Usages


def _in_order(usages: Sequence[CreditUsage], *, whole: bool) -> tuple[CreditUsage, ...] | None:
    """Put usages in the order of the newest first; None where that cannot be done, or some cannot be counted."""
    if any(None in (usage.id, usage.created_at, usage.amount, usage.remaining_credits) for usage in usages):
        return None
    if usages and usages[0].created_at < usages[-1].created_at:
        return tuple(reversed(usages)) if whole else None
    return tuple(usages)


# Launches


def _key(entry: Entry) -> tuple[str, str, float]:
    return entry.kind, entry.target, entry.asked_at


def _before(entry: Entry) -> _Before | None:
    """Return the balance before a launch; None where it was not read."""
    balance, left = KINDS[entry.kind].balance, entry.facts.get("balance")
    return _Before(balance, left) if balance is not None and isinstance(left, int) else None


def _youngest(taken: Iterable[Taken], kind: Kind) -> Taken | None:
    """Return the launch of a kind that was answered last."""
    return next((each for each in reversed([*taken]) if each.answered and each.entry.kind == kind.name.value), None)


def _draws_alike(other: Entry, entry: Entry) -> bool:
    """Tell whether another launch, of whatever version's kind, draws on the same balance."""
    kind = KINDS.get(other.kind)
    return kind is not None and kind.balance == KINDS[entry.kind].balance
