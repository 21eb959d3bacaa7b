"""The cheapest ages at which to poll a job, next to all others."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, DurationModel, step_after
from cmsapi.jobs.planning.schedule import HOUR, PRICES, advised, price_at, solve
from tests.support.examples import examples

LAST = NEVER - 1
thorough = settings(max_examples=examples(7))
prices = st.sampled_from([0.01, 1.0, 7.0, 60.0, 1000.0, 100_000.0])
gaps = st.sampled_from([0.5, 5.0, 30.0, 400.0])


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    """Draw a distribution of durations: jobs end in a few bursts, or evenly in between, and some may never end."""
    bursts = draw(
        st.lists(st.tuples(st.integers(1, LAST), st.integers(0, 8), st.integers(1, 9)), min_size=1, max_size=6)
    )
    never = draw(st.sampled_from([0, 0, 1, 5]))
    ends = [0.0] * (NEVER + 8)
    for step, width, weight in bursts:
        for offset in range(width + 1):
            ends[step + offset] += weight / (width + 1)
    whole = sum(ends) + never
    ended, share = [], 0.0
    for step in range(NEVER):
        share += ends[step] / whole
        ended.append(min(1.0, share))
    return Curve.of(ended)


def believed(median: float = 60.0) -> Curve:
    """Return what is believed before anything was seen."""
    return DurationModel(median).curve()


def cheapest(curve: Curve, price: float, min_interval: float) -> list[float]:
    """Try every age for every next poll, and return the least cost by the step of the last poll."""
    cost = [math.inf] * NEVER
    cost[LAST] = price * curve.running(LAST)
    for step in reversed(range(LAST)):
        late = 0.0
        for following in range(step + 1, NEVER):
            at = following - 1
            rise = curve.ended[at] + curve.ended[following] - 2.0 * curve.ended[step]
            late += 0.5 * rise * (AGES[following] - AGES[at])
            if AGES[following] - AGES[step] >= min_interval or following == LAST:
                cost[step] = min(cost[step], price * curve.running(step) + late + cost[following])
    return cost


@thorough
@given(curves(), prices, gaps)
def test_no_schedule_is_cheaper(curve: Curve, price: float, min_interval: float) -> None:
    """From every age the schedule costs no more than the best of all schedules with polls at steps of the scale."""
    schedule, best = solve(curve, price, min_interval), cheapest(curve, price, min_interval)
    # Areas of hours are subtracted from each other, so that rounding grows with them.
    for cost, least in zip(schedule.cost, best, strict=True):
        assert cost <= least * (1 + 1e-6) + 1e-6 * AGES[LAST]


@thorough
@given(curves(), st.tuples(prices, prices), gaps)
def test_a_dearer_poll_is_not_taken_more_often(curve: Curve, two: tuple[float, float], min_interval: float) -> None:
    """When the price of a poll rises, there are no more of them, and no less lateness."""
    cheap, dear = (solve(curve, price, min_interval) for price in sorted(two))
    for step in range(0, LAST, 7):
        assert dear.needed[step] <= cheap.needed[step] + 1e-6
    assert dear.lateness >= cheap.lateness - 1e-6 * AGES[LAST]


@thorough
@given(curves(), prices, gaps)
def test_polls_are_apart(curve: Curve, price: float, min_interval: float) -> None:
    """Between two polls lies the least gap, up to the end of the scale and beyond it."""
    schedule = solve(curve, price, min_interval)
    assert min(schedule.intervals) >= min_interval


@thorough
@given(curves(), prices, st.integers(0, LAST), st.floats(0.0, 5000.0), st.floats(0.0, 5000.0))
def test_a_longer_span_holds_more_polls(curve: Curve, price: float, step: int, first: float, second: float) -> None:
    """Polls within a span grow with it, and never exceed all of them."""
    schedule = solve(curve, price, 5.0)
    shorter, longer = sorted((first, second))
    assert schedule.polls(step, shorter) <= schedule.polls(step, longer)
    assert schedule.polls(step, longer) <= schedule.polls(step) * (1 + 1e-6)


def test_where_all_are_over_one_poll_is_left() -> None:
    """A job that runs although all others of its age are over needs a poll, and it comes at once."""
    schedule = solve(Curve.of([0.0, *([1.0] * (NEVER - 1))]), 20.0, 5.0)
    for step in (1, 40, LAST):
        assert schedule.polls(step) == schedule.polls(step, 0.0) == 1.0


@pytest.mark.parametrize("age", [60.0, 600.0, 7200.0])
def test_no_price_leaves_a_hole(age: float) -> None:
    """From a price to the next one no interval grows by much, so that any number of requests can be used."""
    step = step_after(age)
    intervals = [solve(believed(), price_at(place), 0.01).intervals[step] for place in range(PRICES)]
    assert intervals[0] < 0.05 * intervals[-1]
    for shorter, longer in pairwise(intervals):
        assert longer <= 2.2 * shorter


def test_jobs_beyond_the_hour_count_by_their_rate() -> None:
    """Of a job that runs for many hours, the polls of one hour count, because its requests come back after that."""
    curve = Curve.of([0.0] * NEVER)
    schedule = advised(curve, 5.0, 10.0)
    for age in (0.0, 600.0, 20_000.0):
        assert schedule.polls(step_after(age)) == pytest.approx(360.0, rel=0.1)


@pytest.mark.parametrize("age", [10.0, 60.0, 3600.0, 36_000.0])
def test_with_requests_to_spare_polls_come_as_advised(age: float) -> None:
    """No interval is longer than the longest one of the policy, and none is shorter than the shortest."""
    schedule = advised(believed(), 5.0, 10.0)
    assert not schedule.stretched
    assert 5.0 <= schedule.intervals[step_after(age)] <= 10.0


def test_beyond_the_scale_jobs_are_polled_once_an_hour() -> None:
    """At the end of the scale nothing is known of ends, and the request of a poll is back after an hour."""
    assert solve(believed(), 20.0, 5.0).intervals[LAST] == HOUR
    assert solve(Curve.of([0.0] * NEVER), 20.0, 5.0).intervals[LAST] == HOUR


@pytest.mark.parametrize("price", [1.0, 20.0, 400.0])
def test_what_outlives_nearly_all_is_still_polled(price: float) -> None:
    """A job that is older than nearly all others is polled before its age doubles, also beyond the scale."""
    schedule = solve(believed(), price, 5.0)
    for step in range(step_after(5000.0), NEVER):
        assert 5.0 <= schedule.intervals[step] <= AGES[step]


def test_a_constant_hazard_is_polled_evenly() -> None:
    """Where jobs end at any age alike, the best gap is about the square root of twice the price over the hazard."""
    mean, price = 200.0, 4.0
    curve = Curve.of([1.0 - math.exp(-age / mean) for age in AGES])
    schedule = solve(curve, price, 1.0)
    for age in (20.0, 60.0, 150.0):
        assert schedule.intervals[step_after(age)] == pytest.approx(math.sqrt(2.0 * price * mean), rel=0.3)
