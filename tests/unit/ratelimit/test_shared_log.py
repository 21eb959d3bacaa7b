"""The log that processes share, against a server that counts by brute force, and inside each state."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import random

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.shared_log import (
    CLOCK_JUMP,
    MOST_ROWS,
    OUTAGE_PAUSE,
    WAITS,
    AccountLimits,
    Take,
    Taken,
    take,
)
from cmsapi.state.store import State
from tests.support.places import Place
from tests.support.taking import taken

LIMITS = AccountLimits(per_second=20, per_hour=1000)


@attrs.define
class Process:
    """Play a process that knows its own requests.

    Args:
        open: Those without an answer.
        landed: When the others landed.
        log: When the log of its last take began.
    """

    open: int = 0
    landed: list[float] = attrs.field(factory=list)
    log: int = 0


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
        self.processes: dict[str, Process] = {}
        if known:
            self.take("somebody else", answered=True)

    def take(self, name: str, want: int = 0, **said: object) -> Taken:
        """Let a process tell what it did, and take permits."""
        process = self.processes.setdefault(name, Process())
        asked = Take(
            process=name,
            open=process.open,
            landed=tuple(self.now - at for at in process.landed),
            want=want,
            log=process.log,
            **said,  # type: ignore[arg-type]
        )
        self.document, given = take(self.limits, asked, self.document, self.now)
        process.open += given.granted
        process.log = given.log.began
        return given

    def answer(self, name: str, count: int = 1) -> None:
        """Answer some requests of a process, which it does not tell yet."""
        process = self.processes[name]
        process.open -= count
        process.landed += [self.now] * count

    def spend(self, name: str, count: int) -> None:
        """Let a process make some requests."""
        assert self.take(name, count).granted == count
        self.answer(name, count)
        self.take(name)


def test_an_unanswered_first_request() -> None:
    """A first request that got lost opens nothing; another one goes alone."""
    account = Account(known=False)
    assert account.take("a", 20).granted == 1
    account.answer("a")
    account.take("a")
    account.now += 1.5
    assert account.take("b", 20).granted == 1


def test_a_process_that_tells_its_rows_keeps_them() -> None:
    """A process that says now and then what it has out keeps it, however long that takes."""
    account = Account()
    assert account.take("a", 20).granted == 20
    for _ in range(10):
        account.now += account.limits.process_timeout / 2
        assert account.take("a").granted == 0
        assert account.take("b", 1).granted == 0


def test_even_shares_while_others_wait() -> None:
    """The first process may take all permits; while others wait, each takes at most an even share."""
    account = Account()
    assert account.take("a", 20).granted == 20
    assert [account.take(name, 20).granted for name in ("b", "c")] == [0, 0]
    account.answer("a", 20)
    account.now += 1.0
    assert [account.take(name, 20).granted for name in ("a", "b", "c", "a")] == [7, 7, 6, 0]


def test_the_poorer_goes_first_when_the_hour_is_short() -> None:
    """A permit that comes back is left to the waiting process that had fewer in the last minute."""
    account = Account(AccountLimits(per_second=20, per_hour=4))
    account.spend("rich", 3)
    account.now += 30.0
    account.spend("poor", 1)
    assert [account.take(name, 1).granted for name in ("rich", "poor")] == [0, 0]
    # One of them comes back.
    account.processes["rich"].landed.pop()
    account.now += 1.0
    assert [account.take(name, 1).granted for name in ("rich", "poor", "rich")] == [0, 1, 0]


def test_polls_make_way_for_other_calls() -> None:
    """A process whose calls wait takes what a process leaves that only polls, and not the other way round."""
    account = Account()
    assert account.take("a", 20).granted == 20
    account.take("polls", 20, background=True)
    account.take("calls", 20)
    account.answer("a", 20)
    account.take("a")
    account.now += 1.0
    assert account.take("polls", 20, background=True).granted == 9
    assert account.take("calls", 20).granted == 11


def test_a_process_that_does_not_come_back_holds_no_other_up() -> None:
    """Who waits and does not come back, because it died or gave up, counts for some seconds only."""
    account = Account()
    assert account.take("a", 20).granted == 20
    account.take("gone", 20)
    account.answer("a", 20)
    account.now += WAITS
    account.take("a")
    account.now += OUTAGE_PAUSE
    assert account.take("a", 20).granted == 20


def test_requests_of_other_processes_are_not_foreign() -> None:
    """An answer counts the requests of all processes, also those that landed while it was on its way."""
    account = Account()
    assert account.take("slow", 1).granted == 1
    taken_at = account.now
    for _ in range(5):
        account.now += 1.1
        account.spend("quick", 10)
    account.answer("slow")
    given = account.take("slow", quota=Quota(1000, 949, 3600.0), taken_at=taken_at)
    assert given.log.windows.foreign_usage.count == 0


def test_a_lost_log_begins_anew() -> None:
    """The first process that knew the old one makes all pause, until each has told its rows again."""
    account = Account()
    account.spend("a", 5)
    account.spend("b", 7)
    account.now += 10.0
    account.document = None
    account.take("new", answered=True)
    refused = account.take("a", 1)
    assert (refused.granted, refused.log.windows.used, refused.loss) == (0, 5, "lost")
    assert refused.wait == pytest.approx(account.limits.process_timeout, abs=0.01)
    for _ in range(2):
        account.now += refused.wait / 2 + 0.01
        account.take("a")
        assert account.take("b").log.windows.used == 12
    assert account.take("new", 1).granted == 1


def test_a_document_that_something_else_changed_is_given_up() -> None:
    """The log that takes its place says so, and all pause first, as if others held permits."""
    account = Account()
    account.spend("a", 5)
    account.document = (account.document or "").replace('"a":', '"c":')
    refused = account.take("b", 1)
    assert (refused.granted, refused.loss, refused.wait) == (0, "spoilt", account.limits.process_timeout)
    assert account.take("a").log.windows.used == 5


def test_a_document_stays_small() -> None:
    """A thousand requests take twenty kilobytes; many more are counted in slots, and come back no sooner than due."""
    account = Account(AccountLimits(per_second=None, per_hour=10_000))
    began = account.now
    for _ in range(1000):
        account.spend("a", 1)
        account.now += 0.5
    assert len(account.document or "") <= 20 * 1024
    for _ in range(4000):
        account.processes["a"].landed.append(account.now)
        account.now += 0.5
    assert account.take("a").log.windows.used == 5000
    assert len(account.document or "") <= 20 * 1024
    slot = HOUR / MOST_ROWS
    account.now = began + HOUR + 100 * 0.5
    left = account.take("b").log.windows.used
    assert 5000 - 101 <= left <= 5000 - 101 + 2 * slot / 0.5


@pytest.mark.parametrize("busy", [True, False], ids=["waiting", "idle"])
def test_all_rest_when_the_busy_were_absent(busy: bool) -> None:
    """When none of those that wait came back in time, they could not; what they did meanwhile is waited for."""
    account = Account()
    account.spend("a", 20)
    account.take("a", 5 if busy else 0)
    account.now += WAITS + 0.01
    given = account.take("b", 1)
    assert (given.granted, given.wait) == ((0, OUTAGE_PAUSE) if busy else (1, 0.0))


def test_a_clock_that_was_set_back() -> None:
    """A clock set back by a day delays no process by a day, and forgets nothing of the hour."""
    account = Account()
    account.spend("a", 20)
    account.now -= 86_400.0
    account.processes["a"].landed = [account.now] * 20
    refused = account.take("b", 1)
    assert (refused.granted, refused.log.windows.available()) == (0, 980)
    assert refused.wait <= 1.0
    account.now += 1.0
    assert account.take("b", 1).granted == 1


def test_a_clock_that_was_read_too_early() -> None:
    """A process that waited for the store, and so brings an old time, gets nothing too soon."""
    account = Account()
    account.spend("a", 20)
    account.now -= CLOCK_JUMP / 2
    assert account.take("b", 1).granted == 0
    account.now += CLOCK_JUMP / 2 + 1.0
    assert account.take("b", 20).granted == 20


@attrs.frozen
class Manner:
    """Say how one process behaves.

    Args:
        patience: Seconds between an answer and its telling, at the most.
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
    rng=st.builds(random.Random, st.integers(0, 2**32)),
    per_second=st.integers(1, 20),
    per_hour=st.integers(20, 120),
)
def test_the_service_never_sees_one_too_many(
    manners: list[Manner], rng: random.Random, per_second: int, per_hour: int
) -> None:
    """Whatever the delays, deaths and late tellings: never too many arrivals in a window, and the hour is used."""
    account = Account(AccountLimits(per_second=per_second, per_hour=per_hour, hour=40.0), known=False)
    began = account.now
    arrivals: list[float] = []
    played = itertools.count()
    events: list[tuple[float, int, int, str]] = []

    def plan(at: float, who: int, what: str) -> None:
        heapq.heappush(events, (at, next(played), who, what))

    for who in range(len(manners)):
        plan(began, who, "take")
    while events:
        at, _, who, what = heapq.heappop(events)
        if at > began + 60.0:
            break
        if at > began + manners[who].dies:
            continue
        account.now = at
        if what == "answer":
            account.answer(str(who))
            continue
        process = account.processes.setdefault(str(who), Process())
        given = account.take(str(who), manners[who].batch, answered=bool(process.landed))
        for _ in range(given.granted):
            up, down = rng.uniform(0.0, 0.3), rng.uniform(0.0, 0.3)
            arrivals.append(at + up)
            plan(at + up + down, who, "answer")
        plan(at + min(max(given.wait, rng.uniform(0.01, 0.05)), manners[who].patience + 0.05), who, "take")
    arrivals.sort()
    for span, limit in ((1.0, per_second), (40.0, per_hour)):
        assert all(later - first >= span for first, later in zip(arrivals, arrivals[limit:], strict=False))
    if all(manner.dies == math.inf for manner in manners):
        assert len([at for at in arrivals if at < began + 40.0]) >= min(per_hour, per_second * 20)


# Inside each state

ACCOUNT = "0123456789abcdef"
SMALL = AccountLimits(per_second=4, per_hour=10, second=0.3, hour=2.0, process_timeout=0.4)


@pytest.mark.enable_socket
async def test_two_processes_share_one_second(place: Place, state: State, other: State) -> None:
    """What one process took, the other cannot take before it comes back."""
    assert (await taken(state, ACCOUNT, SMALL, Take(process="a", want=1))).granted == 1
    again = await taken(state, ACCOUNT, SMALL, Take(process="a", landed=(0.0,), answered=True, want=9))
    assert again.granted == 3
    refused = await taken(other, ACCOUNT, SMALL, Take(process="b", want=1))
    assert (refused.granted, refused.log.windows.outstanding, refused.log.windows.used) == (0, 3, 4)
    await place.pass_time(refused.wait + 0.01)
    assert (await taken(other, ACCOUNT, SMALL, Take(process="b", want=1))).granted == 1


@pytest.mark.enable_socket
async def test_only_one_goes_first(state: State, other: State) -> None:
    """Of many takes at once in an unknown account, one gets a permit."""
    given = await asyncio.gather(
        *(
            taken(each, ACCOUNT, SMALL, Take(process=f"{number}", want=5))
            for number, each in enumerate((state, other) * 8)
        )
    )
    assert sum(each.granted for each in given) == 1
