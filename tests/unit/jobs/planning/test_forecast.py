"""What jobs take: rules that hold for all durations and schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, DurationModel, step_before
from cmsapi.jobs.planning.forecast import Estimate, Jobs, Rest, possible_curves
from cmsapi.jobs.planning.schedule import Schedule, solve
from tests.support.examples import examples

thorough = settings(max_examples=examples(10))


def lognormal(median: float, sigma: float) -> Curve:
    """Return a lognormal distribution of durations."""
    return Curve.of([0.0, *(0.5 * math.erfc(-math.log(age / median) / sigma / math.sqrt(2)) for age in AGES[1:])])


def evenly(curve: Curve, wait: float) -> Schedule:
    """Return a schedule with as many seconds between any two polls."""
    return attrs.evolve(solve(curve, 1.0, wait), intervals=[wait] * NEVER)


def known(
    curve: Curve, wait: float = 5.0, free: float = 990.0, returning: Callable[[float], float] | None = None, **rest: Any
) -> Estimate:
    """Estimate jobs of known durations that are polled at even times."""
    more = returning or (lambda span: 0.0)
    admits = lambda span: free + more(span)  # noqa: E731  it has no name of its own
    return Rest(schedule=evenly(curve, wait), admits=admits, per_second=20.0, **rest).forecast({curve: 1.0})


curves = st.builds(lognormal, st.sampled_from([15.0, 60.0, 300.0]), st.sampled_from([0.2, 0.6, 1.0]))
jobs = st.builds(
    lambda count, seen, wait: Jobs(count, step_before(seen), wait, seen + wait),
    st.integers(1, 200),
    st.sampled_from([0.0, 5.0, 40.0]),
    st.sampled_from([0.0, 3.0, 30.0]),
)


@thorough
@given(curves, st.integers(0, 300), st.lists(jobs, max_size=3), st.sampled_from([5.0, 60.0]))
def test_a_range_contains_its_figure(curve: Curve, queued: int, running: list[Jobs], wait: float) -> None:
    """What is expected lies within the range, of seconds and of requests."""
    found = known(curve, wait, queued=queued, running=running)
    assert found.seconds_range[0] <= found.seconds <= found.seconds_range[1]
    assert found.requests_range[0] <= found.requests <= found.requests_range[1]


@thorough
@given(curves, st.integers(1, 300), st.lists(jobs, max_size=3))
def test_more_jobs_never_take_less(curve: Curve, queued: int, running: list[Jobs]) -> None:
    """More jobs to launch, and more that run, take no less time and no fewer requests."""
    some, twice = known(curve, queued=queued, running=running), known(curve, queued=2 * queued, running=running)
    besides = known(curve, queued=queued, running=[*running, Jobs(10, 0, 5.0, 5.0)])
    for more in (twice, besides):
        assert more.seconds >= some.seconds
        assert more.seconds_range[1] >= some.seconds_range[1]
        assert more.requests >= some.requests


@thorough
@given(curves, st.integers(1, 600), st.floats(20.0, 990.0), st.floats(0.0, 500.0))
def test_more_requests_never_take_longer(curve: Curve, queued: int, free: float, more: float) -> None:
    """Jobs that find more requests left are launched no later."""
    assert known(curve, free=free + more, queued=queued).seconds <= known(curve, free=free, queued=queued).seconds


@thorough
@given(curves, st.integers(1, 400))
def test_the_last_of_known_jobs_is_the_largest_of_as_many_draws(curve: Curve, count: int) -> None:
    """With durations that are known, the last end is the largest of independent draws, and a poll comes soon after."""
    found = known(curve, 1.0, running=[Jobs(count, 0, 1.0, 1.0)])
    wanted = curve.quantile(0.5 ** (1.0 / count))
    assert wanted / 1.1 - 1.0 <= found.seconds <= 1.1 * wanted + 3.0


def test_a_job_that_is_probably_over_is_not_taken_to_run() -> None:
    """What counts is the age at which a job was last seen running, and when its next poll comes."""
    curve = lognormal(60.0, 0.2)
    seen = Jobs(40, step_before(30.0), 5.0, 200.0)
    late = Jobs(40, step_before(30.0), 50.0, 200.0)
    assert known(curve, running=[seen]).seconds <= 8.0
    assert 50.0 <= known(curve, running=[seen, late]).seconds <= 55.0
    # What is observed meanwhile may bring the poll forward.
    assert known(curve, running=[seen, late]).seconds_range[0] <= 5.0


@pytest.mark.parametrize(("slots", "expected"), [(math.inf, (50.0, 140.0)), (5.0, (400.0, 800.0))])
def test_queued_jobs_wait_for_slots(slots: float, expected: tuple[float, float]) -> None:
    """Forty jobs that may run five at a time take eight times as long as one of them."""
    found = known(lognormal(60.0, 0.2), queued=40, slots=slots)
    assert expected[0] <= found.seconds_range[0] <= found.seconds <= found.seconds_range[1] <= expected[1]


def test_jobs_beyond_the_hour_wait_for_it() -> None:
    """Jobs that the requests left do not suffice for wait until these come back."""
    curve = lognormal(60.0, 0.2)
    found = known(curve, free=50.0, returning=lambda span: 950.0 * (span >= 1800.0), queued=100)
    assert not found.fits
    assert 1800.0 <= found.seconds <= 2200.0
    without = known(curve, free=math.inf, queued=100)
    assert without.fits
    assert without.seconds < 300.0


def width(curves: Iterable[Curve], share: float = 0.5) -> float:
    """Return by what factor curves differ at a share of the jobs."""
    ages = [curve.quantile(share) for curve in curves]
    return max(ages) / min(ages)


def test_observations_narrow_the_curves() -> None:
    """Before an end was seen the curves lie far apart, around the guess; each end moves them together."""
    model = DurationModel(60.0)
    widths = [width(possible_curves(60.0, model.observed))]
    for _ in range(3):
        for _ in range(20):
            model.saw_end(step_before(10.0), step_before(14.0))
        widths.append(width(possible_curves(60.0, model.observed)))
    assert widths[0] > 10.0
    assert widths == sorted(widths, reverse=True)
    assert all(10.0 <= curve.quantile(0.5) <= 15.0 for curve in possible_curves(60.0, model.observed))


def test_jobs_that_outlive_a_hump_are_not_like_it() -> None:
    """Where half of the jobs ended early, and the others run on without ends, these are expected to run on for long."""
    model = DurationModel(60.0)
    for _ in range(20):
        model.saw_end(step_before(15.0), step_before(25.0))
        model.saw_running(0, step_before(120.0))
    curves = possible_curves(60.0, model.observed)
    medians = sorted(curve.quantile(0.5, step_before(120.0)) for curve in curves)
    assert medians[0] < 300.0
    assert 150.0 < medians[len(medians) // 2] < 600.0
