"""The two windows, rule by rule; `test_model` has them, and the limiter, in random histories."""

from __future__ import annotations

import gc
import math
import tracemalloc

import pytest

from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, LOST_FOR_GOOD


def taken(windows: SlidingWindows, now: float) -> Permit:
    """Take a permit that is free."""
    permit = Permit()
    assert windows.take(permit, now)
    return permit


def spent(windows: SlidingWindows, count: int, now: float = 0.0, quota: Quota | None = None) -> None:
    """Take and land permits at one moment."""
    for _ in range(count):
        windows.answered(taken(windows, now), now, quota)


def test_memory() -> None:
    """The windows of an account are small: 12 KB with everything they hold."""

    def taken_by_full_ones() -> int:
        gc.collect()
        tracemalloc.start()
        windows = SlidingWindows(20, 1000)
        for moment in range(2000):
            spent(windows, 1, 4.0 * moment)
        held = [taken(windows, 9000.0) for _ in range(20)]
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert windows.outstanding == len(held)
        return size

    # The least of some, because other threads take memory too.
    assert min(taken_by_full_ones() for _ in range(5)) <= 12 * 1024


def test_reset_frees_the_oldest_only() -> None:
    """`Reset` is when one request leaves, not when all are back, and no epoch."""
    windows = SlidingWindows(None, 1000)
    first = taken(windows, 0.0)
    windows.answered(first, 0.1, Quota(1000, 0, 10))
    assert (windows.foreign_usage.count, windows.available()) == (999, 0)
    assert windows.next_time(0.1) == pytest.approx(11.1)
    assert windows.expected_wait(0, 0.1) == pytest.approx(11.0)
    assert windows.expected_wait(1, 0.1) == pytest.approx(HOUR, abs=0.2)
    assert windows.next_time(11.2) == 11.2
    taken(windows, 11.2)
    assert windows.next_time(11.3) > 3000


def test_a_count_of_others_is_checked() -> None:
    """One request tries an hour that others fill; if it passes, their count is not believed until a 429."""
    windows, quota = SlidingWindows(20, 1000), Quota(1000, 0, 1800)
    windows.answered(taken(windows, 0.0), 0.1, quota)
    assert windows.next_time(0.1) == pytest.approx(60.1)
    check = taken(windows, 60.2)
    assert not windows.take(Permit(), 60.3)
    assert windows.believed(quota) == quota
    assert windows.accepted(check)
    windows.answered(check, 60.4, windows.believed(quota))
    assert (windows.foreign_usage.count, windows.available()) == (0, 998)
    windows.refused(taken(windows, 61.0), 61.1)
    assert windows.believed(quota) == quota


def test_a_request_that_takes_the_place_of_another_is_no_check() -> None:
    """A request that passes once the oldest one has left says nothing of the others."""
    windows = SlidingWindows(20, 1000)
    windows.answered(taken(windows, 0.0), 0.1, Quota(1000, 0, 30))
    assert not windows.accepted(taken(windows, 31.2))


def test_the_header_limits_the_hour_and_the_setting_too() -> None:
    """The lower of header and setting holds; a header that rises again gives back no more than the setting."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    spent(windows, 1, 0.0, Quota(100, 99, 3600))
    assert (windows.per_hour, windows.available()) == (100, 99)
    spent(windows, 1, 1.0, Quota(5000, 4998, 3600))
    assert (windows.per_hour, windows.available()) == (1000, 998)


def test_others_age_out() -> None:
    """What others used is forgotten an hour after it was last seen, at the latest."""
    windows = SlidingWindows(20, 10, first_alone=False)
    spent(windows, 1, 0.0, Quota(10, 2, 1800))
    assert windows.foreign_usage.count == 7
    windows.next_time(1801.1)
    assert windows.foreign_usage.count == 6
    windows.next_time(HOUR)
    assert (windows.foreign_usage.count, windows.available(), windows.idle(HOUR)) == (0, 10, True)


def test_headers_correct_the_estimate_downwards() -> None:
    """When others' requests have left, the next answer says so."""
    windows = SlidingWindows(20, 100, first_alone=False)
    spent(windows, 1, 0.0, Quota(100, 50, 10))
    assert windows.foreign_usage.count == 49
    spent(windows, 1, 100.0, Quota(100, 98, 3500))
    assert windows.foreign_usage.count == 0


def test_a_slow_answer_invents_no_foreign_usage() -> None:
    """An answer tells what was counted when its request arrived; what has left since was ours all the same."""
    windows = SlidingWindows(20, 12, first_alone=False)
    spent(windows, 11, 0.1)
    slow = taken(windows, 3599.0)
    slow.stage = "departed"
    windows.next_time(3605.0)
    windows.answered(slow, 3605.0, Quota(12, 0, 1))
    assert (windows.foreign_usage.count, windows.available()) == (0, 11)


def test_tightening_keeps_what_was_used() -> None:
    """Stricter limits hold at once, looser ones change nothing, and earlier requests count."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    spent(windows, 3)
    windows.tighten(5, 4)
    windows.tighten(50, None)
    windows.tighten(None, 400)
    assert (windows.per_second, windows.per_hour, windows.available()) == (5, 4, 1)
    spent(windows, 1, 1.0)
    assert windows.next_time(1.0) == HOUR


@pytest.mark.parametrize(("per_second", "per_hour"), [(None, None), (7, None), (None, 7)])
def test_unlimited_windows_can_be_tightened(per_second: int | None, per_hour: int | None) -> None:
    """Windows that needed no memory get one, and the limits hold with all they remember, and are given back in full."""
    windows = SlidingWindows(per_second, per_hour, first_alone=False)
    spent(windows, 5, 0.0)
    windows.tighten(3, 20)
    assert windows.next_time(0.5) == 1.0
    now = 1.0
    sent = [0.0] * 5
    for _ in range(60):
        while (when := windows.next_time(now)) > now:
            now = when
        spent(windows, 1, now)
        sent.append(now)
    limit = min(20, per_hour or 20)
    for place, at in enumerate(sent[5:], 5):
        assert at - sent[place - 3] >= 1.0
        if place >= max(limit, 6):
            assert at - sent[place - limit] >= 3600.0
    # Nothing is lost on the way: as many as admitted leave each hour.
    assert now <= HOUR * math.ceil(65 / limit)


def test_more_was_sent_without_limits_than_the_limit_admits() -> None:
    """A limit that comes later counts every request of the hour, and waits until enough of them have left."""
    windows = SlidingWindows(None, None)
    for moment in range(50):
        spent(windows, 1, float(moment))
    windows.tighten(None, 10)
    assert windows.available() == -40
    assert windows.next_time(50.0) == 40.0 + HOUR
    assert windows.first_return(50.0) == HOUR - 50.0


# What was given up


def test_a_slow_answer_costs_one_token() -> None:
    """A request that is open holds its permit however long the answer takes, and no other request waits for it."""
    windows = SlidingWindows(2, 1000, first_alone=False)
    slow = taken(windows, 0.0)
    for moment in range(1, 50):
        assert windows.next_time(float(moment)) == moment
        spent(windows, 1, float(moment))
        assert windows.next_time(float(moment)) == moment + 1
    windows.answered(slow, 50.0)
    assert (windows.outstanding, windows.next_time(50.5)) == (0, 50.5)


def test_what_was_given_up_settles_when_a_later_request_was_answered() -> None:
    """An answer to a request that left earlier says nothing; one to a later request does, and the cap follows."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    early, given_up = taken(windows, 0.0), taken(windows, 0.0)
    windows.lost(given_up, 1.0)
    windows.answered(early, 1.5)
    late = taken(windows, 1.5)
    windows.next_time(10.0)
    assert windows.outstanding == 2
    windows.answered(late, 10.0)
    assert (windows.next_time(11.9), windows.outstanding) == (11.9, 1)
    assert (windows.next_time(12.0), windows.outstanding) == (12.0, 0)
    # It is counted as of the time at which it landed, also without a call at that time.
    assert windows.returning(500.0, 12.0 + HOUR - 500.0) == 3
    assert windows.returning(500.0, 11.9 + HOUR - 500.0) == 2


def test_a_full_hour_that_was_given_up_comes_back() -> None:
    """When all of the hour was given up, it comes back an hour after the time at which it can no longer arrive."""
    windows = SlidingWindows(None, 3, first_alone=False)
    for permit in [taken(windows, 0.0) for _ in range(3)]:
        windows.lost(permit, 30.0)
    now = 30.0
    while (when := windows.next_time(now)) > now:
        now = when
    assert now == 30.0 + LOST_FOR_GOOD + HOUR


def test_silence_keeps_the_last_tokens_for_probes() -> None:
    """When nothing is answered for half a second, the last three of the twenty go one at a time, until an answer."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    held = [taken(windows, 0.0) for _ in range(17)]
    for moment in (1.0, 11.0):
        probe = taken(windows, moment)
        assert not windows.take(Permit(), moment + 9.0)
        windows.lost(probe, moment + 9.5)
    windows.answered(taken(windows, 21.0), 21.3)
    assert [windows.take(Permit(), 22.3) for _ in range(2)] == [True, False]
    # The two that were given up have landed and come back; the network lives, so no request has to go alone.
    windows.answered(held[0], 24.4)
    assert [windows.take(Permit(), 24.4) for _ in range(3)] == [True, True, False]


def test_a_lull_is_no_silence() -> None:
    """After an idle time all of the second is there at once, however slow the answers were before."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    spent(windows, 20)
    held = [taken(windows, 100.0) for _ in range(20)]
    for number, permit in enumerate(held):
        windows.answered(permit, 105.0 + number)
    assert [windows.take(Permit(), 200.0) for _ in range(21)] == [True] * 20 + [False]


def test_silence_lets_one_probe_out() -> None:
    """When something was given up and nothing is answered, one request at a time goes, until an answer."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    held = [taken(windows, 0.0) for _ in range(20)]
    assert windows.next_time(9.0) == math.inf
    for permit in held:
        windows.lost(permit, 10.0)
    assert windows.next_time(10.0) == 10.0 + IN_FLIGHT_CAP + 1.0
    probe = taken(windows, 13.0)
    assert windows.next_time(13.0) == 10.0 + LOST_FOR_GOOD
    windows.lost(probe, 22.0)
    second = taken(windows, 22.0)
    windows.answered(second, 22.3)
    # The network lives: what it may still deliver is waited for, and then everything is as before.
    now = 22.3
    while (when := windows.next_time(now)) > now:
        now = when
    assert now == 22.3 + IN_FLIGHT_CAP + 1.0
    assert windows.outstanding == 0


def test_a_dead_service_is_asked_forever() -> None:
    """Hours without any answer: one probe after the other, no burst, and never an end to it."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    now = 0.0
    sent: list[float] = []
    for permit in [taken(windows, 0.0) for _ in range(20)]:
        windows.lost(permit, 10.0)
    while len(sent) < 1500:
        if (when := windows.next_time(now)) > now:
            assert when < math.inf
            now = when
            continue
        sent.append(now)
        probe = taken(windows, now)
        assert windows.next_time(now) > now
        now += 10.0
        windows.lost(probe, now)
    assert sent[-1] <= 1520 * 10.0


def test_giving_up_at_once_does_not_make_probes_of_all() -> None:
    """Callers that give up before any answer can come do not exceed the second, however many they are."""
    windows = SlidingWindows(5, 1000, first_alone=False)
    sent: list[float] = []
    now = 0.0
    while now < 20.0:
        if windows.next_time(now) <= now:
            sent.append(now)
            windows.lost(taken(windows, now), now)
        now += 0.01
    assert len(sent) > 20
    assert all(later - earlier >= 1.0 for earlier, later in zip(sent, sent[5:], strict=False))


def filled(windows: SlidingWindows, *landed: float) -> SlidingWindows:
    """Let requests be answered at some moments."""
    for at in landed:
        windows.answered(taken(windows, at), at)
    return windows


def test_the_wait_of_who_comes_when_all_is_free() -> None:
    """A call that finds room does not wait; of many calls each second serves as many as it admits."""
    windows = SlidingWindows(10, 1000, first_alone=False)
    assert [windows.expected_wait(ahead, 0.0) for ahead in (0, 9, 10, 19, 20)] == [0.0, 0.0, 1.0, 1.0, 2.0]
    # The last queue leaves a tenth of the second to the others.
    assert [windows.expected_wait(ahead, 0.0, background=True) for ahead in (0, 8, 9, 18, 19)] == [
        0.0,
        0.0,
        1.0,
        1.0,
        2.0,
    ]


def test_the_wait_of_who_comes_after_others() -> None:
    """What is in the second, in flight or landed, is ahead of a new call; what has left it is not."""
    windows = filled(SlidingWindows(10, 1000, first_alone=False), *[0.0] * 4)
    held = [taken(windows, 0.0) for _ in range(2)]
    assert [windows.expected_wait(ahead, 0.0) for ahead in (3, 4)] == [0.0, 1.0]
    for permit in held:
        windows.unsent(permit)
    assert [windows.expected_wait(ahead, 0.0) for ahead in (5, 6)] == [0.0, 1.0]
    assert [windows.expected_wait(ahead, 1.0) for ahead in (9, 10)] == [0.0, 1.0]


def test_the_wait_for_the_hour() -> None:
    """When the hour is used up, as many wait until it gives back as it lacks; unknown returns count as an hour."""
    windows = filled(SlidingWindows(10, 5, reserve=2, first_alone=False), 0.0, 10.0, 20.0)
    assert windows.expected_wait(0, 30.0) == 0.0
    assert windows.expected_wait(1, 30.0) == 0.0
    assert windows.expected_wait(2, 30.0) == HOUR - 30.0
    assert windows.expected_wait(3, 30.0) == HOUR - 20.0
    # Three of five are used, and two are for others.
    assert windows.expected_wait(0, 30.0, background=True) == HOUR - 30.0
    assert windows.expected_wait(1, 30.0, background=True) == HOUR - 20.0
    for _ in range(2):
        taken(windows, 30.0)
    assert windows.expected_wait(0, 30.0) == HOUR - 30.0
    assert windows.expected_wait(4, 30.0) == HOUR
    assert windows.expected_wait(0, 30.0, background=True) == HOUR - 10.0


def test_the_wait_while_only_an_answer_can_tell() -> None:
    """A second that is full of requests without an answer is expected to be over in a second."""
    windows = SlidingWindows(2, 1000, first_alone=False)
    for _ in range(2):
        taken(windows, 0.0)
    assert windows.next_time(0.0) == math.inf
    assert windows.expected_wait(0, 0.0) == 1.0
    unlimited = SlidingWindows(None, 1, first_alone=False)
    taken(unlimited, 0.0)
    assert unlimited.expected_wait(0, 0.0) == HOUR


@pytest.mark.parametrize(("second", "hour"), [(10, 1000), (None, 1000), (10, None)])
def test_the_first_request_goes_alone(second: int | None, hour: int | None) -> None:
    """Until the first answer no other request goes, where there is any limit; its headers may tell of others."""
    windows = SlidingWindows(second, hour)
    first = taken(windows, 0.0)
    assert not windows.take(Permit(), 0.5)
    windows.answered(first, 1.0)
    assert windows.take(Permit(), 1.0)
    free = SlidingWindows(None, None)
    assert free.take(Permit(), 0.0)
    assert free.take(Permit(), 0.0)


@pytest.mark.parametrize(
    ("hour", "reserve", "left"), [(2, 5, 1), (100, 99, 99), (100, 98, 98), (1, 1, 0), (1000, None, 10), (None, 5, 0)]
)
def test_a_reserve_is_less_than_all(hour: int | None, reserve: int | None, left: int) -> None:
    """One request of the hour remains for who takes in the background; without a limit nothing is reserved."""
    assert SlidingWindows(10, hour, reserve=reserve).reserve == left


def test_a_second_leaves_one_permit_to_others_while_there_are_some() -> None:
    """No header tells what others use of a second, so one permit in twenty is theirs."""
    windows = SlidingWindows(20, 1000, first_alone=False)
    spent(windows, 1, 0.0, Quota(1000, 999, 3600))
    assert windows.room(10.0) == 20
    spent(windows, 1, 20.0, Quota(1000, 997, 3600))
    assert windows.room(30.0) == 19
