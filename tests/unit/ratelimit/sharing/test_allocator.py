"""The shared limits: one allocation for many processes, against a server that counts by brute force."""

from __future__ import annotations

import heapq
import itertools
import math
import random

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.sharing.allocator import GRACE, LONGEST_WAIT, OUTAGE_PAUSE, STEP, Allocation
from cmsapi.ratelimit.sharing.document import SLOTS, allocate, write
from cmsapi.ratelimit.sharing.exchange import AccountLimits, HeaderReport, PermitGrant, PermitRequest

LIMITS = AccountLimits(per_second=20, per_hour=1000)


class Account:
    """Play the processes of an account, and the clock.

    Args:
        limits: What the account admits.
        known: Whether an answer was seen already.
    """

    def __init__(self, limits: AccountLimits = LIMITS, *, known: bool = True) -> None:
        self.limits = limits
        self.document: str | None = None
        self.now = 1_000_000.0
        self._known = known
        self._numbers = itertools.count(1)

    def exchange(self, holder: str, *, number: int | None = None, **said: object) -> PermitGrant:
        request = PermitRequest(holder=holder, number=number or next(self._numbers), **said)  # type: ignore[arg-type]
        if self.document is None:
            allocation = Allocation(self.limits)
            allocation.windows.known = self._known or allocation.windows.known
            grant = allocation.exchange(request, self.now)
            self.document = write(allocation)
        else:
            self.document, grant = allocate(self.limits, request, self.document, self.now)
        return grant


def foreign(grant: PermitGrant) -> int:
    """Return how many requests of the hour are foreign."""
    return grant.windows.foreign_usage.count


def test_a_second_has_twenty() -> None:
    """Twenty permits are given, then none, until one window after the first answer was seen."""
    account = Account()
    assert account.exchange("a", want=30).granted == 20
    account.now += 0.5
    assert account.exchange("a", held=19, settled=(0.25,), want=5).granted == 0
    account.now += 0.74
    refused = account.exchange("a", held=19, want=5)
    assert (refused.granted, round(refused.wait, 6)) == (0, 0.01)
    account.now += refused.wait
    assert account.exchange("a", held=19, want=5).granted == 1


def test_an_hour_has_a_thousand() -> None:
    """A thousand permits are given within an hour; the wait is until the first of them comes back."""
    account = Account()
    began = account.now
    for _ in range(50):
        assert account.exchange("a", want=20).granted == 20
        account.exchange("a", held=0, settled=(0.0,) * 20)
        account.now += 1.01
    spent = account.exchange("a", want=1)
    assert (spent.granted, spent.windows.remaining) == (0, 0)
    assert spent.windows.first_return(account.now) == spent.wait
    assert account.now + spent.wait == pytest.approx(began + HOUR)
    account.now += spent.wait
    assert account.exchange("a", want=100).granted == 20


def test_the_first_request_goes_alone() -> None:
    """As long as no answer was ever seen, one permit is out; the first answer opens the rest."""
    account = Account(known=False)
    assert account.exchange("a", want=20).granted == 1
    refused = account.exchange("b", want=20)
    assert refused.granted == 0
    assert 0 < refused.wait <= 1
    account.exchange("a", held=0, settled=(0.0,), answered=True)
    assert account.exchange("b", want=30).granted == 19


def test_an_unanswered_first_request() -> None:
    """A first request that got lost opens nothing; another one goes alone."""
    account = Account(known=False)
    assert account.exchange("a", want=20).granted == 1
    account.exchange("a", held=0, settled=(0.0,))
    account.now += 1.5
    assert account.exchange("b", want=20).granted == 1


def test_no_limits() -> None:
    """Without limits everything is given at once."""
    account = Account(AccountLimits(per_second=None, per_hour=None), known=False)
    grant = account.exchange("a", want=5000)
    assert (grant.granted, grant.windows.unsettled, grant.windows.service_limit) == (5000, 5000, math.inf)


def test_the_dead_leak_nothing() -> None:
    """What a killed process held comes back after its ttl, the cap and one window, and not sooner."""
    account = Account()
    assert account.exchange("dead", want=20).granted == 20
    died = account.now
    back = died + account.limits.ttl + account.limits.cap + 1.0
    while not (grant := account.exchange("alive", want=20)).granted:
        account.now += grant.wait
    assert back <= account.now <= back + 1.0
    assert grant.granted == 20
    assert grant.windows.unsettled == 20


def test_a_turn_keeps_its_holder_alive() -> None:
    """A process that says now and then what it holds keeps it."""
    account = Account()
    assert account.exchange("a", want=20).granted == 20
    for _ in range(10):
        account.now += account.limits.ttl
        assert account.exchange("a", held=20).granted == 0
        assert account.exchange("b", want=1).granted == 0


def test_a_lost_reply_leaks_nothing() -> None:
    """What a process was given but never heard of is free again once it says what it has."""
    account = Account()
    assert account.exchange("a", number=1, want=20).granted == 20
    again = account.exchange("a", number=1, want=20)
    assert (again.granted, again.windows.unsettled) == (20, 20)


def test_a_repeated_report_counts_once() -> None:
    """A turn that arrives twice settles once."""
    account = Account()
    account.exchange("a", number=1, want=20)
    account.exchange("a", number=2, held=10, settled=(0.0,) * 10)
    report = account.exchange("a", number=2, held=10, settled=(0.0,) * 10)
    assert (report.windows.log.total, report.windows.unsettled) == (10, 10)


def test_even_shares_while_others_wait() -> None:
    """The first process may take all permits; while others are in line, each takes at most an even share."""
    account = Account()
    assert account.exchange("a", want=20).granted == 20
    for name in "bcd":
        assert account.exchange(name, want=20).granted == 0
    account.exchange("a", held=0, settled=(0.0,) * 20)
    account.now += 1.0
    assert [account.exchange(name, want=20).granted for name in "bcda"] == [6, 6, 6, 2]


def test_no_process_overtakes_another_one_in_line() -> None:
    """A permit that comes back is kept for the process that waited first, not for the one that asks first."""
    account = Account(AccountLimits(per_second=1, per_hour=None))
    assert account.exchange("a", want=1).granted == 1
    assert account.exchange("b", want=1).granted == 0
    account.exchange("a", held=0, settled=(0.0,))
    account.now += 1.0
    passed = account.exchange("a", want=1)
    assert passed.granted == 0
    assert passed.wait > 0
    assert account.exchange("b", want=1).granted == 1


def test_a_lower_lane_goes_first() -> None:
    """What a person waits for passes what a machine waits for, in other processes too."""
    account = Account(AccountLimits(per_second=1, per_hour=None))
    assert account.exchange("a", want=1).granted == 1
    assert account.exchange("machine", want=1, priority=3).granted == 0
    assert account.exchange("person", want=1, priority=0).granted == 0
    account.exchange("a", held=0, settled=(0.0,))
    account.now += 1.0
    assert account.exchange("machine", want=1, priority=3).granted == 0
    assert account.exchange("person", want=1, priority=0).granted == 1


def test_a_place_in_line_is_not_kept_for_ever() -> None:
    """Who was told to come back and does not, because it died or gave up, holds the others up for a moment only."""
    account = Account(AccountLimits(per_second=1, per_hour=None))
    account.exchange("a", want=1)
    account.exchange("a", held=0, settled=(0.0,))
    told = account.exchange("gone", want=1).wait
    account.now += told + GRACE
    assert account.exchange("b", want=1).granted == 1


def test_leaving_the_line() -> None:
    """Who wants nothing any more makes room at once."""
    account = Account(AccountLimits(per_second=1, per_hour=None))
    account.exchange("a", want=1)
    account.exchange("a", held=0, settled=(0.0,))
    account.exchange("b", want=1)
    account.exchange("b")
    account.now += 1.0
    assert account.exchange("c", want=1).granted == 1


def test_all_rest_when_told() -> None:
    """A pause that one process was told of holds for all."""
    account = Account()
    account.exchange("a", pause=7.5)
    assert account.exchange("b", want=1).wait == pytest.approx(7.5)
    account.now += 7.5
    assert account.exchange("b", want=1).granted == 1


def test_use_by_others_is_followed() -> None:
    """What the headers say beyond the processes' own use is taken off the hour, and ages out."""
    account = Account()
    given_ = account.exchange("a", want=1)
    report = HeaderReport(quota=Quota(1000, 399, 1800.0), age=0.0, settled=given_.windows.log.total, left=0)
    grant = account.exchange("b", want=20)
    told = account.exchange("a", held=0, settled=(0.0,), answered=True, report=report)
    assert (foreign(told), told.windows.remaining) == (581, 399)
    account.now += 3600.0
    account.exchange("b", held=grant.granted)
    assert foreign(account.exchange("a")) == 580
    account.now += 10.0
    assert foreign(account.exchange("a")) == 0


def test_a_lower_limit_of_the_service() -> None:
    """A limit in the headers that is below the setting is obeyed."""
    account = Account()
    given_ = account.exchange("a", want=1)
    report = HeaderReport(quota=Quota(500, 499, 3600.0), age=0.0, settled=given_.windows.log.total, left=0)
    told = account.exchange("a", held=0, settled=(0.0,), answered=True, report=report)
    assert (told.windows.per_hour, told.windows.remaining, foreign(told)) == (500, 499, 0)


def test_a_new_book_rests_until_the_old_tokens_are_told() -> None:
    """A process that knows another allocation makes the new one rest, and what it was told is not mixed with that."""
    old, new = Account(), Account()
    held = old.exchange("a", want=9)
    new.now += 1.0
    report = HeaderReport(quota=Quota(1000, 600, 60.0), age=0.0, settled=held.windows.log.total, left=0)
    told = new.exchange("a", held=8, settled=(0.0,), answered=True, report=report, epoch=held.epoch, want=5)
    assert (told.granted, told.windows.unsettled, told.windows.log.total, foreign(told)) == (0, 8, 1, 0)
    assert told.wait == new.limits.ttl
    for _ in range(2):
        new.now += new.limits.ttl / 2
        new.exchange("a", held=8, epoch=told.epoch)
    assert new.exchange("b", want=20, epoch=told.epoch).granted == 12


def test_a_document_that_contradicts_itself_is_given_up() -> None:
    """The allocation that takes its place says so and rests first, as if others held permits of the old one."""
    account = Account()
    account.exchange("a", want=3)
    account.document = str(account.document).replace('"left":0', '"left":-1')
    began = account.exchange("b", want=3)
    assert (began.granted, began.wait, began.reset) == (0, account.limits.ttl, True)
    account.now += account.limits.ttl
    later = account.exchange("b", want=3)
    assert (later.granted, later.reset) == (1, False)


def test_a_document_stays_small() -> None:
    """A thousand requests that were spread over the hour fit into a few kilobytes, and come back no sooner than due."""
    account = Account()
    began = account.now
    for _ in range(1000):
        assert account.exchange("a", want=1).granted == 1
        account.exchange("a", held=0, settled=(0.0,))
        account.now += 3.5
    assert len(str(account.document)) <= 8 * 1024
    back: list[float] = []
    settled: tuple[float, ...] = ()
    while len(back) < 100:
        grant = account.exchange("b", settled=settled, want=1)
        back, settled = back + [account.now] * grant.granted, (0.0,) * grant.granted
        account.now += grant.wait
    slot = HOUR / SLOTS
    assert all(began + HOUR + 3.5 * each <= at <= began + HOUR + 3.5 * each + slot for each, at in enumerate(back))


@pytest.mark.parametrize("busy", [True, False], ids=["in line", "idle"])
def test_all_rest_when_the_busy_were_absent(busy: bool) -> None:
    """When none of those in line came back in time, they could not; what they did meanwhile is waited for."""
    account = Account()
    account.exchange("a", want=20)
    account.exchange("a", held=0, settled=(0.0,) * 20, want=5 if busy else 0)
    account.now += LONGEST_WAIT + GRACE + 0.01
    grant = account.exchange("b", want=1)
    assert (grant.granted, grant.wait) == ((0, OUTAGE_PAUSE) if busy else (1, 0.0))


def test_a_clock_that_was_set_back() -> None:
    """A clock set back by a day delays no process by a day, and forgets nothing of the hour."""
    account = Account()
    assert account.exchange("a", want=20).granted == 20
    account.exchange("a", held=0, settled=(0.0,) * 20)
    account.now -= 86_400.0
    refused = account.exchange("a", want=1)
    assert (refused.granted, refused.windows.remaining) == (0, 980)
    assert refused.wait <= 1.0
    account.now += 1.0
    assert account.exchange("a", want=1).granted == 1


def test_a_clock_that_was_read_too_early() -> None:
    """A process that waited for the store, and so brings an old time, gets nothing too soon."""
    account = Account()
    assert account.exchange("a", want=20).granted == 20
    account.exchange("a", held=0, settled=(0.0,) * 20)
    account.now -= STEP / 2
    assert account.exchange("b", want=1).granted == 0
    account.now += STEP / 2 + 1.0
    assert account.exchange("b", want=20).granted == 20


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
    limits = AccountLimits(per_second=per_second, per_hour=per_hour, hour=40.0)
    account = Account(limits, known=False)
    began = account.now
    arrivals: list[float] = []
    played = itertools.count()
    events: list[tuple[float, int, int, str]] = []
    held = [0] * len(manners)
    unsaid: list[list[float]] = [[] for _ in manners]

    def plan(at: float, who: int, what: str) -> None:
        heapq.heappush(events, (at, next(played), who, what))

    for who in range(len(manners)):
        plan(began, who, "exchange")
    while events:
        at, _, who, what = heapq.heappop(events)
        if at > began + 60.0:
            break
        if at > began + manners[who].dies:
            continue
        account.now = at
        if what == "answer":
            held[who] -= 1
            unsaid[who].append(at)
            continue
        settled, unsaid[who] = tuple(at - each for each in unsaid[who]), []
        grant = account.exchange(
            str(who), held=held[who], settled=settled, answered=bool(settled), want=manners[who].batch
        )
        for _ in range(grant.granted):
            held[who] += 1
            up, down = rng.uniform(0.0, 0.3), rng.uniform(0.0, 0.3)
            arrivals.append(at + up)
            plan(at + up + down, who, "answer")
        plan(at + min(max(grant.wait, rng.uniform(0.01, 0.05)), manners[who].patience + 0.05), who, "exchange")
    arrivals.sort()
    for span, limit in ((1.0, per_second), (40.0, per_hour)):
        assert all(later - first >= span for first, later in zip(arrivals, arrivals[limit:], strict=False))
    if all(manner.dies == math.inf for manner in manners):
        assert len([at for at in arrivals if at < began + 40.0]) >= min(per_hour, per_second * 20)


def test_waits_are_short_enough_to_notice_the_dead() -> None:
    """A place in line lasts no longer than the longest rest, even when the hour is spent for long."""
    account = Account(AccountLimits(per_second=None, per_hour=1))
    account.exchange("a", want=1)
    account.exchange("a", held=0, settled=(0.0,))
    assert account.exchange("gone", want=1).wait == pytest.approx(HOUR)
    account.now += HOUR
    assert account.exchange("b", want=1).granted == 1
    assert LONGEST_WAIT + GRACE < HOUR
