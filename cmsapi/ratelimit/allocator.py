"""Keep one book for all processes of an account, so that together they stay inside its limits.

The scheme is that of `windows`, and so is its proof: a permit is out from the moment it is given until one
window after its request has settled, whoever holds it. What several processes add:

- *Holders.* A process says with every turn how many permits it still has. So a turn whose reply got lost leaks nothing,
  and a turn that arrives twice counts once.
- *Death.* A turn lets its holder live for `AccountLimits.life` seconds. A holder sends nothing after that without
  another turn. When it has been silent for longer, and for the cap on top of it, during which what it sent may still
  arrive, its permits settle as if they had been answered then.
- *The line.* Who gets less than it wants is in line, by priority and then by time. It stays at its place until it has
  had an even share of the second, or has not come back when it was told to. As long as others are in line, nobody takes
  more than such a share at a time.
- *Outages.* A process that cannot reach the book makes requests of its own. When it is back it tells of them, and asks
  all to rest until every other process must have tried again too. One that did not notice the outage may come first:
  when processes that hold permits or stand in line were all absent for longer than they ever are, all rest as well.
- *Loss.* A store may lose the book, or parts of it: keys are evicted, rows deleted. Parts that contradict each other
  are given up together, and a new book begins with a new *epoch*. A process that comes with another epoch may hold
  permits of the old book, and so may others. So nothing is given until every such permit is used or told: for the
  life of a holder. What answers said in the old epoch is not heard; the next answer tells what is left of the hour.
- *Ages.* An answer is reported by how long ago it was seen, so that the clocks of the processes need not agree and
  reports may come late. Permits come back later by that, never sooner.

Nothing here waits or reads a clock. A store calls `turn` inside one transaction.
"""

from __future__ import annotations

import attrs

from cmsapi.ratelimit.exchange import PARTS, AccountLimits, HeaderReport, PermitGrant, PermitRequest
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.ring import NEVER, ContradictionError, Ring

# Who waits comes back after so many seconds at the latest: permits may have been given back, and who died in line is
# soon known. Shorter than the life of a holder.
LONGEST_REST = 2.0
# A place in line is kept for so many seconds after its owner was told to come back.
GRACE = 1.0
# When only an answer can tell when a permit comes back, it comes back a second after that answer: looking again after
# this part of a second is in time.
LOOK_AGAIN = 0.8
FIRST_ANSWER = 0.2
# After an outage all rest for so many seconds: longer than a process takes to try again.
REST = 2.0
# A process that holds permits takes a turn twice in its life, and one in line comes back within `LONGEST_REST`. When
# all of them were absent for this part of a life, and for longer than such a rest, they could not reach the book.
ABSENCE = 0.6
# A clock that goes back further than this was set; waiting for it would hold everybody up.
STEP = 10.0
# The part of the hour for which a request is certainly in the service's: that one is a little shorter, and the moment
# at which a request arrived is only known to some seconds.
CERTAIN = (3600.0 - 5.0) / HOUR


# Nothing that is stored lies so far ahead of the book's time, as long as it makes sense: no pause is longer.
FAR = 2 * 86_400.0
# The book's time is in seconds since 1970, or since a process began.
LATEST = 1e11


@attrs.define
class Holder:
    """Hold what the book knows of one process.

    Args:
        number: Its last turn.
        until: When its life ends unless it takes another turn.
        out: Permits that it has.
        want: Permits that it is in line for; 0 when it is not.
        priority: Its lane.
        since: Since when it is in line.
        got: Permits that it was given at this place.
        kept: Until when its place is kept.
    """

    number: int = 0
    until: float = 0.0
    out: int = 0
    want: int = 0
    priority: int = 0
    since: float = 0.0
    got: int = 0
    kept: float = 0.0


@attrs.define
class PermitAllocator:
    """Hold what the processes of an account agree on, but for the ring.

    Args:
        settled: Requests that have settled, all told.
        left: Those of them that have left the hour.
        certain: Those of them that may have left the service's hour.
        latest: When the last one settled.
        time: Latest time of the book.
        ahead: How far the book's time is ahead of the clock, because that was set back.
        known: Whether an answer was ever seen, so that its headers have told what is left of the hour.
        limit: Requests an hour as the service says, or None.
        foreign: Requests of others in this hour.
        foreign_leaves: When the oldest of them leaves.
        foreign_gone: When all of them have left.
        tries_at: When one request may try an hour that is full by a limit that an answer named.
        tries_every: Seconds between two such.
        rests_until: Until when the service wants everybody to rest.
        epoch: When the book began, in milliseconds; 0 before its first turn.
        holders: The processes.
    """

    settled: int = 0
    left: int = 0
    certain: int = 0
    latest: float = -NEVER
    time: float = -NEVER
    ahead: float = 0.0
    known: bool = False
    limit: int | None = None
    foreign: int = 0
    foreign_leaves: float = NEVER
    foreign_gone: float = NEVER
    tries_at: float = NEVER
    tries_every: float = 0.0
    rests_until: float = -NEVER
    epoch: int = 0
    holders: dict[str, Holder] = attrs.field(factory=dict)

    def turn(
        self, ring: Ring, terms: AccountLimits, ask: PermitRequest, clock: float, *, reset: bool = False
    ) -> PermitGrant:
        """Write down what a holder did, and give it what is its turn.

        Args:
            ring: When the requests settled.
            terms: What the account admits.
            ask: What the holder did and wants.
            clock: Seconds on a clock that all holders share.
            reset: Whether this book takes the place of one that contradicted itself.

        Raises:
            ContradictionError: What is stored contradicts itself; delete it, and let a new book take the turn.
        """
        if not self._makes_sense():
            raise ContradictionError
        before, now = self.time, self._now(clock)
        self.epoch = self.epoch or int(now * 1000)
        strange = ask.epoch not in (0, self.epoch)
        self._bury(ring, terms, now)
        self._age(ring, terms, now)
        if ask.rest > 0:
            self._rest(now + ask.rest)
        absence = max(ABSENCE * terms.life, LONGEST_REST + GRACE)
        if terms.limited and now - before > absence and self._others_are_busy(ask):
            self._rest(now + REST)
        if terms.limited and (strange or reset):
            self._rest(self.epoch / 1000 + terms.life)
        holder = self.holders.setdefault(ask.holder, Holder())
        if ask.number > holder.number:
            self._note(ring, terms, ask, now, strange)
        holder.number, holder.out, holder.until = ask.number, ask.held, now + terms.life
        granted, wait = self._give(ring, terms, ask, now)
        holder.out += granted
        return PermitGrant(
            granted=granted,
            wait=wait,
            at=now,
            settled=self.settled,
            left=self.left,
            out=self._out(),
            used=self._used(),
            limit=self.limit,
            foreign=self.foreign,
            returns=self._returns(ring, terms, now),
            epoch=self.epoch,
            reset=reset,
        )

    def _makes_sense(self) -> bool:
        until = self.time + FAR
        return (
            0 <= self.left <= self.settled
            and self.latest <= self.time <= LATEST
            and min(self.ahead, self.tries_every) >= 0
            and self.rests_until <= until
            and self.foreign >= 0
            # An answer that tells of others counts no more requests than its limit.
            and (not self.foreign or (self.foreign <= (self.limit or 0) and self.foreign_gone <= until))
            and all(
                each.out >= 0 and each.want >= 0 and max(each.until, each.kept, each.since) <= until
                for each in self.holders.values()
            )
        )

    # The passing of time

    def _now(self, clock: float) -> float:
        now = clock + self.ahead
        if now < self.time - STEP:
            self.ahead += self.time - now
            now = self.time
        self.time = max(self.time, now)
        return now

    def _bury(self, ring: Ring, terms: AccountLimits, now: float) -> None:
        dead = [name for name, holder in self.holders.items() if holder.until + terms.cap <= now]
        # In the order of their deaths, whatever the order in which a store keeps them.
        for name in sorted(dead, key=lambda name: self.holders[name].until):
            holder = self.holders.pop(name)
            for _ in range(holder.out):
                self._settle(ring, holder.until + terms.cap)

    def _age(self, ring: Ring, terms: AccountLimits, now: float) -> None:
        self.left += ring.drop(now - terms.hour)
        if self.foreign:
            if now >= self.foreign_gone:
                self.foreign = 0
            elif now >= self.foreign_leaves:
                self.foreign -= 1
                self.foreign_leaves = NEVER

    def _others_are_busy(self, ask: PermitRequest) -> bool:
        return any(each.out or each.want for name, each in self.holders.items() if name != ask.holder)

    def _rest(self, until: float) -> None:
        self.rests_until = max(self.rests_until, until)

    def _settle(self, ring: Ring, at: float) -> None:
        self.latest = max(self.latest, at)
        ring.append(self.latest)
        self.settled += 1

    # What a holder reports

    def _note(self, ring: Ring, terms: AccountLimits, ask: PermitRequest, now: float, strange: bool) -> None:
        if ask.seen is not None and terms.per_hour is not None and not strange:
            self._observe(ring, terms, ask.seen, now)
        for age in ask.settled:
            self._settle(ring, now - age)
        if ask.settled and self.tries_at == NEVER:
            self.tries_at = now + self.tries_every
        self.known = self.known or (ask.heard and not strange)

    def _observe(self, ring: Ring, terms: AccountLimits, seen: HeaderReport, now: float) -> None:
        """Learn from the headers how much others use: see `SlidingWindows`, whose bounds these are."""
        quota = seen.quota
        self.limit = quota.limit
        self.tries_every = quota.reset + terms.second
        self.tries_at = now - seen.age + self.tries_every
        counted = quota.limit - quota.remaining
        at_least = counted - self._out() - (self.settled - seen.left)
        certainly = terms.hour * CERTAIN
        if at_least > self.foreign:
            self.foreign = at_least
        elif self.foreign:
            self.certain = max(self.certain, self.left)
            while self.certain < self.settled and ring.oldest(self.certain - self.left) + certainly <= now:
                self.certain += 1
            at_most = counted - max(0, seen.settled - self.certain) - 1
            self.foreign = max(0, at_least, min(self.foreign, at_most))
        if self.foreign:
            leaves = now - seen.age + quota.reset + terms.second
            oldest_own = ring.oldest(0) + certainly
            self.foreign_leaves = leaves if leaves < oldest_own else NEVER
            self.foreign_gone = now + terms.hour

    # What it gets

    def _give(self, ring: Ring, terms: AccountLimits, ask: PermitRequest, now: float) -> tuple[int, float]:
        holder = self.holders[ask.holder]
        waiting = [each for each in self.holders.values() if each is not holder and each.want and each.kept > now]
        if not (holder.want and holder.kept > now):
            holder.since, holder.got = now, 0
        holder.want, holder.priority = ask.want, ask.priority
        if not ask.want:
            return 0, 0.0
        share = holder.got + ask.want
        if waiting and terms.per_second is not None:
            share = max(1, terms.per_second // (len(waiting) + 1))
        first = [each for each in waiting if (each.priority, each.since) < (holder.priority, holder.since)]
        ahead = sum(max(0, min(each.want, share - each.got)) for each in first)
        granted = max(0, min(ask.want, max(1, share - holder.got), self._free(ring, terms, now) - ahead))
        wait = 0.0 if granted else self._wait(ring, terms, ahead + 1, now)
        if granted and self.limit is not None and self._used() + granted >= self.limit:
            # This one tries; another one only after it has settled.
            self.tries_at = NEVER
        holder.want -= granted
        holder.got += granted
        if holder.got >= share:
            holder.since, holder.got = now, 0
        holder.kept = now + min(wait, LONGEST_REST) + GRACE
        return granted, wait

    def _out(self) -> int:
        return sum(holder.out for holder in self.holders.values())

    def _used(self) -> int:
        return self._out() + self.settled - self.left + self.foreign

    def _left_of_hour(self, terms: AccountLimits) -> int | None:
        limits = [limit for limit in (terms.per_hour, self.limit) if limit is not None]
        return min(limits) - self._used() if terms.per_hour is not None else None

    def _full_by_hearsay(self, terms: AccountLimits) -> bool:
        """Tell whether the hour is full by a limit that an answer named, and not by the setting."""
        if terms.per_hour is None or self.limit is None or self.limit >= terms.per_hour:
            return False
        used = self._used()
        return used >= self.limit and used - self.foreign < terms.per_hour

    def _free(self, ring: Ring, terms: AccountLimits, now: float) -> int:
        """Count the permits that are free now."""
        if now < self.rests_until:
            return 0
        out, per_second, of_hour = self._out(), terms.per_second, self._left_of_hour(terms)
        free = int(NEVER)
        if per_second is not None:
            room, inside = per_second - out, 0
            while inside < room and ring.newest(inside) + terms.second > now:
                inside += 1
            free = room - inside
        if of_hour is not None:
            tries = now >= self.tries_at and self._full_by_hearsay(terms)
            free = min(free, 1 if tries else of_hour)
        if not self.known and terms.limited:
            free = min(free, 1 - out)
        return free

    def _wait(self, ring: Ring, terms: AccountLimits, need: int, now: float) -> float:
        """Estimate in seconds when so many permits are free."""
        out, of_hour = self._out(), self._left_of_hour(terms)
        wait = self.rests_until - now
        if not self.known:
            wait = max(wait, FIRST_ANSWER * terms.second)
        if terms.per_second is not None:
            may_stay = terms.per_second - out - need
            back = ring.newest(may_stay) + terms.second - now if may_stay >= 0 else LOOK_AGAIN * terms.second
            wait = max(wait, back)
        if of_hour is not None and of_hour < need:
            back = self._hour_returns(ring, terms, need - of_hour) - now
            wait = max(wait, back if back < NEVER / 2 else LOOK_AGAIN * terms.second)
        return max(wait, 0.0)

    def _returns(self, ring: Ring, terms: AccountLimits, now: float) -> tuple[float, ...]:
        count = self.settled - self.left
        if not count or terms.per_hour is None:
            return ()
        ends = (max(0, part * count - 1) // PARTS for part in range(PARTS + 1))
        returns = [ring.oldest(end) + terms.hour - now for end in ends]
        if self._full_by_hearsay(terms):
            returns[0] = min(returns[0], max(0.0, self.tries_at - now))
        return tuple(returns)

    def _hour_returns(self, ring: Ring, terms: AccountLimits, count: int) -> float:
        """Return when the hour will have given so many permits back, `NEVER` when that takes an answer first."""

        def own(count: int) -> float:
            return ring.oldest(count - 1) + terms.hour if count > 0 else -NEVER

        back = own(count)
        if self.foreign:
            back = min(back, max(own(count - 1), self.foreign_leaves))
            back = min(back, max(own(count - self.foreign), self.foreign_gone))
        return back
