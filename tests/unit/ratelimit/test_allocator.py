"""The shared limits: one book for many processes, against a server that counts by brute force."""

from __future__ import annotations

import heapq
import itertools
import math
import random

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.ratelimit.allocator import GRACE, LONGEST_REST, REST, STEP, PermitAllocator
from cmsapi.ratelimit.exchange import AccountLimits, HeaderReport, PermitGrant, PermitRequest
from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.ring import ContradictionError, MemoryRing

TERMS = AccountLimits(per_second=20, per_hour=1000)


class Desk:
    """Play the processes of an account, and the clock.

    Args:
        terms: What the account admits.
        known: Whether an answer was seen already.
    """

    def __init__(self, terms: AccountLimits = TERMS, *, known: bool = True) -> None:
        self.terms = terms
        self.book = PermitAllocator(known=known)
        self.ring = MemoryRing()
        self.now = 1_000_000.0
        self._numbers = itertools.count(1)

    def turn(self, holder: str, *, number: int | None = None, **said: object) -> PermitGrant:
        ask = PermitRequest(holder=holder, number=number or next(self._numbers), **said)  # type: ignore[arg-type]
        return self.book.turn(self.ring, self.terms, ask, self.now)


def test_a_second_has_twenty() -> None:
    """Twenty permits are given, then none, until one window after the first answer was seen."""
    desk = Desk()
    assert desk.turn("a", want=30).granted == 20
    desk.now += 0.5
    assert desk.turn("a", held=19, settled=(0.25,), want=5).granted == 0
    desk.now += 0.74
    refused = desk.turn("a", held=19, want=5)
    assert (refused.granted, round(refused.wait, 6)) == (0, 0.01)
    desk.now += refused.wait
    assert desk.turn("a", held=19, want=5).granted == 1


def test_an_hour_has_a_thousand() -> None:
    """A thousand permits are given within an hour; the wait is until the first of them comes back."""
    desk = Desk()
    began = desk.now
    for _ in range(50):
        assert desk.turn("a", want=20).granted == 20
        desk.turn("a", held=0, settled=(0.0,) * 20)
        desk.now += 1.01
    spent = desk.turn("a", want=1)
    assert (spent.granted, spent.used, spent.returns[0]) == (0, 1000, spent.wait)
    assert spent.returns[-1] == pytest.approx(HOUR - 1.01)
    assert list(spent.returns) == sorted(spent.returns)
    assert desk.now + spent.wait == pytest.approx(began + HOUR)
    desk.now += spent.wait
    assert desk.turn("a", want=100).granted == 20


def test_the_first_request_goes_alone() -> None:
    """As long as no answer was ever seen, one permit is out; the first answer opens the rest."""
    desk = Desk(known=False)
    assert desk.turn("a", want=20).granted == 1
    refused = desk.turn("b", want=20)
    assert refused.granted == 0
    assert 0 < refused.wait <= 1
    desk.turn("a", held=0, settled=(0.0,), heard=True)
    assert desk.turn("b", want=30).granted == 19


def test_an_unanswered_first_request() -> None:
    """A first request that got lost opens nothing; another one goes alone."""
    desk = Desk(known=False)
    assert desk.turn("a", want=20).granted == 1
    desk.turn("a", held=0, settled=(0.0,))
    desk.now += 1.5
    assert desk.turn("b", want=20).granted == 1


def test_no_limits() -> None:
    """Without limits everything is given at once."""
    desk = Desk(AccountLimits(per_second=None, per_hour=None), known=False)
    grant = desk.turn("a", want=5000)
    assert (grant.granted, grant.used, grant.limit) == (5000, 5000, None)


def test_the_dead_leak_nothing() -> None:
    """What a killed process held comes back after its life, the cap and one window, and not sooner."""
    desk = Desk()
    assert desk.turn("dead", want=20).granted == 20
    died = desk.now
    back = died + desk.terms.life + desk.terms.cap + 1.0
    while not (grant := desk.turn("alive", want=20)).granted:
        desk.now += grant.wait
    assert back <= desk.now <= back + 1.0
    assert grant.granted == 20
    assert grant.out == 20


def test_a_turn_keeps_its_holder_alive() -> None:
    """A process that says now and then what it holds keeps it."""
    desk = Desk()
    assert desk.turn("a", want=20).granted == 20
    for _ in range(10):
        desk.now += desk.terms.life
        assert desk.turn("a", held=20).granted == 0
        assert desk.turn("b", want=1).granted == 0


def test_a_lost_reply_leaks_nothing() -> None:
    """What a process was given but never heard of is free again once it says what it has."""
    desk = Desk()
    assert desk.turn("a", number=1, want=20).granted == 20
    again = desk.turn("a", number=1, want=20)
    assert (again.granted, again.out) == (20, 20)


def test_a_repeated_report_counts_once() -> None:
    """A turn that arrives twice settles once."""
    desk = Desk()
    desk.turn("a", number=1, want=20)
    desk.turn("a", number=2, held=10, settled=(0.0,) * 10)
    report = desk.turn("a", number=2, held=10, settled=(0.0,) * 10)
    assert (report.settled, report.out, report.used) == (10, 10, 20)


def test_even_shares_while_others_wait() -> None:
    """The first comer may take all; as soon as others are in line, nobody takes more than an even share with them."""
    desk = Desk()
    assert desk.turn("a", want=20).granted == 20
    for name in "bcd":
        assert desk.turn(name, want=20).granted == 0
    desk.turn("a", held=0, settled=(0.0,) * 20)
    desk.now += 1.0
    assert [desk.turn(name, want=20).granted for name in "bcda"] == [6, 6, 6, 2]


def test_nobody_passes_who_is_in_line() -> None:
    """A permit that comes back is kept for whoever waited first, not for whoever asks first."""
    desk = Desk(AccountLimits(per_second=1, per_hour=None))
    assert desk.turn("a", want=1).granted == 1
    assert desk.turn("b", want=1).granted == 0
    desk.turn("a", held=0, settled=(0.0,))
    desk.now += 1.0
    passed = desk.turn("a", want=1)
    assert passed.granted == 0
    assert passed.wait > 0
    assert desk.turn("b", want=1).granted == 1


def test_a_lower_lane_goes_first() -> None:
    """What a person waits for passes what a machine waits for, in other processes too."""
    desk = Desk(AccountLimits(per_second=1, per_hour=None))
    assert desk.turn("a", want=1).granted == 1
    assert desk.turn("machine", want=1, priority=3).granted == 0
    assert desk.turn("person", want=1, priority=0).granted == 0
    desk.turn("a", held=0, settled=(0.0,))
    desk.now += 1.0
    assert desk.turn("machine", want=1, priority=3).granted == 0
    assert desk.turn("person", want=1, priority=0).granted == 1


def test_a_place_in_line_is_not_kept_for_ever() -> None:
    """Who was told to come back and does not, because it died or gave up, holds the others up for a moment only."""
    desk = Desk(AccountLimits(per_second=1, per_hour=None))
    desk.turn("a", want=1)
    desk.turn("a", held=0, settled=(0.0,))
    told = desk.turn("gone", want=1).wait
    desk.now += told + GRACE
    assert desk.turn("b", want=1).granted == 1


def test_leaving_the_line() -> None:
    """Who wants nothing any more makes room at once."""
    desk = Desk(AccountLimits(per_second=1, per_hour=None))
    desk.turn("a", want=1)
    desk.turn("a", held=0, settled=(0.0,))
    desk.turn("b", want=1)
    desk.turn("b")
    desk.now += 1.0
    assert desk.turn("c", want=1).granted == 1


def test_all_rest_when_told() -> None:
    """A pause that one process was told of holds for all."""
    desk = Desk()
    desk.turn("a", rest=7.5)
    assert desk.turn("b", want=1).wait == pytest.approx(7.5)
    desk.now += 7.5
    assert desk.turn("b", want=1).granted == 1


def test_use_by_others_is_followed() -> None:
    """What the headers say beyond the processes' own use is taken off the hour, and ages out."""
    desk = Desk()
    given_ = desk.turn("a", want=1)
    seen = HeaderReport(quota=Quota(1000, 399, 1800.0), age=0.0, settled=given_.settled, left=given_.left)
    grant = desk.turn("b", want=20)
    told = desk.turn("a", held=0, settled=(0.0,), heard=True, seen=seen)
    assert (told.foreign, told.used) == (581, 601)
    desk.now += 3600.0
    desk.turn("b", held=grant.granted)
    assert desk.turn("a").foreign == 580
    desk.now += 10.0
    assert desk.turn("a").foreign == 0


def test_a_lower_limit_of_the_service() -> None:
    """A limit in the headers that is below the setting is obeyed."""
    desk = Desk()
    given_ = desk.turn("a", want=1)
    seen = HeaderReport(quota=Quota(500, 499, 3600.0), age=0.0, settled=given_.settled, left=given_.left)
    told = desk.turn("a", held=0, settled=(0.0,), heard=True, seen=seen)
    assert (told.limit, told.used, told.foreign) == (500, 1, 0)


def test_a_new_book_rests_until_the_old_tokens_are_told() -> None:
    """Who knows another book makes the new one rest for a life, and what it was told is not mixed with the old one."""
    old, new = Desk(), Desk()
    held = old.turn("a", want=9)
    new.now += 1.0
    seen = HeaderReport(quota=Quota(1000, 600, 60.0), age=0.0, settled=held.settled, left=held.left)
    told = new.turn("a", held=8, settled=(0.0,), heard=True, seen=seen, epoch=held.epoch, want=5)
    assert (told.granted, told.out, told.settled, told.foreign, told.wait) == (0, 8, 1, 0, new.terms.life)
    for _ in range(2):
        new.now += new.terms.life / 2
        new.turn("a", held=8, epoch=told.epoch)
    assert new.turn("b", want=20, epoch=told.epoch).granted == 12


def test_what_contradicts_itself_is_not_gone_on_with() -> None:
    """A book whose figures cannot be says so; the one that takes its place rests first."""
    desk = Desk()
    desk.turn("a", want=3)
    desk.book.left = 1
    with pytest.raises(ContradictionError):
        desk.turn("a", held=3)
    fresh, ring = PermitAllocator(known=True), MemoryRing()
    ask = PermitRequest(holder="b", number=1, want=3)
    began = fresh.turn(ring, desk.terms, ask, desk.now, reset=True)
    assert (began.granted, began.wait, began.reset) == (0, desk.terms.life, True)
    later = fresh.turn(ring, desk.terms, ask, desk.now + desk.terms.life)
    assert (later.granted, later.reset) == (3, False)


@pytest.mark.parametrize("busy", [True, False], ids=["in line", "idle"])
def test_all_rest_when_the_busy_were_absent(busy: bool) -> None:
    """When none of those in line came back in time, they could not; what they did meanwhile is waited for."""
    desk = Desk()
    desk.turn("a", want=20)
    desk.turn("a", held=0, settled=(0.0,) * 20, want=5 if busy else 0)
    desk.now += LONGEST_REST + GRACE + 0.01
    grant = desk.turn("b", want=1)
    assert (grant.granted, grant.wait) == ((0, REST) if busy else (1, 0.0))


def test_a_clock_that_was_set_back() -> None:
    """A clock set back by a day holds nobody up for a day, and forgets nothing of the hour."""
    desk = Desk()
    assert desk.turn("a", want=20).granted == 20
    desk.turn("a", held=0, settled=(0.0,) * 20)
    desk.now -= 86_400.0
    refused = desk.turn("a", want=1)
    assert (refused.granted, refused.used) == (0, 20)
    assert refused.wait <= 1.0
    desk.now += 1.0
    assert desk.turn("a", want=1).granted == 1


def test_a_clock_that_was_read_too_early() -> None:
    """A process that waited for the store, and so brings an old time, gets nothing too soon."""
    desk = Desk()
    assert desk.turn("a", want=20).granted == 20
    desk.turn("a", held=0, settled=(0.0,) * 20)
    desk.now -= STEP / 2
    assert desk.turn("b", want=1).granted == 0
    desk.now += STEP / 2 + 1.0
    assert desk.turn("b", want=20).granted == 20


@attrs.frozen
class Manner:
    """Say how one process behaves.

    Args:
        patience: Seconds between an answer and its report, at the most.
        batch: Permits it wants at a time.
        dies: When it is killed, or infinity.
    """

    patience: float
    batch: int
    dies: float


MANNERS = st.builds(
    Manner,
    patience=st.floats(0.0, 0.5),
    batch=st.integers(1, 25),
    dies=st.one_of(st.just(math.inf), st.floats(0.5, 8.0)),
)


@settings(max_examples=20, deadline=None)
@given(
    manners=st.lists(MANNERS, min_size=1, max_size=5),
    rng=st.randoms(use_true_random=False),
    per_second=st.integers(1, 20),
    per_hour=st.integers(20, 120),
)
def test_the_service_never_sees_one_too_many(
    manners: list[Manner], rng: random.Random, per_second: int, per_hour: int
) -> None:
    """Whatever the delays, deaths and late reports: never too many arrivals in a window, and the hour is used."""
    terms = AccountLimits(per_second=per_second, per_hour=per_hour, hour=40.0)
    desk = Desk(terms, known=False)
    began = desk.now
    arrivals: list[float] = []
    played = itertools.count()
    events: list[tuple[float, int, int, str]] = []
    held = [0] * len(manners)
    unsaid: list[list[float]] = [[] for _ in manners]

    def plan(at: float, who: int, what: str) -> None:
        heapq.heappush(events, (at, next(played), who, what))

    for who in range(len(manners)):
        plan(began, who, "turn")
    while events:
        at, _, who, what = heapq.heappop(events)
        if at > began + 60.0:
            break
        if at > began + manners[who].dies:
            continue
        desk.now = at
        if what == "answer":
            held[who] -= 1
            unsaid[who].append(at)
            continue
        settled, unsaid[who] = tuple(at - each for each in unsaid[who]), []
        grant = desk.turn(str(who), held=held[who], settled=settled, heard=bool(settled), want=manners[who].batch)
        for _ in range(grant.granted):
            held[who] += 1
            up, down = rng.uniform(0.0, 0.3), rng.uniform(0.0, 0.3)
            arrivals.append(at + up)
            plan(at + up + down, who, "answer")
        plan(at + min(max(grant.wait, rng.uniform(0.01, 0.05)), manners[who].patience + 0.05), who, "turn")
    arrivals.sort()
    for span, limit in ((1.0, per_second), (40.0, per_hour)):
        assert all(later - first >= span for first, later in zip(arrivals, arrivals[limit:], strict=False))
    if all(manner.dies == math.inf for manner in manners):
        assert len([at for at in arrivals if at < began + 40.0]) >= min(per_hour, per_second * 20)


def test_waits_are_short_enough_to_notice_the_dead() -> None:
    """A place in line lasts no longer than the longest rest, even when the hour is spent for long."""
    desk = Desk(AccountLimits(per_second=None, per_hour=1))
    desk.turn("a", want=1)
    desk.turn("a", held=0, settled=(0.0,))
    assert desk.turn("gone", want=1).wait == pytest.approx(HOUR)
    desk.now += HOUR
    assert desk.turn("b", want=1).granted == 1
    assert LONGEST_REST + GRACE < HOUR
