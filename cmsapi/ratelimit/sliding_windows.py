"""Count permits so that the service never sees one request too many (specification 8).

The service counts requests *when they arrive*: at most 20 in any second and 1,000 in any hour. A client cannot see
arrivals, and the network moves them, so a limiter that spaces departures is wrong by the jitter. This one needs no
knowledge of jitter. It gives permits, and a permit comes back one window after its request has *landed*, which is when
the service must have seen it, if it ever will:

- A request that is answered lands with its answer, however long that takes.
- A request that was given up lands when it can no longer arrive, for which `cmsapi.ratelimit.unanswered` has rules.
- A request that has not left this machine gives its permit back at once.

Why that suffices. Suppose the service saw 21 arrivals within one second, [w, w + 1). Take the request whose permit was
taken last; it left before w + 1. Each of the other 20 had its permit before that and arrived at w or later, so it
landed at w or later, so its permit comes back at w + 1 or later: when the last request got its permit, all 20 were
out, and there are only 20. The hour is the same with 1,000. The price is a burst rate of 20 / (1 + round trip) a
second, in which a slow answer costs one of twenty permits for as long as it takes; the hour is used in full.

The proof depends on two things:

- Nothing arrives after it has landed. Of an answered request that is certain. Of a request that was given up it is
  assumed that it arrives, if at all, within `IN_FLIGHT_CAP` of the first answer to a request that was sent after the
  giving up, and within `LOST_FOR_GOOD` of the giving up.
- Clocks run at equal rates, to 500 parts in a million: hence 3,602 s to the hour. In a second that is less than the
  shortest round trip.

While it is in doubt whether the service answers, one request at a time leaves as a *probe*: before the first answer,
whose headers tell what is left of the hour; after several refusals (429) without another answer between them; and in
silence.

Silence is the exception from the proof: requests are out, none is answered, and the network may hold all of them and
deliver them at once. Then the last three of the twenty permits go to probes. Where answers came before, these three are
left as a rule, because silence is noticed before the permits of the last answers are back. But once all twenty are out,
no request could find out that the network is back. So a request that was given up longer ago than the cap and a second
does not keep a probe from its permit of the second; while there are such requests, every request is a probe. If the
network lives, they have arrived more than a second ago, and the proof holds. If the network delivers them late, one
request too many may arrive for each probe that found all twenty out.

An answer may fill an hour of which our requests have used less than the setting: the service or a gateway on the way
allows less, or others use the key. When the time is over that such an answer named, one request tries, and its answer
is believed next. Others are known only from what answers count. So where they have filled the hour, one request tries
within a minute. If it passes before anything can have left the hour, the count is wrong, and none is believed until a
429.

Calls that can wait, such as polls, take permits *in the background*: a tenth of every second and a reserve of the hour
stay for the others. While other clients use the key, one permit in twenty of every second is left to them: headers do
not tell what they use of a second.

Nothing here waits or reads a clock: every method is told the time. The windows of one process are such an object, and
so are those that several processes share through a state: see `cmsapi.ratelimit.shared_windows`.
"""

from __future__ import annotations

import math

import attrs

from cmsapi.ratelimit.foreign_usage import CERTAIN, ForeignUsage
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.request_log import HOUR, SECOND, RequestLog
from cmsapi.ratelimit.unanswered import QUIET, UnansweredRequests

# Calls in the background leave these parts to the others: of the hour, unless a reserve is set, and of every second.
RESERVE = 1 / 100
RESERVE_OF_SECOND = 1 / 10
# This part of every second is left to other clients of the key, while there are some.
_STRANGERS = 1 / 20
# This part of every second goes to probes in a silence.
_PROBES = 3 / 20
# The longest pause in seconds, which is the longest window of the limits: what was counted before has left it then.
LONGEST_PAUSE = 3600.0
# Refusals in a row from which on there are only probes.
_REFUSED_OFTEN = 2
# The most seconds until a request tries an hour that others have filled.
_CHECK_OTHERS = 60.0


class SlidingWindows:
    """Keep both windows of one account.

    Args:
        per_second: Requests in any one second; None or infinity for no limit.
        per_hour: Requests in any hour; None or infinity for no limit.
        reserve: Requests of the hour that are not taken in the background; None for one in a hundred. It shrinks with
            the limit when the service allows less.
        first_alone: Let the first request go alone, so that its headers tell what is left of the hour. False when
            the hour is remembered, or known to be unused.
        log: The requests that have landed.
    """

    def __init__(
        self,
        per_second: float | None,
        per_hour: float | None,
        *,
        reserve: float | None = None,
        first_alone: bool = True,
        log: RequestLog | None = None,
    ) -> None:
        #: Requests that took a permit and have not landed: in flight, or given up.
        self.outstanding: int = 0
        self.log: RequestLog = RequestLog() if log is None else log
        self.foreign_usage: ForeignUsage = ForeignUsage()
        #: Requests an hour as the service says, infinity before it has.
        self.service_limit: float = math.inf
        #: When one request may try an hour that is full by what an answer said, and seconds between two such.
        self.tries_at: float = math.inf
        self.tries_every: float = 0.0
        #: Until when all calls pause because of a 429, to which the limiter sees, and until when the service asks for
        #: it, which is the same once the pause is over.
        self.paused_until: float = -math.inf
        self.asked_until: float = -math.inf
        #: The requests that were given up and have not landed.
        self.unanswered: UnansweredRequests = UnansweredRequests()
        #: How many times the service refused in a row, requests that were under way together counted once.
        self.refusals: int = 0
        self._refused_at = -math.inf
        # The request that went out last while it is in doubt whether the service answers, until it has ended.
        self._probe: Permit | None = None
        # The request that tried last whether others have filled the hour, and whether one has shown that they have not.
        self._check: Permit | None = None
        self._misled = False
        #: Requests in any one second and in any hour as set here, and the part of the hour that the background leaves.
        self.set_per_second: float = math.inf
        self.own_limit: float = math.inf
        self._reserve_share = 0.0
        # Requests in any one second for the time being, infinity for as many as are set.
        self._slowed_to = math.inf
        self.tighten(per_second, per_hour, reserve)
        #: Whether an answer has shown what is left of the hour, or the first one need not be waited for.
        self.known: bool = not (first_alone and self.limited)

    # The limits

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return min(self.set_per_second, self.own_limit) < math.inf

    @property
    def set_reserve(self) -> float | None:
        """Requests of the hour as set here that are not taken in the background, None without a limit."""
        return self._reserve_share * self.own_limit if self.own_limit < math.inf else None

    def tighten(self, per_second: float | None, per_hour: float | None, reserve: float | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        if per_second is not None:
            self.set_per_second = min(self.set_per_second, per_second)
        if per_hour is not None:
            self.own_limit = min(self.own_limit, per_hour)
            self._reserve_share = max(self._reserve_share, RESERVE if reserve is None else reserve / per_hour)
        self._limit()

    def obey_service(self, limit: float) -> None:
        """Obey the limit of the hour that an answer names, if it is stricter than the setting."""
        self.service_limit = limit
        self._limit()

    def slow_down(self, per_second: float) -> None:
        """Allow no more requests in any one second for the time being; infinity ends that."""
        self._slowed_to = per_second
        self._limit()

    def _limit(self) -> None:
        #: Requests in any one second and in any hour in force, infinity for no limit.
        self.per_second: float = min(self.set_per_second, self._slowed_to)
        self.per_hour: float = min(self.own_limit, self.service_limit)
        per_second, per_hour = self.per_second, self.per_hour
        limited = per_second != math.inf
        parts = (RESERVE_OF_SECOND, _PROBES, _STRANGERS)
        # Of the second: what the background leaves, what goes to probes, and what other clients of the key get.
        self._reserve_of_second, self._for_probes, self._for_strangers = (
            int(per_second * part) if limited else 0 for part in parts
        )
        limited = per_hour != math.inf
        #: Requests of the hour that are not taken in the background.
        self.reserve: float = min(round(self._reserve_share * per_hour), per_hour - 1) if limited else 0

    # Taking

    def take(self, permit: Permit, now: float, *, background: bool = False) -> bool:
        """Take a permit, if one is free; `background` leaves the reserves of both windows to others."""
        if self.room(now, background=background) <= 0:
            return False
        lost = self.unanswered
        if not self.outstanding:
            # Nothing was out that could have been answered.
            lost.silent_from = now + QUIET
        if now >= lost.silent_from or not self.known or self.refusals >= _REFUSED_OFTEN:
            self._probe = permit
        if self.available() <= 0 and self.foreign_usage.count and self.tries_every == _CHECK_OTHERS:
            self._check = permit
        permit.taken_at = now
        self.take_all(1)
        return True

    def take_all(self, count: int) -> None:
        """Note that `count` permits are out."""
        self.outstanding += count
        if count and self.available() <= 0:
            # This one tries an hour that is full by what an answer said; another one only after it has landed.
            self.tries_at = math.inf

    def room(self, now: float, *, background: bool = False) -> float:
        """Return how many permits are free; none, or less than none, when nothing may be taken."""
        self.advance(now)
        if self.probing(now):
            return 0
        of_hour = self.available(background=background)
        if of_hour <= 0:
            of_hour = 1 if now >= self.tries_at and self._full_by_answers() else 0
        of_second = self.burst(background=background) - self.in_second(now) + self.unanswered.overdue(now)
        return min(of_hour, of_second)

    def probing(self, now: float) -> bool:
        """Check whether a probe is out that all others wait for."""
        if self._probe is None:
            return False
        if not self.known or self.refusals >= _REFUSED_OFTEN:
            return True
        silent = now >= self.unanswered.silent_from
        left = self.per_second - self.in_second(now)
        return silent and (self.unanswered.overdue(now) > 0 or left <= self._for_probes)

    def next_time(self, now: float, *, background: bool = False) -> float:
        """Return when the next permit may be free: `now` if one is, infinity if only an answer can tell."""
        if self.room(now, background=background) > 0:
            return now
        short = 1 - self.available(background=background)
        if short > 0:
            return min(self.hour_returns(int(short), now), self.unanswered.next_change(now), self._next_try(now))
        return min(self.log.leaves_second(now), self.unanswered.next_change(now))

    # Ending

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        """Note that a request landed: the service answered it. `quota` is what the answer says of the limits."""
        self.known = True
        if permit is self._probe:
            self._probe = None
        lost = self.unanswered
        lost.silent_from = now + QUIET
        # What landed before this one comes first.
        self.advance(now)
        lost.note_answer(permit.taken_at, now)
        if quota is not None:
            self.observe(quota, permit.taken_at, now, now)
        self.outstanding -= 1
        self.land(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        if permit is self._probe:
            self._probe = None
        self.unanswered.given_up.append(now)

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        if permit is self._probe:
            self._probe = None
        self.outstanding -= 1

    def refused(self, permit: Permit, now: float) -> int:
        """Note that a request got a 429; return how many times in a row the service refused."""
        # A request that left before the last refusal was known says nothing new.
        if permit.taken_at >= self._refused_at:
            self.refusals += 1
            self._refused_at = now
        self._misled = False
        return self.refusals

    def accepted(self, permit: Permit) -> bool:
        """Note that a request got another answer than a 429; tell whether that shows that answers count too many."""
        self.refusals = 0
        found = permit is self._check and not self._misled
        self._misled = self._misled or found
        return found

    def believed(self, quota: Quota) -> Quota:
        """Return what is believed of an answer: where answers have counted too many, only our requests count."""
        if not self._misled:
            return quota
        return attrs.evolve(quota, remaining=max(0, quota.limit - self.outstanding - len(self.log)))

    def land(self, at: float) -> None:
        """Note when a request landed that no longer counts as outstanding."""
        self.log.add(at)
        self.tried(at)

    def tried(self, at: float) -> None:
        """Note that one landed, which may be the one that tried an hour that is full by what an answer said."""
        if self.tries_at == math.inf:
            self.tries_at = at + self.tries_every

    def observe(self, quota: Quota, taken_at: float, now: float, came_at: float) -> None:
        """Learn from an answer what the service allows, and how much others use.

        Args:
            quota: What the answer says.
            taken_at: When the permit of its request was taken.
            now: The time.
            came_at: When the answer came.
        """
        if self.own_limit == math.inf:
            return
        log, foreign = self.log, self.foreign_usage
        until_reset = quota.reset + log.second
        if quota.limit != self.service_limit:
            self.obey_service(quota.limit)
        counted = quota.limit - quota.remaining
        at_least = counted - self.outstanding - log.between(taken_at - log.hour, now)
        if at_least > 0 or foreign.count:
            sure = log.hour * CERTAIN / HOUR
            certainly_own = log.between(now - sure, taken_at)
            own_leaves = log.leaves_hour() - log.hour + sure
            foreign.correct(
                now, at_least, counted - certainly_own - 1, came_at + until_reset, own_leaves, hour=log.hour
            )
        self.tries_every = min(until_reset, _CHECK_OTHERS) if foreign.count else until_reset
        self.tries_at = came_at + self.tries_every

    def learn(self, other: SlidingWindows, later: float = 0.0) -> None:
        """Believe what answers said to other windows, whose clock is `later` seconds behind."""
        self.known = self.known or other.known
        self.obey_service(other.service_limit)
        self.tries_at, self.tries_every = other.tries_at + later, other.tries_every
        self.foreign_usage = other.foreign_usage.shifted(later)
        self.paused_until = max(self.paused_until, other.paused_until + later)
        self.asked_until = max(self.asked_until, other.asked_until + later)

    def pause(self, now: float, seconds: float) -> None:
        """Pause all calls because the service asks for it with a 429, for no longer than its longest window."""
        self.advance(now)
        self.asked_until = max(self.asked_until, now + seconds)
        self.paused_until = max(self.paused_until, now + min(seconds, LONGEST_PAUSE))

    def asked_left(self, now: float) -> float:
        """Return for how many seconds more the service asks for a pause, 0 when calls do not pause."""
        return self.asked_until - now if now < self.paused_until else 0.0

    async def aclose(self) -> None:
        """Do nothing: no other process has to be told of these windows."""

    # What is known of the limits

    @property
    def used(self) -> int:
        """Requests of this hour: those that have not landed, those that have, and those of other programs."""
        return self.outstanding + len(self.log) + self.foreign_usage.count

    def in_second(self, now: float) -> int:
        """Return the requests of the last second: those that have landed in it, and those that have not landed."""
        return self.outstanding + self.log.in_second(now)

    def available(self, *, background: bool = False) -> float:
        """Return how many requests the hour still admits; for the background that may be less than none."""
        return self.per_hour - self.used - (self.reserve if background else 0)

    def burst(self, *, background: bool) -> float:
        """Return how many requests a second admits."""
        strangers = self._for_strangers if self.foreign_usage.count else 0
        return self.per_second - strangers - (self._reserve_of_second if background else 0)

    def returning(self, now: float, within: float) -> int:
        """Return how many permits the hour gives back in `within` seconds, as far as their answers are there."""
        self.advance(now)
        if self.per_hour == math.inf:
            return 0
        return self.log.leaving(now + within) + self.foreign_usage.leaving(now + within)

    def first_return(self, now: float) -> float:
        """Return seconds until the hour gives a permit back, infinity when that takes an answer first."""
        self.advance(now)
        if self.per_hour == math.inf:
            return math.inf
        return min(self.hour_returns(1, now), max(now, self._next_try(now))) - now

    def expected_wait(self, ahead: int, now: float, *, background: bool = False) -> float:
        """Estimate in seconds when a permit is free for a call with `ahead` others before it."""
        when = self.next_time(now, background=background)
        # How long the answer to a probe takes is not known.
        wait = when - now if when != math.inf and not self.probing(now) else 0.0
        short = ahead + 1 - self.available(background=background)
        if short > 0 and (ahead or self._next_try(now) == math.inf):
            wait = max(wait, min(self.hour_returns(int(short), now) - now, HOUR))
        burst = ahead + 1 + self.in_second(now) - self.burst(background=background)
        return max(wait, math.ceil(burst / self.per_second) * SECOND) if burst > 0 else wait

    def idle(self, now: float) -> bool:
        """Check whether nothing is out, so that forgetting these windows loses nothing."""
        self.advance(now)
        return not self.outstanding and not self.log

    def hour_returns(self, count: int, now: float) -> float:
        """Return when the hour will have given `count` permits back, infinity when that takes an answer first."""
        return max(now, self.foreign_usage.hour_returns(count, self.log.leaves_hour))

    # Counting

    def advance(self, now: float) -> None:
        """Move on to a time: requests given up land, old ones leave the windows, and a pause ends."""
        for at in self.unanswered.land(now):
            self.outstanding -= 1
            self.land(at)
        self.log.age(now)
        if self.foreign_usage.count:
            self.foreign_usage.age(now)
        if now >= self.paused_until:
            self.asked_until = self.paused_until

    def _full_by_answers(self) -> bool:
        """Check whether the hour is full by what answers said, and not by our requests and the setting."""
        own = self.outstanding + len(self.log)
        return self.available() <= 0 and own < self.own_limit and self.service_limit <= self.own_limit

    def _next_try(self, now: float) -> float:
        """Return when one request may try an hour that is full by what answers said, infinity when it is not."""
        if not self._full_by_answers():
            return math.inf
        return self.tries_at if self.tries_at > now else self.log.leaves_second(now)
