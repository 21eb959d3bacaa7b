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
  and asks all processes to pause until each of them must have tried again too. A process that did not notice the
  outage may come first: when all processes that hold permits or are queued were absent for longer than they ever are,
  all pause.
- *Loss.* A store may lose the allocation, or something else may spoil it. Then a new one begins with a new *epoch*. A
  process that comes with another epoch may hold permits of the old allocation, and so may others. So nothing is given
  until all such permits have expired or are reported. What answers said in the old epoch does not count; the next
  answer tells what is left of the hour.
- *Ages.* A process reports how long ago it saw an answer, so that the clocks of the processes need not agree and
  reports may come late. Permits come back later by that, never sooner.

The rules are a pure function of a small document, a request and the time: see `cmsapi.ratelimit.sharing.document`.
"""

from __future__ import annotations

import math
import sys

import attrs

from cmsapi.ratelimit.sharing.exchange import AccountLimits, PermitGrant, PermitRequest
from cmsapi.ratelimit.sliding_windows import SlidingWindows

# A process that waits comes back after so many seconds at the latest: permits may have been given back, and a process
# that died in the queue is soon known. Shorter than the life of a holder.
LONGEST_WAIT = 2.0
# A place in the queue is kept for so many seconds after its process was told to come back.
GRACE = 1.0
# A permit whose request has no answer yet comes back a second after that answer, or later. A process that waits for it
# asks again after this part of a second, which is soon enough.
ASK_AGAIN = 0.8
# A process that waits for the very first answer asks again after this part of a second.
FIRST_ANSWER = 0.2
# After an outage all processes pause for so many seconds: longer than a process takes to try again.
OUTAGE_PAUSE = 2.0
# A holder has two exchanges before it expires, and a queued process comes back within `LONGEST_WAIT`. When all of them
# were absent for this part of a holder's life, and for longer than such a wait, they could not reach the store.
ABSENCE = 0.6
# A clock that goes back further than this was set; waiting for it would hold all processes up.
STEP = 10.0


@attrs.define
class Holder:
    """Describe a process that holds permits or is queued for some.

    Args:
        number: Its last exchange.
        expires: When it expires, unless there is another exchange.
        out: Permits that it has.
        want: Permits that it is queued for; 0 when it is not.
        priority: Its lane.
        since: Since when it is queued.
        got: Permits that it was given at this place of the queue.
        place_until: Until when its place is kept.
    """

    number: int = 0
    expires: float = 0.0
    out: int = 0
    want: int = 0
    priority: int = 0
    since: float = 0.0
    got: int = 0
    place_until: float = 0.0


@attrs.define
class Allocation:
    """Hold the permits and counts of an account, and apply the rules to them.

    Args:
        limits: What the account admits.
        epoch: When the allocation began, in milliseconds; 0 before its first exchange.
        time: Its latest time.
        ahead: How far its time is ahead of the store's clock, because that was set back.
        holders: The processes, by name.
    """

    limits: AccountLimits
    epoch: int = 0
    time: float = -math.inf
    ahead: float = 0.0
    holders: dict[str, Holder] = attrs.field(factory=dict)
    #: The requests of all processes. Permits that the holders have are unsettled, and the pause is for all.
    windows: SlidingWindows = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.windows = self.limits.windows()

    def exchange(self, request: PermitRequest, clock: float, *, reset: bool = False) -> PermitGrant:
        """Note what a holder did, and give it the permits that it may have.

        A `reset` says that this allocation takes the place of one that could not be read.
        """
        windows, before = self.windows, self.time
        now = self._advance(clock)
        strange = request.epoch not in (0, self.epoch)
        self.epoch = self.epoch or max(1, int(now * 1000))
        self._pause(request, now, now - before, begins=strange or reset)
        holder = self.holders.setdefault(request.holder, Holder())
        if request.number > holder.number:
            self._note(request, now, heard=not strange)
        holder.number, holder.out, holder.expires = request.number, request.held, now + self.limits.ttl
        self._count()
        granted, wait = self._give(holder, request, now)
        holder.out += granted
        windows.took(granted)
        return PermitGrant(granted=granted, wait=wait, windows=windows, time=now, epoch=self.epoch, reset=reset)

    # The passing of time

    def _advance(self, clock: float) -> float:
        """Evict the processes that have expired, and return the time."""
        now = clock + self.ahead
        if now < self.time - STEP:
            self.ahead += self.time - now
            now = self.time
        self.time = max(self.time, now)
        cap = self.limits.cap
        expired = [(each.expires, name) for name, each in self.holders.items() if each.expires + cap <= now]
        for expires, name in sorted(expired):
            for _ in range(self.holders.pop(name).out):
                self.windows.log.add(expires + cap)
        self._count()
        self.windows.advance(now)
        return now

    def _count(self) -> None:
        self.windows.unsettled = sum(holder.out for holder in self.holders.values())

    def _pause(self, request: PermitRequest, now: float, since: float, *, begins: bool) -> None:
        """Pause all processes where one has to, `since` seconds after the last exchange.

        An allocation that `begins` does not know which permits the processes hold.
        """
        windows, limits = self.windows, self.limits
        others = [holder for name, holder in self.holders.items() if name != request.holder]
        absence = max(ABSENCE * limits.ttl, LONGEST_WAIT + GRACE)
        if request.pause > 0:
            windows.pause(now + request.pause)
        if windows.limited and since > absence and any(each.out or each.want for each in others):
            windows.pause(now + OUTAGE_PAUSE)
        if windows.limited and begins:
            windows.pause(self.epoch / 1000 + limits.ttl)

    # What a holder reports

    def _note(self, request: PermitRequest, now: float, *, heard: bool) -> None:
        """Note what a holder did; what answers said counts only when they are heard."""
        windows, report = self.windows, request.report
        if heard and report is not None:
            windows.observe(report.quota, report.settled, report.left, now, now - report.age)
        for age in request.settled:
            windows.settle(now - age)
        windows.known = windows.known or (heard and request.answered)

    # What it gets

    def _give(self, holder: Holder, request: PermitRequest, now: float) -> tuple[int, float]:
        """Return how many permits a holder gets, and seconds after which it may come back."""
        per_second = self.windows.burst(sparing=request.sparing)
        queued = [each for each in self.holders.values() if each is not holder and each.want and each.place_until > now]
        if not (holder.want and holder.place_until > now):
            holder.since, holder.got = now, 0
        holder.want, holder.priority = request.want, request.priority
        if not request.want:
            return 0, 0.0
        share = holder.got + request.want
        if queued and per_second != math.inf:
            share = max(1, int(per_second) // (len(queued) + 1))
        first = [each for each in queued if (each.priority, each.since) < (holder.priority, holder.since)]
        ahead = sum(max(0, min(each.want, share - each.got)) for each in first)
        free = self._free(now, sparing=request.sparing)
        granted = max(0, min(request.want, max(1, share - holder.got), free - ahead))
        wait = 0.0 if granted else self._wait(ahead + 1, now, sparing=request.sparing)
        holder.want -= granted
        holder.got += granted
        if holder.got >= share:
            holder.since, holder.got = now, 0
        holder.place_until = now + min(wait, LONGEST_WAIT) + GRACE
        return granted, wait

    def _free(self, now: float, *, sparing: bool) -> int:
        """Count the permits that are free now; no limit admits as many as are wanted."""
        windows = self.windows
        if now < windows.paused_until:
            return 0
        free = windows.room(now, sparing=sparing)
        if not windows.known:
            free = min(free, 1 - windows.unsettled)
        return int(min(free, sys.maxsize))

    def _wait(self, need: int, now: float, *, sparing: bool) -> float:
        """Estimate in seconds when so many permits are free."""
        windows, log, second = self.windows, self.windows.log, self.limits.second
        waits = [0.0, windows.paused_until - now]
        if not windows.known:
            waits.append(FIRST_ANSWER * second)
        may_stay = windows.burst(sparing=sparing) - windows.unsettled - need
        if may_stay < 0:
            waits.append(ASK_AGAIN * second)
        elif may_stay < len(log):
            waits.append(log.times[-1 - int(may_stay)] + second - now)
        short = need - windows.left(sparing=sparing)
        if short > 0:
            back = windows.hour_returns(int(short), now) - now
            waits.append(back if back < math.inf else ASK_AGAIN * second)
        return max(waits)
