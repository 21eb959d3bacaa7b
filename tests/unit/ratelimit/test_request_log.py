"""Landed, lost and foreign requests, each by itself and moment by moment."""

from __future__ import annotations

import math

import pytest

from cmsapi.ratelimit.foreign_usage import ForeignUsage
from cmsapi.ratelimit.request_log import AFTER_THE_HOUR, HOUR, SECOND, RequestLog
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, LOST_FOR_GOOD, QUIET, UnansweredRequests


def landed(*times: float) -> RequestLog:
    """Note some requests."""
    log = RequestLog()
    for at in times:
        log.add(at)
    return log


# Landed requests


def test_nothing_has_settled() -> None:
    """What is empty gives nothing back, ever."""
    log = landed()
    log.age(1e9)
    assert (len(log), log.in_second(1e9), log.between(-math.inf, 1e9), log.leaving(1e9)) == (0, 0, 0, 0)
    assert log.leaves_second(0.0) == log.leaves_hour() == math.inf
    assert log.leaves_hour(0) == log.leaves_hour(-1) == -math.inf


def test_each_window_is_left_in_turn() -> None:
    """A request leaves the second after a second and the hour after an hour, at the very moment."""
    log = landed(10.0, 10.5, 12.0)
    assert [(log.in_second(at), log.leaves_second(at)) for at in (10.999, 10.0 + SECOND, 100.0)] == [
        (3, 11.0),
        (2, 11.5),
        (0, math.inf),
    ]
    assert (len(log), log.leaves_hour()) == (3, 10.0 + HOUR)
    log.age(10.0 + HOUR - 0.001)
    assert (len(log), log.leaving(10.0 + HOUR), log.leaving(10.5 + HOUR)) == (3, 1, 2)
    log.age(10.0 + HOUR)
    assert (len(log), log.leaves_hour()) == (2, 10.5 + HOUR)
    assert log.leaves_hour(2) == 12.0 + HOUR
    assert log.leaves_hour(3) == math.inf
    log.add(13.0 + HOUR)
    log.age(13.0 + HOUR)
    assert (log.in_second(13.0 + HOUR), len(log)) == (1, 1)
    assert log.leaves_second(13.0 + HOUR) == 13.0 + HOUR + SECOND


def test_how_many_settled_between_two_moments() -> None:
    """What landed at the later one counts, and so does what has left the hour a short time ago."""
    log = landed(1.0, 2.0, 2.0, 3.0)
    assert [log.between(0.0, at) for at in (0.5, 1.0, 1.5, 2.0, 3.0, 9.0)] == [0, 1, 1, 3, 4, 4]
    assert [log.between(at, 9.0) for at in (0.5, 1.0, 2.0, 3.0, 10.0)] == [4, 3, 1, 0, 0]
    log.age(3.0 + HOUR + AFTER_THE_HOUR / 2)
    assert (len(log), log.between(0.0, 9.0)) == (0, 4)
    log.age(3.0 + HOUR + AFTER_THE_HOUR)
    assert log.between(0.0, 9.0) == 0


def test_requests_may_be_noted_in_any_order() -> None:
    """What is told late counts from its own time."""
    log = landed(10.0, 9.0, 9.5)
    assert [log.leaves_hour(count) for count in (1, 2, 3)] == [9.0 + HOUR, 9.5 + HOUR, 10.0 + HOUR]


# UnansweredRequests


def lost(*times: float) -> UnansweredRequests:
    """Give requests up."""
    each = UnansweredRequests()
    each.given_up = list(times)
    return each


def test_what_was_given_up_waits_for_a_sign_of_life() -> None:
    """It lands two seconds after an answer to a request that left when it was given up, or later."""
    each = lost(10.0, 20.0, 30.0)
    each.note_answer(9.9, 35.0)
    assert (each.given_up, each.landing_at) == ([10.0, 20.0, 30.0], [])
    each.note_answer(20.0, 40.0)
    assert (each.given_up, each.landing_at) == ([30.0], [40.0 + IN_FLIGHT_CAP] * 2)
    each.note_answer(31.0, 41.0)
    assert (each.given_up, each.landing_at) == ([], [42.0, 42.0, 43.0])
    assert each.land(41.999) == []
    assert each.land(42.0) == [42.0, 42.0]
    assert each.land(50.0) == [43.0]
    assert each.land(1e9) == []


def test_without_a_sign_of_life_it_settles_late() -> None:
    """Two minutes after it was given up nothing arrives any more; what lands is told in order."""
    each = lost(10.0, 20.0)
    each.landing_at = [131.0, 139.0]
    assert each.land(10.0 + LOST_FOR_GOOD - 0.001) == []
    assert each.land(135.0) == [130.0, 131.0]
    assert (each.given_up, each.landing_at) == ([20.0], [139.0])
    assert each.land(140.0) == [139.0, 140.0]
    assert (each.given_up, each.landing_at) == ([], [])


def test_what_is_overdue_in_a_silence() -> None:
    """What was given up three seconds ago and more is overdue, but only while there is silence."""
    each = lost(10.0, 11.0)
    assert each.overdue(100.0) == 0
    each.silent_from = 13.5
    assert [each.overdue(now) for now in (13.0, 13.499, 13.5, 13.999, 14.0, 99.0)] == [0, 0, 1, 1, 2, 2]
    each.silent_from = 0.0
    assert [each.overdue(now) for now in (12.999, 13.0)] == [0, 1]


def test_when_something_may_change() -> None:
    """The next moment at which one lands, becomes overdue, or a silence begins."""
    assert lost().next_change(0.0) == math.inf
    each = lost()
    each.silent_from = 5.0
    assert each.next_change(0.0) == math.inf
    each.landing_at = [7.0, 8.0]
    assert each.next_change(0.0) == 7.0
    assert each.next_change(7.0) == math.inf
    each = lost(10.0, 11.0)
    each.silent_from = 10.0 + QUIET
    moments = [each.next_change(now) for now in (10.0, 10.5, 13.0, 13.5, 14.0, 129.9, 130.0)]
    assert moments == [10.5, 13.0, 14.0, 14.0, 130.0, 130.0, math.inf]
    each.landing_at = [12.0]
    assert each.next_change(11.0) == 12.0


# ForeignUsage


def test_no_foreign_usage() -> None:
    """There is no foreign usage before the headers show some."""
    others = ForeignUsage()
    others.age(1e9)
    assert (others.count, others.oldest_leaves, others.last_leaves) == (0, math.inf, math.inf)
    assert others.leaving(1e9) == 0
    assert others.leaving(math.inf) == 0


@pytest.mark.parametrize(
    ("before", "at_least", "at_most", "after"),
    [(0, 5, 9, 5), (7, 5, 9, 7), (12, 5, 9, 9), (5, 5, 5, 5), (3, -4, -2, 0), (0, 0, 1, 0), (2, -1, 1, 1)],
)
def test_the_estimate_moves_no_further_than_it_must(before: int, at_least: int, at_most: int, after: int) -> None:
    """Within the bounds it stays, outside it comes to the nearer one, and it is never negative."""
    others = ForeignUsage()
    others.correct(0.0, before, before, math.inf, math.inf)
    others.correct(100.0, at_least, at_most, 250.0, 251.0)
    assert (others.count, others.oldest_leaves, others.last_leaves) == (after, 250.0, 100.0 + HOUR)


def test_the_oldest_request_may_be_ours() -> None:
    """When an own request may leave first, it is not known when a foreign one does."""
    others = ForeignUsage()
    others.correct(100.0, 5, 9, 250.0, 250.0)
    assert (others.count, others.oldest_leaves) == (5, math.inf)


def test_when_own_and_foreign_requests_have_left() -> None:
    """So many have left when the own ones have, or fewer of them and the foreign ones."""
    own = {0: -math.inf, 1: 10.0, 2: 20.0, 3: 30.0}
    others = ForeignUsage()
    assert [others.hour_returns(count, lambda n: own.get(max(0, n), math.inf)) for count in (1, 2, 4)] == [
        10.0,
        20.0,
        math.inf,
    ]
    others.count, others.oldest_leaves, others.last_leaves = 2, 15.0, 25.0
    returns = [others.hour_returns(count, lambda n: own.get(max(0, n), math.inf)) for count in range(1, 7)]
    assert returns == [10.0, 15.0, 20.0, 25.0, 30.0, math.inf]


def test_others_leave_the_hour() -> None:
    """The oldest leaves when the headers say so, and the rest a full hour after they were seen."""
    others = ForeignUsage()
    others.correct(100.0, 5, 9, 250.0, 251.0)
    assert [others.leaving(at) for at in (249.9, 250.0, 99.0 + HOUR, 100.0 + HOUR)] == [0, 1, 1, 5]
    others.age(249.9)
    assert others.count == 5
    others.age(250.0)
    others.age(251.0)
    assert (others.count, others.oldest_leaves) == (4, math.inf)
    assert [others.leaving(at) for at in (300.0, 99.9 + HOUR, 100.0 + HOUR)] == [0, 0, 4]
    others.age(100.0 + HOUR - 0.1)
    assert others.count == 4
    others.age(100.0 + HOUR)
    assert others.count == 0
    assert others.leaving(math.inf) == 0


def test_a_log_of_several_hours_counts_as_a_list_of_all_times_does() -> None:
    """It deletes what has left the hour only now and then, which shows in nothing that it tells."""
    log, every = RequestLog(second=1.0, hour=100.0), [at * 0.37 for at in range(3_000)]
    for at in every:
        log.add(at)
        log.age(at)
        assert len(log) == sum(at - 100.0 < each <= at for each in every)
        assert log.in_second(at) == sum(at - 1.0 < each <= at for each in every)
