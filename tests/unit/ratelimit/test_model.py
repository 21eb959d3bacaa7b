"""The limiter in random histories, next to a service that counts arrivals and a brute-force count of the permits."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable
from typing import Any

import attrs
import looptime
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.request_log import AFTER_THE_HOUR, HOUR, SECOND
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, LOST_FOR_GOOD, QUIET
from tests.support.examples import examples

PER_SECOND, PER_HOUR, RESERVE = 10, 24, 3
RESERVE_OF_SECOND, PROBES = 1, 1
SERVER_HOUR = 3600.0
# Times are multiples of this, so that sums of them are exact.
TICK = 1 / 64


@attrs.define(eq=False)
class Record:
    """Remember one permit: whether the second had one left, when it was lost and when it lands."""

    covered: bool
    lost_at: float | None = None
    landing_at: bool = False
    lands: float = math.inf


class Counted(SlidingWindows):
    """Count the permits once more, by brute force, and note every decision that differs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(PER_SECOND, PER_HOUR, reserve=RESERVE, **options)
        self.records: dict[Permit, Record] = {}
        self.mistakes: list[str] = []
        self.rests_until = -math.inf
        self.at_a_turn: Callable[[], None] | None = None
        self._answered = not options["first_alone"]
        self._silent_from = math.inf
        self._last_probe: Record | None = None

    def take(self, permit: Permit, now: float, *, background: bool = False) -> bool:
        self.advance(now)
        expected = self.has_one(now, background=background)
        got = super().take(permit, now, background=background)
        if got != expected:
            self.mistakes.append(f"{now}: {'gave' if got else 'refused'} a permit, {background=}")
        if got and now < self.rests_until:
            self.mistakes.append(f"{now}: gave a permit during a pause")
        if got:
            if not self.inside(0.0, now):
                self._silent_from = now + QUIET
            record = self.records[permit] = Record(covered=self.inside(SECOND, now) < PER_SECOND)
            if now >= self._silent_from or not self._answered:
                self._last_probe = record
            if self.at_a_turn is not None:
                asyncio.get_running_loop().call_soon(self.at_a_turn)
                self.at_a_turn = None
        return got

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        self._answered, self._silent_from = True, now + QUIET
        self.records[permit].lands = now
        for record in self.records.values():
            lost_at = record.lost_at
            if lost_at is not None and not record.landing_at and lost_at <= permit.taken_at and record.lands > now:
                record.landing_at, record.lands = True, now + IN_FLIGHT_CAP
        super().answered(permit, now, quota)
        left_since = sum(permit.taken_at < each.lands + HOUR <= now for each in self.records.values())
        if quota is not None and self.available() > quota.remaining + left_since:
            self.mistakes.append(f"{now}: {self.available()} remaining, although the service said {quota.remaining}")

    def lost(self, permit: Permit, now: float) -> None:
        record = self.records[permit]
        record.lost_at, record.lands = now, now + LOST_FOR_GOOD
        super().lost(permit, now)

    def unsent(self, permit: Permit) -> None:
        self.records.pop(permit).lands = -math.inf
        super().unsent(permit)

    def inside(self, span: float, now: float) -> int:
        return sum(each.lands + span > now for each in self.records.values())

    def overdue(self, now: float) -> int:
        if now < self._silent_from:
            return 0
        lost = [each for each in self.records.values() if each.lost_at is not None and not each.landing_at]
        return sum(
            each.lost_at + IN_FLIGHT_CAP + SECOND <= now < each.lands for each in lost if each.lost_at is not None
        )

    def has_one(self, now: float, *, background: bool) -> bool:
        of_second, of_hour, overdue = self.inside(SECOND, now), self.inside(HOUR, now), self.overdue(now)
        kept = now >= self._silent_from and of_second >= PER_SECOND - PROBES
        probe_out = self._last_probe is not None and self._last_probe.lands == math.inf
        if probe_out and (overdue or kept or not self._answered):
            return False
        in_hour = of_hour + self.foreign_usage.count < PER_HOUR - RESERVE * background
        # One request tries an hour that others have filled.
        filled = of_hour < PER_HOUR <= of_hour + self.foreign_usage.count
        in_hour = in_hour or (filled and now >= self.tries_at)
        return in_hour and of_second - overdue < PER_SECOND - RESERVE_OF_SECOND * background


@attrs.frozen
class Fate:
    """Say what becomes of a call.

    Args:
        connecting: Seconds before its request leaves.
        up: Seconds on the way.
        down: Seconds until its answer is back.
        patience: Seconds after which it is given up, as the timeout of each request sees to; a later answer would count
            requests that the log has let go.
        sent: Whether it leaves at all.
        retry_after: What the answer says if it is a 429, else 0.
    """

    connecting: float = 0.0
    up: float = 0.0625
    down: float = 0.0625
    patience: float = AFTER_THE_HOUR
    sent: bool = True
    retry_after: float = 0.0


def ticks(*seconds: float) -> st.SearchStrategy[float]:
    """Draw a time: one of some, or any up to four seconds."""
    return st.sampled_from(seconds) | st.integers(0, 256).map(lambda count: count * TICK)


FATES = st.builds(
    Fate,
    connecting=st.sampled_from([0.0, 0.0, 0.0, 0.5, 3.0]),
    up=ticks(0.0, 0.0625, 0.125, 6.0),
    down=ticks(0.0, 0.0625, 0.125, 6.0),
    patience=st.sampled_from([AFTER_THE_HOUR] * 3 + [0.0, 0.125, 1.0, 10.0]),
    sent=st.sampled_from([True, True, True, True, False]),
    retry_after=st.sampled_from([0.0, 0.0, 0.0, 0.0, 1.0, 30.0]),
)


@attrs.define(eq=False)
class Letter:
    """Carry a request: how long its answer takes, what that says, and when its sender gave it up."""

    down: float
    retry_after: float
    answer: asyncio.Future[Quota]
    given_up: float = math.inf


class Service:
    """Count arrivals exactly, behind a network that may fall silent.

    While the network lives, what was given up arrives within the cap or never. While it is silent, it holds everything
    and delivers it later; of what was given up meanwhile nothing or, if it `delivers`, all but the oldest.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, delivers: bool) -> None:
        self._loop = loop
        self._delivers = delivers
        self.own: list[float] = []
        self.others: list[float] = []
        self.silent_since: float | None = None
        self._held: list[Callable[[], None]] = []

    async def send(self, fate: Fate) -> Quota:
        letter = Letter(fate.down, fate.retry_after, self._loop.create_future())
        self._loop.call_later(fate.up, self._arrive, letter)
        try:
            return await letter.answer
        except asyncio.CancelledError:
            letter.given_up = self._loop.time()
            raise

    def admit_others(self, count: int) -> None:
        now = self._loop.time()
        self.others += [now] * min(count, self._quota(now).remaining)

    def recover(self) -> None:
        since, self.silent_since = self.silent_since, None
        held, self._held = self._held, []
        for number, each in enumerate(held):
            self._loop.call_later((number % 8) * TICK, each)
        assert since is not None

    def _arrive(self, letter: Letter, held_since: float = math.inf) -> None:
        now = self._loop.time()
        if self.silent_since is not None:
            since = min(held_since, self.silent_since)
            self._held.append(lambda: self._arrive(letter, since))
            return
        died = now > letter.given_up + IN_FLIGHT_CAP
        if self._delivers and held_since <= letter.given_up:
            died = now > letter.given_up + LOST_FOR_GOOD
        if died:
            return
        if not letter.retry_after:
            self.own.append(now)
        self._loop.call_later(letter.down, self._answer, letter, self._quota(now))

    def _answer(self, letter: Letter, answer: Quota) -> None:
        if self.silent_since is not None:
            self._held.append(lambda: self._answer(letter, answer))
        elif not letter.answer.done():
            letter.answer.set_result(answer)

    def _quota(self, now: float) -> Quota:
        counted = [at for at in self.own + self.others if at + SERVER_HOUR > now]
        reset = math.ceil(min(counted, default=now) + SERVER_HOUR - now)
        return Quota(PER_HOUR, max(0, PER_HOUR - len(counted)), float(reset))

    def most_within(self, span: float) -> int:
        """Return the most own arrivals in any half-open interval of a length."""
        return max((sum(at <= each < at + span for each in self.own) for at in self.own), default=0)


# Soon, or in the very moment at which a second is over.
MOMENTS = st.sampled_from([0.0, 0.0, 0.0, 0.125, 1.0, 1.125])


class LimiterMachine(RuleBasedStateMachine):
    """Let calls come, wait, leave, arrive, get lost, be refused and be given up, in any order."""

    @initialize(first_alone=st.booleans(), delivers=st.booleans(), sole=st.booleans())
    def begin(self, first_alone: bool, delivers: bool, sole: bool) -> None:
        self.loop = looptime.new_event_loop(start=1000.0, noop_cycles=0)
        self.loop.set_exception_handler(lambda loop, context: self.mistakes.append(str(context)))
        self.service = Service(self.loop, delivers=delivers)
        self.delivers, self.sole = delivers, sole
        self.windows = Counted(first_alone=first_alone)
        self.limiter = self.loop.run_until_complete(self.make())
        self.calls: list[asyncio.Task[None]] = []
        self.numbers = itertools.count()
        self.turns: dict[Permit, tuple[Priority, int]] = {}
        self.mistakes: list[str] = []

    async def make(self) -> RateLimiter:
        return RateLimiter(self.windows)

    async def call(self, number: int, queue: Priority, fate: Fate) -> None:
        permit = await self.limiter.acquire(queue)
        self.turns[permit] = queue, number
        try:
            async with asyncio.timeout(fate.patience):
                await asyncio.sleep(fate.connecting)
                if not fate.sent:
                    self.limiter.end(permit, "unsent")
                    return
                permit.stage = "departed"
                quota = await self.service.send(fate)
        except (TimeoutError, asyncio.CancelledError) as error:
            self.limiter.end(permit, "unsent" if permit.stage == "taken" else "lost")
            if isinstance(error, TimeoutError):
                return
            raise
        if fate.retry_after:
            self.windows.rests_until = max(self.windows.rests_until, self.loop.time() + fate.retry_after)
            self.limiter.pause(fate.retry_after)
        self.limiter.end(permit, "answered", quota)

    def run(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def begin_calls(self, queue: Priority, count: int, fate: Fate) -> None:
        for _ in range(count):
            self.calls.append(self.loop.create_task(self.call(next(self.numbers), queue, fate)))

    def cancel_calls(self, first: int, count: int) -> None:
        for call in [call for call in self.calls if not call.done()][first : first + count]:
            call.cancel()

    def count_uncovered(self) -> int:
        return sum(not record.covered for record in self.windows.records.values())

    # What happens

    @rule(queue=st.sampled_from(Priority), count=st.integers(1, 12), fate=FATES, after=MOMENTS)
    def ask(self, queue: Priority, count: int, fate: Fate, after: float) -> None:
        self.loop.call_later(after, self.begin_calls, queue, count, fate)

    @rule(queue=st.sampled_from(Priority), count=st.integers(1, 25), after=MOMENTS)
    def ask_quickly(self, queue: Priority, count: int, after: float) -> None:
        self.loop.call_later(after, self.begin_calls, queue, count, Fate())

    @rule(first=st.integers(0, 30), count=st.integers(1, 12), after=MOMENTS)
    def cancel(self, first: int, count: int, after: float) -> None:
        self.loop.call_later(after, self.cancel_calls, first, count)

    @rule(count=st.integers(1, 30))
    def cancel_at_a_turn(self, count: int) -> None:
        """Cancel calls when the next permit is given, before its owner has learned of it."""
        self.windows.at_a_turn = lambda: self.cancel_calls(0, count)

    @rule(seconds=ticks(1.0, 2.0, 10.0, 130.0, 3590.0, 3596.0, 3602.0))
    def wait(self, seconds: float) -> None:
        self.run(seconds)

    @precondition(lambda self: self.service.silent_since is None)
    @rule()
    def fall_silent(self) -> None:
        self.service.silent_since = self.loop.time()

    @precondition(lambda self: self.service.silent_since is not None)
    @rule()
    def recover(self) -> None:
        self.service.recover()

    @precondition(lambda self: not self.sole)
    @rule(count=st.integers(1, 10))
    def others(self, count: int) -> None:
        self.service.admit_others(count)

    # What always holds

    @invariant()
    def decisions_are_right(self) -> None:
        """Each permit was given, or refused, as the brute-force count says, and none during a pause."""
        self.run(0)
        mistakes = [*self.windows.mistakes, *self.mistakes]
        assert not mistakes, mistakes

    @invariant()
    def no_call_is_overtaken_in_a_lane(self) -> None:
        turns = [self.turns[permit] for permit in self.windows.records if permit in self.turns]
        for queue in Priority:
            numbers = [number for of, number in turns if of is queue]
            assert numbers == sorted(numbers)

    @invariant()
    def no_call_waits_while_a_permit_is_free(self) -> None:
        now, waiting = self.loop.time(), self.limiter.snapshot().waiting
        front = next((queue for queue in Priority if waiting[queue.name.lower()]), None)
        if front is not None and now >= self.windows.rests_until:
            assert not self.windows.has_one(now, background=front is Priority.POLL)

    @invariant()
    def the_service_sees_no_request_too_many(self) -> None:
        # Of any silence: what one has held may be caught by the next and arrive after that.
        allowed = self.count_uncovered() if self.delivers else 0
        assert self.service.most_within(SECOND) <= PER_SECOND + allowed
        assert self.service.most_within(SERVER_HOUR) <= PER_HOUR

    @invariant()
    def no_foreign_usage_is_invented(self) -> None:
        assert self.limiter.snapshot().foreign <= len(self.service.others)

    def teardown(self) -> None:
        """Let everything end and an hour pass: then everything is there again."""
        if not hasattr(self, "loop"):
            return
        try:
            if self.service.silent_since is not None:
                self.recover()
            self.run(2.0)
            self.cancel_calls(0, len(self.calls))
            self.run(0)
            assert all(call.cancelled() or call.exception() is None for call in self.calls)
            assert (self.limiter.snapshot().in_flight, self.limiter.queued) == (0, 0)
            self.run(LOST_FOR_GOOD + HOUR)
            assert self.limiter.snapshot().remaining == PER_HOUR
            assert self.limiter.idle(self.loop.time())
        finally:
            self.loop.close()


TestLimiter = LimiterMachine.TestCase
TestLimiter.settings = settings(max_examples=examples(60), stateful_step_count=50, deadline=None)
