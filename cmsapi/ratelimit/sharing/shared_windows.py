"""Take one process's part in limits that several processes share.

To a limiter these are windows like `SlidingWindows`, but their permits come from the shared state. An *exchange* with
it reports what was answered since the last one and brings permits for the calls that wait; so a request costs about one
exchange, or less when several calls wait. Exchanges run beside the requests: `next_time` asks for one when no permit is
at hand, and the limiter is called when permits have come.

The process itself knows the network: when a request that was given up can no longer arrive, and silence. In a silence
each process sends one probe at a time, once what it has given up is overdue; the rest is as in `SlidingWindows`.

While the state cannot be reached, or keeps an exchange waiting for too long, the process keeps to a declared share of
the second, and lets the headers tell what is left of the hour. When the state is back, the process reports the requests
it made meanwhile; and all processes pause until the others that made requests of their own must have reported them too.

When the state has lost the allocation, or cannot read it, the process tells the next one what it remembers.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
from collections.abc import Callable, Sequence

from cmsapi.errors import StateError
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.sharing.allocator import LONGEST_WAIT, OUTAGE_PAUSE
from cmsapi.ratelimit.sharing.document import allocate
from cmsapi.ratelimit.sharing.exchange import AccountLimits, PermitGrant, PermitRequest
from cmsapi.ratelimit.sharing.local_permits import LocalPermits
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.timer import Timer
from cmsapi.state.store import State

logger: logging.Logger = logging.getLogger("cmsapi")

# Answers are reported within this many seconds, so that other processes know in time when permits come back.
REPORT_WITHIN = 0.15
# While permits are scarce, those that come back so soon after each other are fetched in one exchange.
GATHER = 0.05
# A state that takes longer than this for an exchange cannot be reached: requests do not wait for it.
PATIENCE = 2.0
# How often a state that cannot be reached is tried again; `OUTAGE_PAUSE` is longer.
TRY_AGAIN = 1.0
# How long after the last exchange was asked for the first request may go alone: the permits that other processes got
# before are then out of the second.
STILL = 1.5


class SharedWindows:
    """Take one process's part in the limits of an account.

    Args:
        store: Where the processes share the limits.
        account: Whose limits: a digest of base URL and key.
        limits: What the account admits.
        alone: Requests in any one second while the state cannot be reached.
    """

    def __init__(self, store: State, account: str, limits: AccountLimits, *, alone: int = 1) -> None:
        self._store = store
        self._account = account
        self._limits = limits
        self._share = alone
        self._waiting: Callable[[], Sequence[int]] = lambda: ()
        self._serve: Callable[[float], None] = lambda now: None
        # The windows that give permits while the state cannot be reached, and the permits of theirs that are out.
        self._alone: SlidingWindows | None = None
        self._alone_from = -math.inf
        self._alone_open: set[Permit] = set()
        self._permits = LocalPermits()
        # The windows of all processes after the last exchange, the permits that were out then, and how far their clock
        # is ahead of the loop's.
        self._known = self._limits.windows()
        self._out, self._ahead = 0, 0.0
        # Times of the loop: of the last exchange; when our permits expire; before which an exchange gives nothing.
        self._exchanged_at = self._expires = self._not_before = -math.inf
        self._loop = asyncio.get_running_loop()
        self._timer = Timer(self._schedule)
        self._exchanging: asyncio.Task[None] | None = None
        self._closed = False
        #: Until when the calls of this process pause because of a 429; the limiter sees to it.
        self.paused_until: float = -math.inf
        self.outage: Exception | None = None
        self.exchanges: int = 0

    def connect(self, waiting: Callable[[], Sequence[int]], serve: Callable[[float], None]) -> None:
        """Connect a limiter: the function that counts the calls waiting in each lane, and the one that serves them."""
        self._waiting, self._serve = waiting, serve

    # Taking

    def take(self, permit: Permit, now: float, *, sparing: bool = False) -> bool:
        """Take a permit, if one is at hand; an exchange for the last lane has left a part to the others."""
        if self._alone is not None:
            taken = now >= self._alone_from and self._alone.take(permit, now, sparing=sparing)
            if taken:
                self._alone_open.add(permit)
            return taken
        if self._admits(now):
            self._permits.take(permit, now, self._known.log)
            return True
        return False

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
        self._giver(permit).answered(permit, now, quota)
        self._schedule(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        self._giver(permit).lost(permit, now)
        self._schedule(now)

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        self._giver(permit).unsent(permit)
        self._schedule(self._loop.time())

    def _giver(self, permit: Permit) -> SlidingWindows | LocalPermits:
        if self._alone is None or permit not in self._alone_open:
            return self._permits
        self._alone_open.remove(permit)
        return self._alone

    def pause(self, until: float) -> None:
        """Pause all processes until a time, after a 429."""
        self.paused_until = max(self.paused_until, until)
        self._permits.report.pause(until)
        self._schedule(self._loop.time())

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
        due = permits.unanswered.next_change(now)
        if self.outage is not None:
            return self._exchanged_at + TRY_AGAIN
        if permits.report.pause_until > now or permits.report.urgent:
            return now
        if wanted and not permits.at_hand:
            due = min(due, self._not_before)
        elif permits.at_hand and not wanted:
            due = min(due, self._exchanged_at + REPORT_WITHIN)
        due = min(due, permits.report.since + REPORT_WITHIN)
        if permits.out or permits.at_hand:
            due = min(due, self._exchanged_at + self._limits.ttl / 2)
        return due

    async def _exchange(self) -> None:
        sent = self._loop.time()
        request = self._request(sent)
        late = self._loop.call_at(
            sent + PATIENCE, self._fail, StateError(f"it took more than {PATIENCE:g} s to answer"), sent
        )
        try:
            grant = await self._store.update_limits(self._account, functools.partial(allocate, self._limits, request))
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

    def _request(self, now: float) -> PermitRequest:
        if now >= self._expires:
            self._permits.begin_anew()
        if self.outage is not None:
            # The requests made alone are reported when the outage is over. Until then the other processes pause.
            self._pause_after_outage(now)
            return self._permits.request(now, 0, 0)
        *lanes, last = self._waiting() or (0,)
        if sum(lanes):
            lane = next(lane for lane, calls in enumerate(lanes) if calls)
            return self._permits.request(now, sum(lanes), lane)
        return self._permits.request(now, last, len(lanes), sparing=True)

    def _pause_after_outage(self, now: float) -> None:
        if self._known.limited:
            self._permits.report.pause(now + OUTAGE_PAUSE)

    def _apply(self, request: PermitRequest, grant: PermitGrant, sent: float) -> None:
        now = self._loop.time()
        another = self._permits.granted(grant)
        if grant.reset:
            logger.warning("what the shared state held about the limits cannot be used; it is counted anew")
        elif another:
            logger.warning("the shared state has lost what it held about the limits; it is counted anew")
        if another and self._known.own_limit < math.inf:
            before, at = self._known, self._exchanged_at
            before.unsettled = self._out
            reset = min(before.first_return(at + self._ahead), self._limits.hour)
            self._permits.recall(Quota(int(before.per_hour), max(0, int(before.remaining)), reset), at)
        if self._alone is not None:
            logger.warning("the shared state answers again; the limits are shared after a pause of %g s", OUTAGE_PAUSE)
            self._alone.advance(now)
            self._permits.adopt(self._alone_open, self._alone.log.times, self._alone.unanswered)
            self._alone_open.clear()
            self.outage = self._alone = None
            # They were given before it was known what this process did alone.
            self._permits.at_hand = 0
            self._pause_after_outage(now)
        self._known, self._out, self._ahead = grant.windows, grant.windows.unsettled, grant.time - sent
        self._exchanged_at, self._expires = sent, sent + self._limits.ttl
        scarce = grant.granted < request.want
        self._not_before = now + max(GATHER, min(grant.wait, LONGEST_WAIT)) if scarce else now
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
            self._alone_from = now if not self.exchanges else max(now, sent + STILL)
        self.outage = error
        self._serve(now)

    # What is known of the limits, as of the last exchange

    def figures(self, now: float) -> tuple[SlidingWindows, float]:
        """Return the windows of all processes after the last exchange, and the time by their clock."""
        self._known.unsettled = self._out - self._permits.at_hand
        return self._known, now + self._ahead

    def expected_wait(self, ahead: int, now: float, *, sparing: bool = False) -> float:
        """Estimate in seconds when a permit is free for a call with so many others ahead."""
        if self._alone is not None:
            return self._alone.expected_wait(ahead, now)
        windows, then = self.figures(now)
        wait = windows.expected_wait(ahead, then, sparing=sparing)
        return wait if self._permits.at_hand else max(wait, self._not_before - now)

    def tighten(self, per_second: int | None, per_hour: int | None, reserve: int | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        self._limits = self._limits.tightened(per_second, per_hour, reserve)
        self._known.tighten(per_second, per_hour, reserve)

    def idle(self, now: float) -> bool:
        """Tell whether nothing is out or unreported, so that forgetting these windows loses nothing."""
        permits = self._permits
        more = permits.out or permits.at_hand or permits.sent or permits.report.settled or self._alone is not None
        return not more and self._exchanging is None

    async def aclose(self) -> None:
        """Report what was not reported yet, and begin no more exchanges."""
        self._closed = True
        self._timer.set(math.inf)
        if self._exchanging is not None:
            await asyncio.wait([self._exchanging])
        self._waiting = lambda: ()
        if not self.exchanges or self.outage is not None:
            return
        change = functools.partial(allocate, self._limits, self._request(self._loop.time()))
        try:
            await self._store.update_limits(self._account, change)
        except Exception as error:
            logger.warning("the last requests of this process were not reported to the shared limits: %s", error)
