"""Share the permits of an account among processes, so that together they stay inside its limits.

The scheme is that of `sliding_windows`, and so is its proof: a permit is out from the moment it is given until one
window after its request has settled, whichever process holds it. Several processes add this:

- *Holders.* In each exchange a process says how many permits it still has. So an exchange whose reply got lost leaks
  nothing, and one that arrives twice counts once.
- *Expiry.* A holder expires `AccountLimits.ttl` seconds after its last exchange, and sends nothing from then on. When
  the cap is over as well, during which what it sent may still arrive, its permits settle.
- *The queue.* A process that gets less than it wants is queued, by priority and then by time. It stays at its place
  until it has had an even share of the second, or has not come back when it was told to. While others are queued, a
  process takes no more than such a share at a time.
- *Outages.* A process that cannot reach the store makes requests of its own. When the store is back it reports them,
  and asks all processes to rest until each of them must have tried again too. A process that did not notice the
  outage may come first: when all processes that hold permits or are queued were absent for longer than they ever are,
  all rest.
- *Loss.* A store may lose the allocation, or something else may spoil it. Then a new one begins with a new *epoch*. A
  process that comes with another epoch may hold permits of the old allocation, and so may others. So nothing is given
  until all such permits have expired or are reported. What answers said in the old epoch does not count; the next
  answer tells what is left of the hour.
- *Ages.* A process reports how long ago it saw an answer, so that the clocks of the processes need not agree and
  reports may come late. Permits come back later by that, never sooner.

The rules are a pure function of a small document, a request and the time. A store calls it as one step.
"""

from __future__ import annotations

import math
import sys

from cmsapi.ratelimit.foreign_usage import CERTAIN
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.sharing.allocation import Allocation, Holder
from cmsapi.ratelimit.sharing.exchange import PARTS, AccountLimits, HeaderReport, PermitGrant, PermitRequest

# A process that waits comes back after so many seconds at the latest: permits may have been given back, and a process
# that died in the queue is soon known. Shorter than the life of a holder.
LONGEST_REST = 2.0
# A place in the queue is kept for so many seconds after its process was told to come back.
GRACE = 1.0
# When only an answer can tell when a permit comes back, it comes back a second after that answer: asking again after
# this part of a second is in time.
LOOK_AGAIN = 0.8
FIRST_ANSWER = 0.2
# After an outage all rest for so many seconds: longer than a process takes to try again.
REST = 2.0
# A holder has two exchanges before it expires, and a queued process comes back within `LONGEST_REST`. When all of them
# were absent for this part of a holder's life, and for longer than such a rest, they could not reach the store.
ABSENCE = 0.6
# A clock that goes back further than this was set; waiting for it would hold all processes up.
STEP = 10.0
# In so many slots a log counts the hour once it has grown long.
SLOTS = 256


def allocate(
    limits: AccountLimits, request: PermitRequest, document: str | None, clock: float
) -> tuple[str, PermitGrant]:
    """Take a request for permits into account.

    Args:
        limits: What the account admits.
        request: What one of the processes did and wants.
        document: What the processes of the account agree on, None before the first request.
        clock: Seconds on a clock that all of them share.

    Returns:
        The document that takes the place of the old one, and what the process gets.
    """
    allocation = Allocation.read(document, clock)
    reset = document is not None and not allocation.epoch
    grant = PermitAllocator(allocation, limits, clock).exchange(request, reset=reset)
    return allocation.document(), grant


class PermitAllocator:
    """Apply the rules to an allocation at one moment.

    Args:
        allocation: What the processes agree on; it is changed.
        limits: What the account admits.
        clock: Seconds on a clock that all processes share.
    """

    def __init__(self, allocation: Allocation, limits: AccountLimits, clock: float) -> None:
        self._allocation = allocation
        self._limits = limits
        self._slot = limits.hour / SLOTS
        self._before = allocation.time
        self._now = self._time(clock)

    def exchange(self, request: PermitRequest, *, reset: bool = False) -> PermitGrant:
        """Note what a holder did, and give it the permits that it may have.

        Args:
            request: What it did and wants.
            reset: Whether this allocation takes the place of one that could not be read.
        """
        allocation, limits, now = self._allocation, self._limits, self._now
        strange = request.epoch not in (0, allocation.epoch)
        allocation.epoch = allocation.epoch or max(1, int(now * 1000))
        self._evict_expired()
        self._age()
        self._rest(request, begins=strange or reset)
        holder = allocation.holders.setdefault(request.holder, Holder())
        if request.number > holder.number:
            self._note(request, heard=not strange)
        holder.number, holder.out, holder.expires = request.number, request.held, now + limits.ttl
        granted, wait = self._give(holder, request)
        holder.out += granted
        allocation.log.merge(now - limits.second, self._slot)
        return PermitGrant(
            granted=granted,
            wait=wait,
            settled=allocation.settled,
            left=allocation.left,
            out=allocation.out,
            used=allocation.used,
            limit=allocation.limit,
            foreign=allocation.foreign.count,
            returns=self._returns(),
            epoch=allocation.epoch,
            reset=reset,
        )

    # The passing of time

    def _time(self, clock: float) -> float:
        allocation = self._allocation
        now = clock + allocation.ahead
        if now < allocation.time - STEP:
            allocation.ahead += allocation.time - now
            now = allocation.time
        allocation.time = max(allocation.time, now)
        return now

    def _evict_expired(self) -> None:
        holders, cap = self._allocation.holders, self._limits.cap
        expired = [(each.expires, name) for name, each in holders.items() if each.expires + cap <= self._now]
        for expires, name in sorted(expired):
            if count := holders.pop(name).out:
                self._allocation.log.add(expires + cap, count)

    def _age(self) -> None:
        allocation = self._allocation
        allocation.left += allocation.log.drop(self._now - self._limits.hour)
        if allocation.foreign.count:
            allocation.foreign.age(self._now)

    def _rest(self, request: PermitRequest, *, begins: bool) -> None:
        """Find out until when all processes rest.

        Args:
            request: What a process did and wants.
            begins: Whether processes may hold permits that this allocation does not know of.
        """
        allocation, limits, now = self._allocation, self._limits, self._now
        others = [holder for name, holder in allocation.holders.items() if name != request.holder]
        absence = max(ABSENCE * limits.ttl, LONGEST_REST + GRACE)
        until = [allocation.rests_until]
        if request.rest > 0:
            until.append(now + request.rest)
        if limits.limited and now - self._before > absence and any(each.out or each.want for each in others):
            until.append(now + REST)
        if limits.limited and begins:
            until.append(allocation.epoch / 1000 + limits.ttl)
        allocation.rests_until = max(until)

    # What a holder reports

    def _note(self, request: PermitRequest, *, heard: bool) -> None:
        """Note what a holder did; what answers said counts only when they are heard."""
        allocation, now = self._allocation, self._now
        if heard and request.report is not None and self._limits.per_hour is not None:
            self._observe(request.report)
        for age in request.settled:
            allocation.log.add(now - age)
        if request.settled and allocation.tries_at == math.inf:
            allocation.tries_at = now + allocation.tries_every
        allocation.known = allocation.known or (heard and request.answered)

    def _observe(self, report: HeaderReport) -> None:
        """Learn from the headers how much others use: see `ForeignUsage`."""
        allocation, limits, quota, foreign = self._allocation, self._limits, report.quota, self._allocation.foreign
        came_at = self._now - report.age
        allocation.limit = quota.limit
        allocation.tries_every = quota.reset + limits.second
        allocation.tries_at = came_at + allocation.tries_every
        counted = quota.limit - quota.remaining
        at_least = counted - allocation.out - (allocation.settled - report.left)
        if at_least > 0 or foreign.count:
            # Requests of a slot settled within it, and may have left the service's hour as early as its begin.
            certainly = limits.hour * CERTAIN / HOUR - self._slot
            gone = allocation.settled - allocation.log.after(self._now - certainly)
            at_most = counted - max(0, report.settled - gone) - 1
            leaves = came_at + quota.reset + limits.second
            own_leaves = allocation.log.oldest() + certainly
            foreign.correct(self._now, at_least, at_most, leaves, own_leaves, hour=limits.hour)

    # What it gets

    def _give(self, holder: Holder, request: PermitRequest) -> tuple[int, float]:
        """Return how many permits a holder gets, and seconds after which it may come back."""
        allocation, per_second, now = self._allocation, self._limits.per_second, self._now
        holders = allocation.holders.values()
        queued = [each for each in holders if each is not holder and each.want and each.place_until > now]
        if not (holder.want and holder.place_until > now):
            holder.since, holder.got = now, 0
        holder.want, holder.priority = request.want, request.priority
        if not request.want:
            return 0, 0.0
        share = holder.got + request.want
        if queued and per_second is not None:
            share = max(1, per_second // (len(queued) + 1))
        first = [each for each in queued if (each.priority, each.since) < (holder.priority, holder.since)]
        ahead = sum(max(0, min(each.want, share - each.got)) for each in first)
        granted = max(0, min(request.want, max(1, share - holder.got), self._free() - ahead))
        wait = 0.0 if granted else self._wait(ahead + 1)
        if granted and allocation.limit is not None and allocation.used + granted >= allocation.limit:
            # This one tries; another one only after it has settled.
            allocation.tries_at = math.inf
        holder.want -= granted
        holder.got += granted
        if holder.got >= share:
            holder.since, holder.got = now, 0
        holder.place_until = now + min(wait, LONGEST_REST) + GRACE
        return granted, wait

    def _left_of_hour(self) -> int | None:
        per_hour, limit = self._limits.per_hour, self._allocation.limit
        if per_hour is None:
            return None
        return (per_hour if limit is None else min(per_hour, limit)) - self._allocation.used

    def _full_by_hearsay(self) -> bool:
        """Tell whether the hour is full by a limit that an answer named, and not by the setting."""
        per_hour, limit = self._limits.per_hour, self._allocation.limit
        if per_hour is None or limit is None or limit >= per_hour:
            return False
        used = self._allocation.used
        return used >= limit and used - self._allocation.foreign.count < per_hour

    def _free(self) -> int:
        """Count the permits that are free now; no limit admits as many as are wanted."""
        allocation, limits, now = self._allocation, self._limits, self._now
        if now < allocation.rests_until:
            return 0
        free = [sys.maxsize]
        if limits.per_second is not None:
            free.append(limits.per_second - allocation.out - allocation.log.after(now - limits.second))
        of_hour = self._left_of_hour()
        if of_hour is not None:
            tries = now >= allocation.tries_at and self._full_by_hearsay()
            free.append(1 if tries else of_hour)
        if not allocation.known and limits.limited:
            free.append(1 - allocation.out)
        return min(free)

    def _wait(self, need: int) -> float:
        """Estimate in seconds when so many permits are free."""
        allocation, limits, now = self._allocation, self._limits, self._now
        waits = [0.0, allocation.rests_until - now]
        if not allocation.known:
            waits.append(FIRST_ANSWER * limits.second)
        if limits.per_second is not None:
            may_stay = limits.per_second - allocation.out - need
            by_answer = LOOK_AGAIN * limits.second
            waits.append(allocation.log.newest(may_stay) + limits.second - now if may_stay >= 0 else by_answer)
        of_hour = self._left_of_hour()
        if of_hour is not None and of_hour < need:
            back = allocation.foreign.hour_returns(need - of_hour, self._own_leave) - now
            waits.append(back if back < math.inf else LOOK_AGAIN * limits.second)
        return max(waits)

    def _own_leave(self, count: int) -> float:
        """Return when so many own requests will have left the hour, infinity when fewer have settled."""
        return self._allocation.log.oldest(count - 1) + self._limits.hour if count > 0 else -math.inf

    def _returns(self) -> tuple[float, ...]:
        log, limits = self._allocation.log, self._limits
        if not log.total or limits.per_hour is None:
            return ()
        ends = (max(0, part * log.total - 1) // PARTS for part in range(PARTS + 1))
        returns = [log.oldest(end) + limits.hour - self._now for end in ends]
        if self._full_by_hearsay():
            returns[0] = min(returns[0], max(0.0, self._allocation.tries_at - self._now))
        return tuple(returns)
