"""Take one process's part in limits that several processes share.

To a limiter these are windows like `SlidingWindows`, but their permits come from the shared state. An *exchange* with
it reports what was answered since the last one and brings permits for the calls that wait; so a request costs about one
exchange, or less when several calls wait. Exchanges run beside the requests: `next_time` asks for one when no permit is
at hand, and the limiter is called when permits have come.

The process itself knows the network: when a request that was given up can no longer arrive, and silence. In a silence
each process sends one probe at a time, once what it has given up is overdue; the rest is as in `SlidingWindows`.

While the state cannot be reached, or keeps an exchange waiting for too long, the process keeps to a declared share of
the second, and lets the headers tell what is left of the hour. When the state is back, the process reports the requests
it made meanwhile; and all processes rest until the others that made requests of their own must have reported them too.

When the state has lost the allocation, or cannot read it, the process tells the next one what it remembers.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
from collections.abc import Callable, Sequence

from cmsapi.errors import StateError
from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.request_log import SECOND
from cmsapi.ratelimit.sharing.allocator import LONGEST_REST, REST, allocate
from cmsapi.ratelimit.sharing.exchange import HOLDER_TTL, AccountLimits, PermitGrant, PermitRequest
from cmsapi.ratelimit.sharing.local_permits import LocalPermits
from cmsapi.ratelimit.sliding_windows import RESERVE, SlidingWindows
from cmsapi.ratelimit.timer import Timer
from cmsapi.state.store import State

logger: logging.Logger = logging.getLogger("cmsapi")

# Answers are reported within this many seconds, so that other processes know in time when permits come back.
REPORT_WITHIN = 0.15
# While permits are scarce, those that come back so soon after each other are fetched in one exchange.
GATHER = 0.05
# A state that takes longer than this for an exchange cannot be reached: requests do not wait for it.
PATIENCE = 2.0
# How often a state that cannot be reached is tried again; `REST` is longer.
TRY_AGAIN = 1.0
# How long after the last exchange was asked for the first request may go alone: the permits that other processes got
# before are then out of the second.
STILL = 1.5


class SharedWindows:
    """Take one process's part in the limits of an account.

    Args:
        store: Where the processes share the limits.
        account: Whose limits: a digest of base URL and key.
        per_second: Requests in any one second, or None for no limit.
        per_hour: Requests in any hour, or None for no limit.
        reserve: Requests of the hour that the last lane leaves to the others; None for one in a hundred.
        alone: Requests in any one second while the state cannot be reached.
        ttl: Seconds after which the permits of a process that was not heard of expire.
    """

    def __init__(
        self,
        store: State,
        account: str,
        per_second: int | None,
        per_hour: int | None,
        *,
        reserve: int | None = None,
        alone: int = 1,
        ttl: float = HOLDER_TTL,
    ) -> None:
        self._store = store
        self._account = account
        share = RESERVE if reserve is None or per_hour is None else reserve / per_hour
        self._limits = AccountLimits(per_second=per_second, per_hour=per_hour, reserve_share=share, ttl=ttl)
        self._share = alone
        self._waiting: Callable[[], Sequence[int]] = lambda: ()
        self._serve: Callable[[float], None] = lambda now: None
        # What gives permits while the state cannot be reached.
        self._alone: SlidingWindows | None = None
        self._alone_from = -math.inf
        self._permits = LocalPermits()
        self._grant: PermitGrant | None = None
        # Times of the loop: of the last exchange; when our permits expire; before which an exchange gives nothing.
        self._exchanged_at = self._expires = self._not_before = -math.inf
        self._loop = asyncio.get_running_loop()
        self._timer = Timer(self._loop, self._schedule)
        self._exchanging: asyncio.Task[None] | None = None
        self._closed = False
        self.outage: Exception | None = None
        self.exchanges: int = 0

    def connect(self, waiting: Callable[[], Sequence[int]], serve: Callable[[float], None]) -> None:
        """Say which calls want permits.

        Args:
            waiting: Tells how many calls wait, lane by lane; the last lane takes sparingly.
            serve: Called with the time when permits may have come.
        """
        self._waiting, self._serve = waiting, serve

    # Taking

    def take(self, permit: Permit, now: float, *, sparing: bool = False) -> bool:
        """Take a permit, if one is at hand.

        Args:
            permit: What is filled in then.
            now: The time.
            sparing: Said of the last lane; an exchange for it leaves a part to the others.
        """
        permits, grant = self._permits, self._grant
        if self._alone is not None:
            taken = now >= self._alone_from and self._alone.take(permit, now, sparing=sparing)
            if taken:
                permits.note(permit, now, self._alone)
            return taken
        if grant is None or not self._admits(now):
            return False
        permits.take(permit, now, grant)
        return True

    def next_time(self, now: float, *, sparing: bool = False) -> float:
        """Return when the next permit may be free: `now` if one is, infinity if the limiter will be called."""
        self._schedule(now)
        if self._alone is not None:
            return max(self._alone_from, self._alone.next_time(now, sparing=sparing))
        return now if self._admits(now) else math.inf

    def _admits(self, now: float) -> bool:
        return now < self._expires and self._permits.admits()

    # Ending

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request. `quota` is what the answer says of the limits."""
        if permit.stage in OUT:
            self._permits.answered(permit, now, quota)
            self._schedule(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        if permit.stage in OUT:
            self._permits.lost(permit, now)
            self._schedule(now)

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        if permit.stage in OUT:
            self._permits.unsent(permit)
            self._schedule(self._loop.time())

    def rest(self, seconds: float) -> None:
        """Let all processes rest, because the service said so (429)."""
        now = self._loop.time()
        self._permits.rest(now + seconds)
        self._schedule(now)

    # Exchanges

    def _schedule(self, now: float) -> None:
        """See to it that the next exchange begins when it is due."""
        if self._exchanging is not None or self._closed:
            return
        due = self._due(now)
        self._timer.set(due if due > now else math.inf)
        if due <= now:
            exchanging = self._loop.create_task(self._exchange())
            # An eager task may be through already.
            if not exchanging.done():
                self._exchanging = exchanging

    def _due(self, now: float) -> float:
        permits, wanted = self._permits, sum(self._waiting())
        permits.advance(now)
        due = permits.next_change(now)
        if self.outage is not None:
            return self._exchanged_at + TRY_AGAIN
        if permits.rests_until > now or permits.recalls:
            return now
        if wanted and not permits.at_hand:
            due = min(due, self._not_before)
        elif permits.at_hand and not wanted:
            due = min(due, self._exchanged_at + REPORT_WITHIN)
        due = min(due, permits.unreported_since + REPORT_WITHIN)
        if permits.out or permits.at_hand:
            due = min(due, self._exchanged_at + self._limits.ttl / 2)
        return due

    async def _exchange(self) -> None:
        sent = self._loop.time()
        limits, request = self._request(sent)
        late = self._loop.call_at(
            sent + PATIENCE, self._fail, StateError(f"it took more than {PATIENCE:g} s to answer"), sent
        )
        try:
            grant = await self._store.update_limits(self._account, functools.partial(allocate, limits, request))
        except Exception as error:
            # Whatever it is: a call that waits for a permit must not wait for ever.
            self._fail(error, sent)
        else:
            self._apply(request, grant, sent)
        finally:
            late.cancel()
            self._exchanging = None
        self._serve(self._loop.time())
        self._schedule(self._loop.time())

    def _request(self, now: float) -> tuple[AccountLimits, PermitRequest]:
        if now >= self._expires:
            self._permits.begin_anew()
        if self.outage is not None:
            # As long as requests go alone, no exchange can report all of them.
            self._rest_all(now)
            return self._limits, self._permits.request(now, 0, 0)
        *lanes, last = self._waiting() or (0,)
        if sum(lanes):
            lane = next(lane for lane, calls in enumerate(lanes) if calls)
            return self._limits, self._permits.request(now, sum(lanes), lane)
        return self._limits.sparing(self.per_hour), self._permits.request(now, last, len(lanes))

    def _rest_all(self, now: float) -> None:
        if self._limits.limited:
            self._permits.rest(now + REST)

    def _apply(self, request: PermitRequest, grant: PermitGrant, sent: float) -> None:
        now, before = self._loop.time(), self._grant
        another = self._permits.granted(grant)
        if grant.reset:
            logger.warning("what the shared state held about the limits cannot be used; it is counted anew")
        elif another:
            logger.warning("the shared state has lost what it held about the limits; it is counted anew")
        if another and before is not None and self._limits.per_hour is not None:
            limit = self._limits.per_hour if before.limit is None else before.limit
            reset = before.returns[0] if before.returns else self._limits.hour
            self._permits.recall(Quota(limit, max(0, limit - before.used), max(0.0, reset)), self._exchanged_at)
        if self.outage is not None:
            logger.warning("the shared state answers again; the limits are shared after a rest of %g s", REST)
            self.outage = self._alone = None
            # They were given before it was known what this process did alone.
            self._permits.at_hand = 0
            self._rest_all(now)
        self._grant = grant
        self._exchanged_at, self._expires = sent, sent + self._limits.ttl
        scarce = grant.granted < request.want
        self._not_before = now + max(GATHER, min(grant.wait, LONGEST_REST)) if scarce else now
        self.exchanges += 1

    def _fail(self, error: Exception, sent: float) -> None:
        now = self._exchanged_at = self._loop.time()
        if self.outage is None:
            logger.warning(
                "until it can be reached, this process makes at most %d requests a second: %s",
                self._share,
                error if isinstance(error, StateError) else f"the state cannot be used ({error!r})",
            )
            self._permits.at_hand = 0
            self._alone = SlidingWindows(self._share, self._limits.per_hour)
            self._alone_from = now if self._grant is None else max(now, sent + STILL)
        self.outage = error
        self._serve(now)

    # What is known of the limits, as of the last exchange

    @property
    def per_second(self) -> float:
        """Requests in any one second, infinity for no limit."""
        return math.inf if self._limits.per_second is None else self._limits.per_second

    @property
    def per_hour(self) -> float:
        """Requests in any hour in force, infinity for no limit."""
        if self._limits.per_hour is None:
            return math.inf
        said = self._grant.limit if self._grant is not None else None
        return self._limits.per_hour if said is None else min(said, self._limits.per_hour)

    @property
    def reserve(self) -> float:
        """Requests of the hour that the last lane leaves to the others."""
        return self._limits.reserve(self.per_hour)

    @property
    def remaining(self) -> float:
        """Requests that the hour still admits, with the permits at hand."""
        return self.per_hour - (self._grant.used if self._grant is not None else 0) + self._permits.at_hand

    @property
    def in_flight(self) -> int:
        """Requests of this process without an answer yet."""
        return len(self._permits.open)

    @property
    def foreign(self) -> int:
        """Requests of this hour that other programs made with the same key, as far as the answers tell."""
        return self._grant.foreign if self._grant is not None else 0

    def free(self, now: float) -> float:
        """Return how many permits the hour has for the last lane; negative while its reserve is in use."""
        return self.remaining - self.reserve

    def returning(self, now: float, within: float) -> int:
        """Return how many permits the hour gives back within so many seconds, to an eighth of them."""
        return self._grant.returning(now - self._exchanged_at + within) if self._grant is not None else 0

    def first_return(self, now: float) -> float:
        """Return seconds until the hour gives a permit back, infinity when none has settled."""
        returns = self._grant.returns if self._grant is not None else ()
        return max(0.0, returns[0] - (now - self._exchanged_at)) if returns else math.inf

    def reset_in(self, now: float) -> float:
        """Return seconds until the hour gives a permit back, 0 when none has settled."""
        first = self.first_return(now)
        return 0.0 if first == math.inf else first

    def expected_wait(self, ahead: int, now: float, *, sparing: bool = False) -> float:
        """Estimate in seconds when a permit is free for a call with so many others ahead."""
        if self._alone is not None:
            return self._alone.expected_wait(ahead, now)
        wait = max(0.0, self._not_before - now) if not self._permits.at_hand else 0.0
        need = ahead + 1
        short = need - self.remaining + (self.reserve if sparing else 0)
        if self._grant is not None and short > 0:
            wait = max(wait, self._grant.returned(short) - (now - self._exchanged_at))
        return max(wait, math.ceil(max(0, need - self.per_second) / self.per_second) * SECOND)

    def tighten(self, per_second: int | None, per_hour: int | None, reserve: int | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        self._limits = self._limits.tightened(per_second, per_hour, reserve)

    def idle(self, now: float) -> bool:
        """Tell whether nothing is out or unreported, so that forgetting these windows loses nothing."""
        permits = self._permits
        return not (permits.out or permits.at_hand or permits.unreported or self._exchanging is not None)

    async def aclose(self) -> None:
        """Report what was not reported yet, and begin no more exchanges."""
        self._closed = True
        self._timer.set(math.inf)
        if self._exchanging is not None:
            await asyncio.wait([self._exchanging])
        self._waiting = lambda: ()
        if self._grant is None or self.outage is not None:
            return
        change = functools.partial(allocate, *self._request(self._loop.time()))
        try:
            await self._store.update_limits(self._account, change)
        except Exception as error:
            logger.warning("the last requests of this process were not reported to the shared limits: %s", error)
