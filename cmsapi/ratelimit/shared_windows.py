"""Take one process's part in limits that several processes share.

To a limiter these are sliding windows in which the rows of the other processes count as they were at the last take; but
a permit also has to be *at hand*. A take (see `cmsapi.ratelimit.shared_log`) tells what this process did and brings
permits for the calls that wait; so a request costs about one take, or less when several calls wait. Takes run beside
the requests: `next_time` asks for one when no permit is at hand, and the limiter is called when permits have come.

The process itself knows the network: when a request that was given up can no longer arrive, and silence. In a silence
each process sends one probe at a time, once what it has given up is overdue; the rest is as in `SlidingWindows`.

While the state cannot be reached, or keeps a take waiting for too long, the process keeps to a declared share of the
second, and lets the headers tell what is left of the hour. When the state is back, the first take tells what it did;
and all processes pause until the others must have told that too.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import os
import secrets
from collections.abc import Callable, Sequence

import attrs

from cmsapi.config import RateLimits
from cmsapi.errors import StateError
from cmsapi.ratelimit.clock import clock_tick
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.request_log import SECOND, RequestLog
from cmsapi.ratelimit.shared_log import GATHER, LONGEST_WAIT, OUTAGE_PAUSE, AccountLimits, Take, Taken, take
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.timer import Timer
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP
from cmsapi.state.store import State

logger: logging.Logger = logging.getLogger("cmsapi")

# Answers are told within this many seconds, so that other processes know in time when permits come back.
TELL_WITHIN = 0.15
# A state that takes longer than this for a take cannot be reached: requests do not wait for it.
TIMEOUT = 2.0
# How often a state that cannot be reached is tried again; `OUTAGE_PAUSE` is longer.
TRY_AGAIN = 1.0
# How long after the last take was asked for the first request may go alone: the permits that other processes got before
# are then out of the second.
STILL = 1.5
# A process without a limit of its own takes its share of this while the state cannot be reached.
_BURST = 20


def join_processes(store: State, account: str, limits: RateLimits) -> RateLimiter:
    """Make the limiter of an account on the running loop; it shares the limits with other processes by way of a state.

    Args:
        store: Where the processes share the limits.
        account: Whose limits: a digest of base URL and key.
        limits: What the account admits, and the share of this process while the state cannot be reached.
    """
    shared = AccountLimits(
        per_second=limits.per_second,
        per_hour=limits.per_hour,
        reserve=limits.reserve,
        second=SECOND + clock_tick(),
    )
    alone = max(1, int((limits.per_second or _BURST) * limits.share))
    windows = SharedWindows(store, account, shared, alone=alone)
    limiter = RateLimiter(windows)
    windows.connect(limiter.waiting, limiter.serve)
    return limiter


class SharedWindows(SlidingWindows):
    """Take one process's part in the limits of an account.

    Args:
        store: Where the processes share the limits.
        account: Whose limits: a digest of base URL and key.
        limits: What the account admits.
        alone: Requests in any one second while the state cannot be reached.
    """

    def __init__(self, store: State, account: str, limits: AccountLimits, *, alone: int = 1) -> None:
        log = RequestLog(second=limits.second, hour=limits.hour)
        super().__init__(limits.per_second, limits.per_hour, reserve=limits.reserve, log=log)
        self._store = store
        self._account = account
        self._limits = limits
        self._alone = alone
        # People know a process by its identifier, which the system gives out again.
        self._process = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._waiting: Callable[[], Sequence[int]] = lambda: ()
        self._serve: Callable[[float], None] = lambda now: None
        # Permits that were given and not taken, when the requests of this process landed, and how many requests of the
        # others have not.
        self._at_hand = 0
        self._own: list[float] = []
        self._others_open = 0
        # Of the last take: when its log began, when it was asked for, and how far the log's clock is ahead at least.
        self._began, self._told_at, self._ahead = 0, -math.inf, 0.0
        # When the last take failed.
        self._failed_at = -math.inf
        # What is to be told: since when something is, whether there was an answer, what the newest one said of the
        # limits with its permit and its time, and a pause for all.
        self._untold_since = math.inf
        self._answered = False
        self._header: tuple[Quota, Permit, float] | None = None
        self._pause_untold = -math.inf
        # Headers of requests that left before are not heard: others may not have told yet what is counted there.
        self._heard_from = -math.inf
        # Before when a take gives nothing.
        self._not_before = -math.inf
        self._loop = asyncio.get_running_loop()
        self._timer = Timer(self._schedule)
        self._taking: asyncio.Task[None] | None = None
        self._closed = False
        #: Why the state cannot be reached, None while it can.
        self.outage: Exception | None = None
        #: How many takes were answered.
        self.takes: int = 0

    def connect(self, waiting: Callable[[], Sequence[int]], serve: Callable[[float], None]) -> None:
        """Connect a limiter: the function that counts the calls waiting in each queue, and the one that serves them."""
        self._waiting, self._serve = waiting, serve

    # Taking and ending

    def take(self, permit: Permit, now: float, *, background: bool = False) -> bool:
        """Take a permit, if one is at hand; a take for polls has left a part to others."""
        taken = super().take(permit, now, background=background)
        if taken and self.outage is None:
            self._at_hand -= 1
        return taken

    def room(self, now: float, *, background: bool = False) -> float:
        """Return how many permits are free: those at hand, unless the state cannot be reached."""
        if self.outage is not None:
            return super().room(now, background=background)
        return 0 if self._expired(now) or self.probing(now) else self._at_hand

    def next_time(self, now: float, *, background: bool = False) -> float:
        """Return when the next permit may be free: `now` if one is, infinity if the limiter will be called."""
        self._schedule(now)
        if self.outage is not None or self.room(now) > 0:
            return super().next_time(now, background=background)
        return self.unanswered.next_change(now) if self._at_hand else math.inf

    def _expired(self, now: float) -> bool:
        """Check whether other processes may take this one for gone, and with it what is at hand."""
        return now >= self._told_at + self._limits.process_timeout

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        """Note that a request landed: the service answered it. `quota` is what the answer says of the limits."""
        super().answered(permit, now, quota if self.outage is not None else None)
        self._answered = True
        if quota is not None and self.outage is None and permit.taken_at >= self._heard_from:
            self._header = quota, permit, now
        self._schedule(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        super().lost(permit, now)
        self._schedule(now)

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        super().unsent(permit)
        now = self._loop.time()
        self._untold_since = min(self._untold_since, now)
        self._schedule(now)

    def land(self, at: float) -> None:
        """Note when a request landed that no longer counts as outstanding."""
        super().land(at)
        self._own.append(at)
        self._untold_since = min(self._untold_since, at)

    def pause(self, now: float, seconds: float) -> None:
        """Pause all processes because the service asks for it."""
        super().pause(now, seconds)
        self._pause_untold = max(self._pause_untold, now + seconds)
        self._schedule(self._loop.time())

    # Takes

    def _schedule(self, now: float) -> None:
        """See to it that the next take begins when it is due."""
        if self._taking is not None or self._closed:
            return
        due = self._due(now)
        self._timer.set(due if due > now else math.inf)
        if due <= now:
            taking = self._loop.create_task(self._take())
            # An eager task may be through already.
            if not taking.done():
                self._taking = taking

    def _due(self, now: float) -> float:
        if self.outage is not None:
            return self._failed_at + TRY_AGAIN
        if self._pause_untold > now:
            return now
        self.advance(now)
        wanted = sum(self._waiting())
        due = min(self.unanswered.next_change(now), self._untold_since + TELL_WITHIN)
        if wanted and not self._at_hand:
            due = min(due, self._not_before)
        elif self._at_hand and not wanted:
            due = min(due, self._told_at + TELL_WITHIN)
        if self._at_hand or self.outstanding > self._others_open:
            due = min(due, self._told_at + self._limits.process_timeout / 2)
        return due

    async def _take(self) -> None:
        sent = self._loop.time()
        asked = self._ask(sent)
        late = self._loop.call_at(
            sent + TIMEOUT, self._fail, StateError(f"it took more than {TIMEOUT:g} s to answer"), sent
        )
        try:
            taken = await self._store.update_limits(self._account, functools.partial(take, self._in_force(), asked))
        except Exception as error:
            # Whatever it is: a call that waits for a permit must not wait for ever.
            self._fail(error, sent)
        else:
            self._apply(asked, taken, sent)
        finally:
            late.cancel()
            self._taking = None
        self._serve(self._loop.time())
        self._schedule(self._loop.time())

    def _in_force(self) -> AccountLimits:
        """Return the limits as they were tightened."""
        return attrs.evolve(
            self._limits, per_second=self.set_per_second, per_hour=self.own_limit, reserve=self.set_reserve
        )

    def _ask(self, now: float) -> Take:
        """Report what this process did and how many permits it wants; one that wants none gives back those at hand."""
        self.advance(now)
        *others, polls = (0, 0) if self.outage is not None else self._waiting() or (0, 0)
        background, overdue = not sum(others), self.unanswered.overdue(now)
        wanted = polls if background else sum(others)
        wanted = min(wanted, 1) if overdue else wanted
        if not wanted or self._expired(now):
            self._at_hand = 0
        horizon = self._in_force().horizon
        self._own = [at for at in self._own if at + horizon > now]
        # In a silence, what is overdue counts as if the network lived: otherwise no request could find that out.
        landed = [*self._own, *(at + IN_FLIGHT_CAP for at in self.unanswered.given_up[:overdue])]
        quota, permit, came_at = self._header or (None, Permit(), now)
        asked = Take(
            process=self._process,
            open=self.outstanding - self._others_open - overdue + self._at_hand,
            landed=tuple(now - at for at in landed),
            answered=self._answered,
            quota=quota,
            taken_at=permit.taken_at + self._ahead if quota is not None else math.inf,
            quota_age=now - came_at,
            pause=max(0.0, self._pause_untold - now, 0.0 if self.outage is None else OUTAGE_PAUSE),
            want=max(0, wanted - self._at_hand),
            background=background,
            log=self._began,
        )
        self._untold_since, self._pause_untold, self._answered, self._header = math.inf, -math.inf, False, None
        return asked

    def _apply(self, asked: Take, taken: Taken, sent: float) -> None:
        now, log = self._loop.time(), taken.log
        if taken.loss == "spoilt":
            logger.warning("what the shared state held about the limits cannot be used; it is counted anew")
        elif taken.loss == "lost":
            logger.warning("the shared state has lost what it held about the limits; it is counted anew")
        if self.outage is not None:
            logger.warning("the shared state answers again; the limits are shared after a pause of %g s", OUTAGE_PAUSE)
            self.outage = None
            self.slow_down(math.inf)
            if self.limited:
                self.pause(now, OUTAGE_PAUSE)
                self._heard_from = now + OUTAGE_PAUSE
        if taken.loss is not None:
            self._heard_from = now + self._limits.process_timeout
        ahead, others = log.time - sent, log.others(self._process)
        self.outstanding -= self._others_open
        self._others_open = sum(rows.open for rows in others)
        self.outstanding += self._others_open
        self.log.fill(sorted([*self._own, *(at - ahead for rows in others for at in rows.landed)]))
        self.advance(now)
        self.learn(log.windows, -ahead)
        self._at_hand += taken.granted
        self._began, self._told_at, self._ahead = log.began, sent, log.time - now
        scarce = taken.granted < asked.want
        self._not_before = now + min(max(taken.wait, GATHER), LONGEST_WAIT) if scarce else now
        self.takes += 1

    def _fail(self, error: Exception, sent: float) -> None:
        now = self._failed_at = self._loop.time()
        # A pause that this take was to tell is told by the next one.
        self._pause_untold = now + self.asked_left(now)
        if self.outage is None:
            logger.warning(
                "until it can be reached, this process makes at most %d requests a second: %s",
                self._alone,
                error if isinstance(error, StateError) else f"the state cannot be used ({error!r})",
            )
            self._at_hand = 0
            for _ in range(self._others_open):
                self.log.add(now)
            self.outstanding: int = self.outstanding - self._others_open
            self._others_open = 0
            self.slow_down(self._alone)
            if self.takes:
                super().pause(sent, STILL)
        self.outage = error
        self._serve(now)

    # What is known of the limits

    def expected_wait(self, ahead: int, now: float, *, background: bool = False) -> float:
        """Estimate in seconds when a permit is free for a call with `ahead` others before it."""
        wait = super().expected_wait(ahead, now, background=background)
        return wait if self._at_hand or self.outage is not None else max(wait, self._not_before - now)

    def idle(self, now: float) -> bool:
        """Check whether nothing is out or untold, so that forgetting these windows loses nothing."""
        out = self._at_hand or self.outstanding > self._others_open or self._untold_since < math.inf
        return not out and self.outage is None and self._taking is None

    async def aclose(self) -> None:
        """Tell what was not told yet, and take nothing more."""
        self._closed = True
        self._timer.set(math.inf)
        if self._taking is not None:
            await asyncio.wait([self._taking])
        self._waiting = lambda: ()
        if not self.takes or self.outage is not None:
            return
        change = functools.partial(take, self._in_force(), self._ask(self._loop.time()))
        try:
            await self._store.update_limits(self._account, change)
        except Exception as error:
            logger.warning("the last requests of this process were not reported to the shared limits: %s", error)
