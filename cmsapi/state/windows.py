"""Count tokens so that the service never sees one request too many (specification 8).

The service counts requests *when they arrive*: at most 20 in any second and 1,000 in any hour. A client cannot see
arrivals, and the network moves them, so a limiter that spaces departures is wrong by the jitter. This one needs no
knowledge of jitter. It hands out tokens, and a token comes back one window after the moment by which the service *must*
have seen the request: the moment its answer was seen.

Why that suffices. Suppose the service saw 21 arrivals within one second, [w, w + 1). Take the one that was *sent* last;
it left before w + 1. Each of the other 20 left earlier and arrived at w or later, so its answer came at w or later, so
its token comes back at w + 1 or later: when the last one left, all 20 tokens were out, and there are only 20. The hour
is the same with 1,000. The price is a burst rate of 20 / (1 + round trip) a second; the hour is used in full.

What it leans on:

- A request without an answer settles `IN_FLIGHT_CAP` after its bytes may have left, when it can no longer arrive. That
  holds while the network is alive: while some request that left later has been answered. Otherwise there is *silence*:
  whatever is under way may be delivered at once when the network recovers, so nothing settles but requests whose
  connection was closed, and one probe at a time goes out.
- Clocks run at equal rates, to 500 parts in a million: hence 3,602 s to the hour.

Both windows read one ring of settling times: a token is out while its request is in flight or its settling time is
younger than the window.

Others may use the same key. What they use is read off the headers of each answer: of the requests that the service
counts, those that cannot be ours. With own requests in flight the number is only known to lie between two bounds, and
the estimate moves no further than the bounds force it to, so that a sole user of the key is never held back by a
phantom. Their requests age out by `Reset` for the oldest and by a full window for the rest.

Who can wait, as looks at jobs can, takes tokens *sparingly*: a tenth of every second and a reserve of the hour stay for
those who cannot.

Nothing here waits or reads a clock: every method is told the time.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import deque

import attrs

SECOND = 1.0
HOUR = 3602.0
IN_FLIGHT_CAP = 2.0
_SERVER_HOUR = 3600.0
# Own requests this close to leaving the service's hour may or may not have left it.
_BLUR = 5.0
# What who takes sparingly leaves to others: of the hour, where nothing else is said, and of every second.
_RESERVE = 1 / 50
_SPARE = 1 / 10


@attrs.frozen
class Quota:
    """Hold what the three headers of an answer say (specification 8, rule 2).

    Args:
        limit: Requests an hour.
        remaining: Requests left in the rolling window when this one had been counted.
        reset: Seconds until the oldest request leaves the window; neither an epoch nor the time until all are back.
    """

    limit: int
    remaining: int
    reset: float


class Token:
    """Stand for one request that may be made. Whoever takes it ends it: `answered`, `lost` or `unsent`."""

    __slots__ = ("departed", "left_before", "lost_at", "open", "settled_before", "since")

    def __init__(self, now: float, settled_before: int, left_before: int) -> None:
        self.since: float = now
        # Own requests that had settled, and that had left the hour, when this one was taken.
        self.settled_before: int = settled_before
        self.left_before: int = left_before
        self.departed: bool = False
        self.open: bool = True
        self.lost_at: float | None = None


class Windows:
    """Keep both windows of one account.

    Args:
        per_second: Requests in any one second, or None for no limit.
        per_hour: Requests in any hour, or None for no limit.
        reserve: Requests of the hour that are not taken sparingly; None for one in fifty. It shrinks with the limit
            when the service allows less.
        first_alone: Let the first request go alone, so that its headers tell what is left of the hour. False when
            the hour is remembered, or known to be unused.
    """

    def __init__(
        self, per_second: int | None, per_hour: int | None, *, reserve: int | None = None, first_alone: bool = True
    ) -> None:
        self.per_second: float = math.inf if per_second is None else per_second
        self._own_limit: float = math.inf if per_hour is None else per_hour
        self._reserve_share = _share(reserve, per_hour)
        self._admit(self._own_limit)
        self.in_flight: int = 0
        self.foreign: int = 0
        self._size = max(per_second or 0, per_hour or 0, 1)
        self._ring = array("d", bytes(8 * self._size))
        # Counters along the ring that only grow: settled in all; first that is inside the second; inside the hour;
        # certainly inside the service's hour.
        self._settled = self._second = self._hour = self._certain = 0
        self._departed: deque[Token] = deque()
        self._heard = -math.inf
        self._recovered = -math.inf
        self._probe: Token | None = None
        self._known = not first_alone or (per_second is None and per_hour is None)
        self._foreign_oldest_leaves = self._foreign_gone = math.inf

    # Taking

    def next_time(self, now: float, *, sparing: bool = False) -> float:
        """Return when the next token may be free: `now` if one is, infinity if only an answer can tell.

        Args:
            now: The time.
            sparing: Leave the reserves of both windows to others.
        """
        self._advance(now)
        if self.in_flight and (not self._known or self._probing(now)):
            return self._next_settling(now)
        if self.in_flight + self._settled - self._second >= self.per_second - (self._spare if sparing else 0):
            if self._second == self._settled:
                return self._next_settling(now)
            return min(self._ring[self._second % self._size] + SECOND, self._next_settling(now))
        remaining = self.remaining - (self.reserve if sparing else 0)
        if remaining <= 0:
            return min(self._next_of_hour(int(1 - remaining), now), self._next_settling(now))
        return now

    @property
    def remaining(self) -> float:
        """Requests that the hour still admits."""
        return self.per_hour - self.in_flight - (self._settled - self._hour) - self.foreign

    def take(self, now: float) -> Token:
        """Take the token that `next_time` has found free."""
        token = Token(now, self._settled, self._hour)
        self.in_flight += 1
        if self._departed and self._silent(now):
            self._probe = token
        return token

    def expected_wait(self, ahead: int, now: float, *, sparing: bool = False) -> float:
        """Estimate in seconds when a token is free for somebody with so many others ahead."""
        when = self.next_time(now, sparing=sparing)
        wait = when - now if when != math.inf else 0.0
        spare, reserve = (self._spare, self.reserve) if sparing else (0, 0)
        short = ahead + 1 - self.remaining + reserve
        if short > 0:
            wait = max(wait, min(self._next_of_hour(int(short), now) - now, HOUR))
        burst = ahead + 1 - (self.per_second - spare - self.in_flight - (self._settled - self._second))
        return max(wait, math.ceil(burst / self.per_second) * SECOND) if burst > 0 else wait

    def free(self, now: float) -> float:
        """Return how many tokens the hour has for who takes them sparingly; negative while its reserve is in use."""
        self._advance(now)
        return self.remaining - self.reserve

    def returning(self, now: float, within: float) -> int:
        """Return how many tokens the hour gives back within so many seconds, as far as their answers are there."""
        self._advance(now)
        if self.per_hour == math.inf:
            return 0
        until = now + within
        ring, size = self._ring, self._size
        own = bisect_right(range(self._hour, self._settled), until - HOUR, key=lambda index: ring[index % size])
        if until >= self._foreign_gone:
            return own + self.foreign
        return own + (self.foreign > 0 and until >= self._foreign_oldest_leaves)

    def first_return(self, now: float) -> float:
        """Return seconds until the hour gives a token back, infinity when that takes an answer first."""
        self._advance(now)
        if self.per_hour == math.inf:
            return math.inf
        return self._next_of_hour(1, now) - now

    def reset_in(self, now: float) -> float:
        """Return seconds until the hour gives one of our tokens back, 0 when none of them is settled."""
        self._advance(now)
        if self.per_hour == math.inf or self._hour == self._settled:
            return 0.0
        return self._ring[self._hour % self._size] + HOUR - now

    def tighten(self, per_second: int | None, per_hour: int | None, reserve: int | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        if per_hour is not None and self._own_limit == math.inf:
            self._grow(per_hour)
        if per_second is not None and self.per_second == math.inf:
            self._grow(per_second)
        self.per_second = min(self.per_second, math.inf if per_second is None else per_second)
        self._own_limit = min(self._own_limit, math.inf if per_hour is None else per_hour)
        self._reserve_share = max(self._reserve_share, _share(reserve, per_hour))
        self._admit(min(self.per_hour, self._own_limit))

    def idle(self, now: float) -> bool:
        """Tell whether nothing is out, so that forgetting these windows loses nothing."""
        self._advance(now)
        return not self.in_flight and self._hour == self._settled

    # Ending

    def departing(self, token: Token, now: float) -> None:
        """Note that the request's bytes may leave from now on; connecting does not count against the cap."""
        if token.open and not token.departed:
            token.departed = True
            token.since = now
            self._departed.append(token)

    def answered(self, token: Token, now: float, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request. `quota` is what the answer says of the limits."""
        self._known = True
        if self._departed and self._silent(now):
            self._recovered = now
        if token.since > self._heard:
            self._heard = token.since
        if quota is not None and self.per_hour != math.inf:
            self._observe(token, now, quota)
        if token.open:
            self._settle(token, now)

    def lost(self, token: Token, now: float) -> None:
        """Leave the settling to the cap: no answer came, but the request may still arrive."""
        # A transport that cannot tell when bytes left is taken to have sent them last thing.
        self.departing(token, now)
        token.lost_at = now

    def unsent(self, token: Token) -> None:
        """Give the token back: nothing has left this machine."""
        if token.open:
            token.open = False
            self.in_flight -= 1

    def _settle(self, token: Token, now: float) -> None:
        token.open = False
        self.in_flight -= 1
        self._ring[self._settled % self._size] = now
        self._settled += 1

    def _admit(self, per_hour: float) -> None:
        self.per_hour = per_hour
        limited = per_hour != math.inf
        self.reserve: float = min(round(self._reserve_share * per_hour), per_hour - 1) if limited else 0

    @property
    def _spare(self) -> float:
        return 0 if self.per_second == math.inf else int(self.per_second * _SPARE)

    def _grow(self, size: int) -> None:
        old, had = self._ring, self._size
        if size <= had:
            return
        self._size = size
        self._ring = array("d", bytes(8 * size))
        for index in range(max(0, self._settled - size), self._settled):
            # What the old ring has forgotten is taken to be as young as the oldest that it remembers.
            self._ring[index % size] = old[max(index, self._settled - had) % had]
        self._hour = max(self._hour, self._settled - size)
        self._second = max(self._second, self._settled - size)
        self._certain = max(self._certain, self._settled - size)

    # The passing of time

    def _advance(self, now: float) -> None:
        if self._departed:
            self._settle_by_cap(now)
        ring, size, settled = self._ring, self._size, self._settled
        while self._second < settled and ring[self._second % size] + SECOND <= now:
            self._second += 1
        while self._hour < settled and ring[self._hour % size] + HOUR <= now:
            self._hour += 1
        if self.foreign:
            if now >= self._foreign_gone:
                self.foreign = 0
            elif now >= self._foreign_oldest_leaves:
                self.foreign -= 1
                self._foreign_oldest_leaves = math.inf

    def _oldest_departed(self) -> Token | None:
        departed = self._departed
        while departed and not departed[0].open:
            departed.popleft()
        return departed[0] if departed else None

    def _cap_of(self, token: Token) -> float:
        return max(token.since, self._recovered) + IN_FLIGHT_CAP

    def _silent(self, now: float) -> bool:
        oldest = self._oldest_departed()
        return oldest is not None and self._heard < oldest.since and self._cap_of(oldest) <= now

    def _probing(self, now: float) -> bool:
        probe = self._probe
        return self._silent(now) and probe is not None and probe.open and probe.lost_at is None

    def _settle_by_cap(self, now: float) -> None:
        while (oldest := self._oldest_departed()) is not None and self._cap_of(oldest) <= now:
            if self._heard < oldest.since:
                self._settle_the_closed(now)
                return
            self._settle(oldest, now)

    def _settle_the_closed(self, now: float) -> None:
        for token in self._departed:
            if token.open and token.lost_at is not None and max(token.lost_at, token.since) + IN_FLIGHT_CAP <= now:
                self._settle(token, now)

    def _next_settling(self, now: float) -> float:
        """Return when the cap may next settle something, infinity when only an answer or an end can."""
        oldest = self._oldest_departed()
        if oldest is None:
            return math.inf
        if not self._silent(now):
            return self._cap_of(oldest)
        ends = (token.lost_at for token in self._departed if token.open and token.lost_at is not None)
        return min(ends, default=math.inf) + IN_FLIGHT_CAP

    def _next_of_hour(self, count: int, now: float) -> float:
        """Return when the hour will have given `count` tokens back, infinity when that takes an answer first."""
        candidates = [self._leaves(count)]
        if self.foreign:
            candidates.append(max(self._leaves(count - 1), self._foreign_oldest_leaves))
            candidates.append(max(self._leaves(count - self.foreign), self._foreign_gone))
        return max(now, min(candidates))

    def _leaves(self, count: int) -> float:
        """Return when the hour will have given `count` own tokens back."""
        index = self._hour + count - 1
        if count <= 0:
            return -math.inf
        return self._ring[index % self._size] + HOUR if index < self._settled else math.inf

    # Other users of the key

    def _observe(self, token: Token, now: float, quota: Quota) -> None:
        self._admit(min(self._own_limit, quota.limit))
        counted = quota.limit - quota.remaining
        at_least = counted - self.in_flight - (self._settled - token.left_before)
        if at_least > self.foreign:
            self.foreign = at_least
        elif self.foreign:
            ring, size = self._ring, self._size
            while self._certain < self._settled and ring[self._certain % size] + _SERVER_HOUR - _BLUR <= now:
                self._certain += 1
            at_most = counted - max(0, token.settled_before - self._certain) - 1
            self.foreign = max(0, at_least, min(self.foreign, at_most))
        if self.foreign:
            leaves = now + quota.reset + SECOND
            oldest_own = self._ring[self._hour % self._size] if self._hour < self._settled else math.inf
            self._foreign_oldest_leaves = leaves if leaves + _BLUR < oldest_own + _SERVER_HOUR else math.inf
            self._foreign_gone = now + HOUR


def _share(reserve: int | None, per_hour: int | None) -> float:
    if per_hour is None:
        return 0.0
    return _RESERVE if reserve is None else reserve / per_hour
