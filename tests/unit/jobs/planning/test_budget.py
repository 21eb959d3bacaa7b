"""How often to poll, so that all polls fit into what is left: promises that hold for whatever runs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.config import PollPolicy
from cmsapi.jobs.planning.budget import Budget, Load
from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, DurationModel, step_after, step_before
from cmsapi.jobs.planning.schedule import Schedule, price_at
from tests.support.examples import examples

thorough = settings(max_examples=examples(10))
HOUR = 3600.0
ADVISED = PollPolicy()


@functools.cache
def believed(median: float, ends: int) -> Curve:
    """Return what is believed of durations, after some jobs that took as long as guessed."""
    durations = DurationModel(median)
    for _ in range(ends):
        durations.saw_end(step_before(0.8 * median), step_after(1.1 * median))
    return durations.curve()


@functools.cache
def two_sorts() -> Curve:
    """Return jobs of which half take 20 s and half 300 s."""
    return Curve.of([0.5 * (age >= 20.0) + 0.5 * (age >= 300.0) for age in AGES])


curves = st.one_of(
    st.builds(believed, st.sampled_from([10.0, 60.0, 1800.0]), st.sampled_from([0, 30])), st.builds(two_sorts)
)
counts = st.dictionaries(st.integers(0, NEVER - 1), st.integers(1, 300), max_size=4)


@st.composite
def loads(draw: st.DrawFn) -> Load:
    """Draw jobs that run, are polled, or wait to be launched."""
    shortest = draw(st.sampled_from([0.5, 5.0, 30.0]))
    return Load(
        curve=draw(curves),
        alone=draw(counts),
        paged=draw(counts),
        queued=draw(st.sampled_from([0, 0, 3, 400, 20_000])),
        slots=draw(st.sampled_from([1.0, 20.0, math.inf])),
        result=draw(st.sampled_from([0.0, 0.1, 1.0])),
        policy=PollPolicy(
            min_interval=shortest,
            max_interval=shortest * draw(st.sampled_from([1.0, 2.0, 10.0])),
            budget=draw(st.sampled_from(["fit", "strict"])),
        ),
    )


def price(budget: Budget) -> float:
    """Return the price in seconds of lateness; 0 where there are requests to spare."""
    place = budget.price()
    return 0.0 if place is None else price_at(place)


def schedules(budget: Budget) -> list[Schedule]:
    """Return the schedule of each load."""
    place = budget.price()
    return [load.at(place) for load in budget.loads]


def evenly(used: float, first: float) -> Callable[[float], float]:
    """Let requests that were used come back evenly from a moment on, until the hour is over."""
    return lambda span: used * min(1.0, max(0.0, (span - first) / (HOUR - first))) if first < HOUR else 0.0


returns = st.tuples(st.sampled_from([0.0, 20.0, 900.0]), st.sampled_from([math.inf, 1.0, 300.0, 3000.0]))

frees = st.sampled_from([0.0, 3.0, 40.0, 300.0, 1000.0, 5000.0])
many = st.lists(loads(), max_size=3)


@thorough
@given(many, frees, returns)
def test_no_interval_is_shorter_than_the_least(loads: list[Load], free: float, back: tuple[float, float]) -> None:
    """Whatever runs and whatever is left, no wait is shorter than the least interval of its policy."""
    for load, schedule in zip(loads, schedules(Budget(loads, free, evenly(*back))), strict=True):
        assert min(schedule.intervals) >= load.policy.min_interval


@thorough
@given(many, frees)
def test_the_advice_is_kept_where_it_fits(loads: list[Load], free: float) -> None:
    """Without a shortage, and under a strict budget always, no wait is longer than the longest interval."""
    budget = Budget(loads, free)
    for load, schedule in zip(loads, schedules(budget), strict=True):
        if budget.price() is None or load.strict:
            assert not schedule.stretched
            assert max(schedule.intervals) <= load.policy.max_interval


@given(many)
def test_without_a_limit_all_is_polled_as_advised(loads: list[Load]) -> None:
    """Where the service sets no limit, requests are to spare, and anything may be launched."""
    budget = Budget(loads, math.inf)
    assert budget.price() is None
    assert budget.spare == budget.misses(0.0) == math.inf


@thorough
@given(many, returns)
def test_more_requests_are_not_dearer(loads: list[Load], back: tuple[float, float]) -> None:
    """With more requests left, or sooner back, the price is no higher."""
    prices = [price(Budget(loads, free, evenly(*back))) for free in (5.0, 50.0, 500.0, 5000.0)]
    assert prices == sorted(prices, reverse=True)
    assert price(Budget(loads, 50.0, evenly(900.0, 1.0))) <= price(Budget(loads, 50.0))


@thorough
@given(loads(), frees)
def test_the_price_is_the_lowest_that_fits(load: Load, free: float) -> None:
    """At the price the expected requests fit into what is left; at a tenth of it they would not."""
    running = Load(curve=load.curve, policy=PollPolicy(), alone=load.alone)
    budget = Budget([running], free)
    if 0.0 < price(budget) < 1e4:
        assert running.polls(schedules(budget)[0]) <= free
        assert running.polls(running.advised) > free


@pytest.mark.parametrize(("jobs", "free"), [(3, 900.0), (5, 700.0), (12, 900.0), (30, 300.0)])
def test_jobs_beyond_the_hour_use_the_hour(jobs: int, free: float) -> None:
    """Jobs that do not seem to end share what an hour has, and leave no large part of it unused."""
    age = 7200.0
    durations = DurationModel(60.0)
    for _ in range(jobs):
        durations.saw_running(0, step_before(age))
    load = Load(curve=durations.curve(), policy=PollPolicy(), alone={step_after(age): jobs})
    (schedule,) = schedules(Budget([load], free))
    assert 0.4 * free <= jobs * HOUR / schedule.intervals[step_after(age)] <= 1.2 * free


def test_pages_follow_the_same_price() -> None:
    """What pages of lists take at a price is not there for polls."""
    load = Load(curve=believed(60.0, 30), policy=PollPolicy(), alone={step_after(5.0): 100})
    alone, beside = Budget([load], 200.0), Budget([load], 200.0, reads=lambda price: 80.0)
    assert price(beside) > price(alone) > 0.0


def test_what_is_kept_is_not_for_the_plan() -> None:
    """Requests that are kept for the last jobs make polls dearer, and admit fewer launches."""
    load = Load(curve=believed(60.0, 30), policy=PollPolicy(), alone={step_after(5.0): 100})
    assert price(Budget([load], 300.0, kept=190.0)) > price(Budget([load], 300.0))
    waiting = attrs.evolve(load, queued=200)
    assert Budget([waiting], 300.0, kept=50.0).misses(0.0) > Budget([waiting], 300.0).misses(0.0)


def test_each_running_job_leaves_less() -> None:
    """Each job that runs leaves less to those that are yet to be launched."""
    loads = [Load(curve=two_sorts(), policy=PollPolicy(), alone={0: count}) for count in (0, 10, 100)]
    left = [Budget([load], 500.0).spare for load in loads]
    assert left == sorted(left, reverse=True)
    assert left[0] - left[1] >= 10.0


def test_launches_wait_for_slots() -> None:
    """Ten slots launch as many jobs as end in an hour, each with a launch, its polls and its result."""
    curve = believed(60.0, 30)
    load = Load(curve=curve, policy=PollPolicy(), queued=20_000, slots=10.0, result=1.0)
    turnaround = curve.remaining(0) + load.advised.lateness
    expected = 10.0 * HOUR / turnaround * (2.0 + load.advised.polls(0))
    assert load.launches(load.advised, 0.0) == pytest.approx(expected)


def test_polls_are_not_dearer_than_launches_that_wait() -> None:
    """While launches wait for the next hour, polls are worth at most what their requests would gain a launch."""
    running = Load(curve=believed(60.0, 0), policy=PollPolicy(), alone={0: 300}, result=1.0)
    (alone,) = schedules(Budget([running], 602.0))
    (beside,) = schedules(Budget([attrs.evolve(running, queued=10)], 602.0))
    assert beside.price == HOUR / 3.0 < alone.price
    assert beside.lateness < alone.lateness


def test_no_jobs_take_nothing() -> None:
    """No jobs take nothing, and fit into nothing."""
    assert Budget([], 0.0).price() is None
    assert Budget([], 7.0).spare == Budget([], 7.0).misses(0.0) == 7.0
