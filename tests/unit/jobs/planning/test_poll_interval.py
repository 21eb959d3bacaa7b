"""The cheapest ages at which to poll a job, next to all others."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings, strategies as st

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, DurationModel, step_after
from cmsapi.jobs.planning.poll_interval import PricedSchedule, solve

LAST = NEVER - 1
thorough = settings(max_examples=25, deadline=None, derandomize=True)
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


def unseen(curve: Curve, step: int, age_step: int) -> float:
    """Integrate the share of jobs that ended between two polls over the time between, step by step."""
    begun = curve.ended[step]
    return sum(
        0.5 * ((curve.ended[at] - begun) + (curve.ended[at + 1] - begun)) * (AGES[at + 1] - AGES[at])
        for at in range(step, age_step)
    )


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


def walk(schedule: PricedSchedule, step: int = 0) -> list[int]:
    """Return the steps of the polls at a job that never ends."""
    steps = [step]
    while steps[-1] < LAST:
        steps.append(schedule.following[steps[-1]])
    return steps


@thorough
@given(curves(), prices, gaps)
def test_no_schedule_is_cheaper(curve: Curve, price: float, min_interval: float) -> None:
    """From every age the schedule costs what the best of all schedules costs."""
    schedule, best = solve(curve, price, min_interval), cheapest(curve, price, min_interval)
    # Areas of hours are subtracted from each other, so that rounding grows with them.
    assert list(schedule.cost) == pytest.approx(best, rel=1e-6, abs=1e-6 * AGES[LAST])


@thorough
@given(curves(), prices, gaps)
def test_a_schedule_costs_what_it_says(curve: Curve, price: float, min_interval: float) -> None:
    """Followed poll by poll, it takes as many polls and as much lateness as it foretells."""
    schedule = solve(curve, price, min_interval)
    steps = walk(schedule)
    late = sum(unseen(curve, before, after) for before, after in pairwise(steps))
    polls = sum(curve.running(step) for step in steps)
    assert schedule.polls(0) == pytest.approx(polls, rel=1e-6)
    assert schedule.lateness == pytest.approx(late, rel=1e-3, abs=1e-6 * AGES[LAST])
    assert schedule.polls(0, AGES[LAST]) <= polls * (1 + 1e-6)


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
    for step in range(NEVER):
        assert schedule.following[step] > step or step == LAST
        assert schedule.interval(step) >= min_interval


@thorough
@given(curves(), prices, gaps, st.integers(0, LAST))
def test_a_job_that_runs_needs_a_poll(curve: Curve, price: float, min_interval: float, step: int) -> None:
    """However old a job is, at least one more poll at it is expected."""
    assert solve(curve, price, min_interval).polls(step) >= 1.0 - 1e-9


@thorough
@given(curves(), prices, st.integers(0, LAST), st.floats(0.0, 5000.0), st.floats(0.0, 5000.0))
def test_a_longer_span_holds_more_polls(curve: Curve, price: float, step: int, first: float, second: float) -> None:
    """Polls within a span grow with it, and never exceed all of them."""
    schedule = solve(curve, price, 5.0)
    shorter, longer = sorted((first, second))
    assert schedule.polls(step, shorter) <= schedule.polls(step, longer)
    assert schedule.polls(step, longer) <= schedule.polls(step) * (1 + 1e-6)


@thorough
@given(curves(), prices, gaps, st.integers(0, LAST), st.sampled_from(AGES))
def test_polls_are_those_of_a_walk(curve: Curve, price: float, min_interval: float, step: int, span: float) -> None:
    """From any age, and within any span, as many polls are foretold as jobs that run there meet on their way."""
    schedule, running = solve(curve, price, min_interval), curve.running(step)
    assume(running > 1e-3)
    steps = walk(schedule, step)
    within = sum(curve.running(at) for at, after in pairwise(steps) if AGES[after] <= AGES[step] + span)
    assert schedule.polls(step, span) == pytest.approx(within / running)
    assert schedule.polls(step) == pytest.approx(sum(map(curve.running, steps)) / running)


def test_a_poll_at_the_end_of_a_span_counts() -> None:
    """A span that ends with a poll holds it, and a shorter one does not; the last of the scale is no exception."""
    schedule = solve(believed(), 20.0, 5.0)
    first, *_, last = [AGES[step] for step in walk(schedule)[1:]]
    assert schedule.polls(0, first) == pytest.approx(1.0)
    assert schedule.polls(0, 0.999 * first) == 0.0
    rare = Curve.of([0.0, *([0.5] * (NEVER - 1))])
    assert solve(rare, 1e9, 5.0).polls(LAST - 1, AGES[LAST] - AGES[LAST - 1]) == pytest.approx(1.0)
    assert schedule.polls(0, last) > schedule.polls(0, 0.999 * last)


def test_where_all_are_over_one_poll_is_left() -> None:
    """A job that runs although all others of its age are over needs a poll, and it comes at once."""
    schedule = solve(Curve.of([0.0, *([1.0] * (NEVER - 1))]), 20.0, 5.0)
    for step in (1, 40, LAST):
        assert schedule.polls(step) == schedule.polls(step, 0.0) == 1.0


@pytest.mark.parametrize(("over", "foretold"), [(0.89, True), (0.9, True), (0.91, False)])
def test_nearly_all_are_nine_tenths(over: float, foretold: bool) -> None:
    """The end of the last jobs is waited for, unless nine tenths are over; then the next poll goes by their age."""
    bursts = [0.0] * 5 + [over] * 55 + [1.0] * (NEVER - 60)
    schedule = solve(Curve.of(bursts), 1e6, 5.0)
    assert schedule.interval(30) == pytest.approx(AGES[60] - AGES[30] if foretold else 0.6 * AGES[30])
    assert schedule.interval(58) == pytest.approx(AGES[60] - AGES[58])


def test_beyond_the_scale_gaps_go_by_the_age() -> None:
    """At the end of the scale the next poll comes when the job is 1.6 times as old."""
    assert solve(believed(), 20.0, 5.0).interval(LAST) == pytest.approx(0.6 * AGES[LAST])
    assert solve(Curve.of([0.0] * NEVER), 20.0, 5.0).interval(LAST) == pytest.approx(0.6 * AGES[LAST])


@pytest.mark.parametrize("price", [1.0, 20.0, 400.0])
def test_what_outlives_nearly_all_is_still_polled(price: float) -> None:
    """A job that is older than nearly all others is polled before its age doubles, also beyond the scale."""
    schedule = solve(believed(), price, 5.0)
    for step in range(step_after(5000.0), NEVER):
        assert 5.0 <= schedule.interval(step) <= AGES[step]


def test_a_constant_hazard_is_polled_evenly() -> None:
    """Where jobs end at any age alike, the best gap is about the square root of twice the price over the hazard."""
    mean, price = 200.0, 4.0
    curve = Curve.of([1.0 - math.exp(-age / mean) for age in AGES])
    schedule = solve(curve, price, 1.0)
    for age in (20.0, 60.0, 150.0):
        assert schedule.interval(step_after(age)) == pytest.approx(math.sqrt(2.0 * price * mean), rel=0.3)
