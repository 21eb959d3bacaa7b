"""Count permits so that the service never sees one request too many (specification 8).

The service counts requests *when they arrive*: at most 20 in any second and 1,000 in any hour. A client cannot see
arrivals, and the network moves them, so a limiter that spaces departures is wrong by the jitter. This one needs no
knowledge of jitter. It gives permits, and a permit comes back one window after its request has *settled*, which is when
the service must have seen it, if it ever will:

- A request that is answered settles with its answer, however long that takes.
- A request that was given up settles when it can no longer arrive, for which `cmsapi.ratelimit.unanswered` has rules.
- A request that has not left this machine gives its permit back at once.

Why that suffices. Suppose the service saw 21 arrivals within one second, [w, w + 1). Take the request whose permit was
taken last; it left before w + 1. Each of the other 20 had its permit before that and arrived at w or later, so it
settled at w or later, so its permit comes back at w + 1 or later: when the last request got its permit, all 20 were
out, and there are only 20. The hour is the same with 1,000. The price is a burst rate of 20 / (1 + round trip) a
second, in which a slow answer costs one of twenty permits for as long as it takes; the hour is used in full.

The proof depends on two things:

- Nothing arrives after it has settled. Of an answered request that is certain. Of a request that was given up it is
  assumed that it arrives, if at all, within `IN_FLIGHT_CAP` of the first answer to a request that was sent after the
  giving up, and within `LOST_FOR_GOOD` of the giving up.
- Clocks run at equal rates, to 500 parts in a million: hence 3,602 s to the hour. In a second that is less than the
  shortest round trip.

The exception is silence: requests are out, none is answered, and the network may hold all of them and deliver them at
once. Then the last three of the twenty permits go to *probes*, one at a time. Where answers came before, these three
are left as a rule, because silence is noticed before the permits of the last answers are back. But once all twenty are
out, no request could find out that the network is back. So a request that was given up longer ago than the cap and a
second does not keep a probe from its permit of the second; while there are such requests, every request is a probe. If
the network lives, they have arrived more than a second ago, and the proof holds. If the network delivers them late, one
request too many may arrive for each probe that found all twenty out.

An answer may name a lower limit than the setting, and fill the hour with that: the service allows less, or a gateway on
the way speaks of limits of its own. When the time is over that such an answer named, one request tries, and its answer
is believed next.

Calls that can wait, such as polls, take permits *sparingly*: a tenth of every second and a reserve of the hour stay for
the others.

Nothing here waits or reads a clock: every method is told the time.
"""

from __future__ import annotations

import math

from cmsapi.ratelimit.foreign_usage import CERTAIN, ForeignUsage
from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.request_log import HOUR, SECOND, RequestLog
from cmsapi.ratelimit.unanswered import QUIET, UnansweredRequests

# Calls that take sparingly leave these parts to others: of the hour, unless a reserve is set, and of every second.
RESERVE = 1 / 100
SPARE = 1 / 10
# This part of every second goes to probes in a silence.
_PROBES = 3 / 20


class SlidingWindows:
    """Keep both windows of one account.

    Args:
        per_second: Requests in any one second, or None for no limit.
        per_hour: Requests in any hour, or None for no limit.
        reserve: Requests of the hour that are not taken sparingly; None for one in a hundred. It shrinks with the limit
            when the service allows less.
        first_alone: Let the first request go alone, so that its headers tell what is left of the hour. False when
            the hour is remembered, or known to be unused.
    """

    def __init__(
        self, per_second: int | None, per_hour: int | None, *, reserve: int | None = None, first_alone: bool = True
    ) -> None:
        self._limit_second(math.inf if per_second is None else per_second)
        self._own_limit: float = math.inf if per_hour is None else per_hour
        self._reserve_share = _share(reserve, per_hour)
        self._limit_hour(self._own_limit)
        # Requests that took a permit and have not settled: in flight, or given up.
        self.unsettled: int = 0
        self._log = RequestLog(max(per_second or 0, per_hour or 0, 1))
        self._unanswered = UnansweredRequests()
        self._foreign = ForeignUsage()
        self._known = not first_alone or (per_second is None and per_hour is None)
        # When one request may try an hour that is full by a limit that an answer named, and seconds between two such.
        self._tries_at = math.inf
        self._tries_every = 0.0
        # The request that went out last in a silence, or as the first of all.
        self._probe: Permit | None = None

    # Taking

    def take(self, permit: Permit, now: float, *, sparing: bool = False) -> bool:
        """Take a permit, if one is free.

        Args:
            permit: What is filled in then.
            now: The time.
            sparing: Leave the reserves of both windows to others.
        """
        if not self._admits(now, sparing):
            return False
        lost = self._unanswered
        if not self.unsettled:
            # Nothing was out that could have been answered.
            lost.silent_from = now + QUIET
        if now >= lost.silent_from or not self._known:
            self._probe = permit
        permit.stage = "taken"
        permit.taken_at = now
        settled = self._log
        permit.settled = settled.total
        permit.left = settled.left_hour
        self.unsettled += 1
        if self.unsettled + settled.total - settled.left_hour + self._foreign.count >= self.per_hour:
            # This one tries; another one only after it has settled.
            self._tries_at = math.inf
        return True

    def next_time(self, now: float, *, sparing: bool = False) -> float:
        """Return when the next permit may be free: `now` if one is, infinity if only an answer can tell."""
        if self._admits(now, sparing):
            return now
        short = 1 - self._remaining(sparing)
        if short > 0:
            return min(self._hour_returns(int(short), now), self._unanswered.next_change(now), self._next_try(now))
        return min(self._log.leaves_second(), self._unanswered.next_change(now))

    def expected_wait(self, ahead: int, now: float, *, sparing: bool = False) -> float:
        """Estimate in seconds when a permit is free for a call with so many others ahead."""
        when = self.next_time(now, sparing=sparing)
        wait = when - now if when != math.inf else 0.0
        short = ahead + 1 - self._remaining(sparing)
        if short > 0 and (ahead or self._next_try(now) == math.inf):
            wait = max(wait, min(self._hour_returns(int(short), now) - now, HOUR))
        in_second = self.unsettled + self._log.total - self._log.left_second
        burst = ahead + 1 + in_second + (self._spare if sparing else 0) - self.per_second
        return max(wait, math.ceil(burst / self.per_second) * SECOND) if burst > 0 else wait

    @property
    def remaining(self) -> float:
        """Requests that the hour still admits."""
        return self._remaining(sparing=False)

    @property
    def in_flight(self) -> int:
        """Requests that have not ended."""
        return self.unsettled - len(self._unanswered.unvouched) - len(self._unanswered.vouched)

    @property
    def foreign(self) -> int:
        """Requests of this hour that others made with the same key, as far as the answers tell."""
        return self._foreign.count

    def free(self, now: float) -> float:
        """Return how many permits the hour has for calls that take sparingly; negative while its reserve is in use."""
        self._advance(now)
        return self._remaining(sparing=True)

    def returning(self, now: float, within: float) -> int:
        """Return how many permits the hour gives back within so many seconds, as far as their answers are there."""
        self._advance(now)
        if self.per_hour == math.inf:
            return 0
        until = now + within
        return self._log.before(until - HOUR) - self._log.left_hour + self._foreign.leaving(until)

    def first_return(self, now: float) -> float:
        """Return seconds until the hour gives a permit back, infinity when that takes an answer first."""
        self._advance(now)
        if self.per_hour == math.inf:
            return math.inf
        return min(self._hour_returns(1, now), max(now, self._next_try(now))) - now

    def reset_in(self, now: float) -> float:
        """Return seconds until the hour gives one of our permits back, 0 when none of them is settled."""
        self._advance(now)
        leaves = self._log.leaves_hour()
        return 0.0 if self.per_hour == math.inf or leaves == math.inf else leaves - now

    def idle(self, now: float) -> bool:
        """Tell whether nothing is out, so that forgetting these windows loses nothing."""
        self._advance(now)
        return not self.unsettled and self._log.left_hour == self._log.total

    def tighten(self, per_second: int | None, per_hour: int | None, reserve: int | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        if (per_hour is not None and self._own_limit == math.inf) or (
            per_second is not None and self.per_second == math.inf
        ):
            self._log.grow(max(per_second or 0, per_hour or 0))
        self._limit_second(min(self.per_second, math.inf if per_second is None else per_second))
        self._own_limit = min(self._own_limit, math.inf if per_hour is None else per_hour)
        self._reserve_share = max(self._reserve_share, _share(reserve, per_hour))
        self._limit_hour(min(self.per_hour, self._own_limit))

    # Ending

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request. `quota` is what the answer says of the limits."""
        if permit.stage not in OUT:
            return
        permit.stage = "answered"
        self._known = True
        lost = self._unanswered
        lost.silent_from = now + QUIET
        if lost.unvouched or lost.vouched:
            # What settled before this one comes first.
            self._advance(now)
            lost.vouch(permit.taken_at, now)
        if quota is not None and self.per_hour != math.inf:
            self._observe(permit, now, quota)
        elif self._tries_at == math.inf:
            self._tries_at = now + self._tries_every
        self.unsettled -= 1
        self._log.add(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        if permit.stage in OUT:
            permit.stage = "lost"
            self._unanswered.unvouched.append(now)

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        if permit.stage in OUT:
            permit.stage = "unsent"
            self.unsettled -= 1

    def abandon(self, count: int, now: float) -> None:
        """Give up requests whose permits will never be ended, because their loop was closed.

        Args:
            count: How many.
            now: The time.
        """
        self._unanswered.unvouched += [now] * count
        # It may have been one of them.
        self._probe = None

    # Counting

    def rest(self, seconds: float) -> None:
        """Tell others that the service asked for a rest: there are none."""

    async def aclose(self) -> None:
        """Tell others what they do not know yet: there are none."""

    def _admits(self, now: float, sparing: bool) -> bool:
        self._advance(now)
        spare, reserve = (self._spare, self.reserve) if sparing else (0, 0)
        settled, lost = self._log, self._unanswered
        out = self.unsettled + settled.total
        if out - settled.left_hour + self._foreign.count + reserve >= self.per_hour and not self._may_try(now):
            return False
        room = self.per_second - (out - settled.left_second)
        if now >= lost.silent_from or not self._known:
            overdue = lost.overdue(now)
            alone = overdue or room <= self._kept or not self._known
            if alone and self._probe is not None and self._probe.stage in OUT:
                return False
            room += overdue
        return room > spare

    def _full_by_hearsay(self) -> bool:
        own = self.unsettled + self._log.total - self._log.left_hour
        lowered = max(own, self.per_hour) < self._own_limit
        return lowered and own + self._foreign.count >= self.per_hour

    def _may_try(self, now: float) -> bool:
        return now >= self._tries_at and self._full_by_hearsay()

    def _next_try(self, now: float) -> float:
        """Return when one request may try an hour that is full by hearsay, infinity when it is not."""
        if not self._full_by_hearsay():
            return math.inf
        return self._tries_at if self._tries_at > now else self._log.leaves_second()

    def _remaining(self, sparing: bool) -> float:
        used = self.unsettled + self._log.total - self._log.left_hour + self._foreign.count
        return self.per_hour - used - (self.reserve if sparing else 0)

    def _limit_second(self, per_second: float) -> None:
        self.per_second = per_second
        limited = per_second != math.inf
        self._spare, self._kept = (int(per_second * SPARE), int(per_second * _PROBES)) if limited else (0, 0)

    def _limit_hour(self, per_hour: float) -> None:
        self.per_hour = per_hour
        limited = per_hour != math.inf
        self.reserve: float = min(round(self._reserve_share * per_hour), per_hour - 1) if limited else 0

    def _advance(self, now: float) -> None:
        if self._unanswered.unvouched or self._unanswered.vouched:
            for at in self._unanswered.settle(now):
                self.unsettled -= 1
                self._log.add(at)
                if self._tries_at == math.inf:
                    self._tries_at = at + self._tries_every
        self._log.age(now)
        if self._foreign.count:
            self._foreign.age(now)

    def _hour_returns(self, count: int, now: float) -> float:
        """Return when the hour will have given `count` permits back, infinity when that takes an answer first."""
        return max(now, self._foreign.hour_returns(count, self._log.leaves_hour))

    # Other users of the key

    def _observe(self, permit: Permit, now: float, quota: Quota) -> None:
        self._tries_every = quota.reset + SECOND
        self._tries_at = now + self._tries_every
        limit = min(self._own_limit, quota.limit)
        if limit != self.per_hour:
            self._limit_hour(limit)
        counted, foreign, log = quota.limit - quota.remaining, self._foreign, self._log
        at_least = counted - self.unsettled - (log.total - permit.left)
        if at_least > 0 or foreign.count:
            certain = max(0, permit.settled - log.before(now - CERTAIN))
            own_leaves = log.leaves_hour() - HOUR + CERTAIN
            foreign.correct(now, at_least, counted - certain - 1, now + quota.reset + SECOND, own_leaves)


def _share(reserve: int | None, per_hour: int | None) -> float:
    if per_hour is None:
        return 0.0
    return RESERVE if reserve is None else reserve / per_hour
