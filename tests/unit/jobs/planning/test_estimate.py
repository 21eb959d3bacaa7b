"""When the last end is seen: rules that hold for all durations and plans."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.planning.durations import AGES, Curve, step_before
from cmsapi.jobs.planning.estimate import Unseen, estimate, last_end
from cmsapi.jobs.planning.poll_budget import Load, Pace
from cmsapi.jobs.planning.poll_interval import solve

thorough = settings(max_examples=60, deadline=None, derandomize=True)
KNOWN = 1e9
LEVELS = [0.05, 0.5, 0.95]


def lognormal(median: float, sigma: float) -> Curve:
    """Return a lognormal distribution of durations."""
    return Curve.of([0.0, *(0.5 * math.erfc(-math.log(age / median) / sigma / math.sqrt(2)) for age in AGES[1:])])


def advised(curve: Curve, learned: float = KNOWN, policy: PollPolicy | None = None) -> Pace:
    """Poll as the service advises, when durations are known as well as from so many jobs."""
    load = Load(curve=curve, policy=policy or PollPolicy(), learned=learned)
    return Pace(load, load.advised, load.advised, 0.0)


def priced(curve: Curve, price: float) -> Pace:
    """Poll as rarely as a price makes worthwhile."""
    schedule = solve(curve, price, 5.0)
    return Pace(Load(curve=curve, policy=PollPolicy(), learned=KNOWN), schedule, schedule, 0.0)


def launched(count: float, pace: Pace, group: int = 0) -> Unseen:
    """Return jobs that have just been launched."""
    return Unseen(count, 0, pace.interval(0, group), pace.interval(0, group), group)


curves = st.builds(lognormal, st.sampled_from([15.0, 60.0, 300.0]), st.sampled_from([0.2, 0.6, 1.0]))


@thorough
@given(curves, st.integers(1, 400), st.sampled_from([2.0, 50.0, 1000.0]))
def test_more_jobs_and_rarer_polls_end_later(curve: Curve, count: int, price: float) -> None:
    """A larger share takes longer, so do more jobs, and rarer polls see the last end later."""
    often, rarely = advised(curve), priced(curve, price)
    early, middle, late = last_end([launched(count, often)], often, LEVELS)
    assert early <= middle <= late
    assert last_end([launched(2 * count, often)], often, [0.5])[0] >= middle
    assert last_end([launched(count, rarely)], rarely, LEVELS)[2] >= 0.9 * late


@thorough
@given(curves, st.integers(1, 400), st.sampled_from(LEVELS))
def test_the_last_of_known_jobs_is_the_largest_of_as_many_draws(curve: Curve, count: int, share: float) -> None:
    """With durations that are known, the last end is the largest of independent draws, and a poll comes soon after."""
    pace = advised(curve, policy=PollPolicy(min_interval=1.0, max_interval=1.0))
    (found,) = last_end([launched(count, pace)], pace, [share])
    wanted = curve.quantile(share ** (1.0 / count))
    assert wanted / 1.1 - 1.0 <= found <= 1.04 * wanted + 1.0


@thorough
@given(curves, st.integers(2, 400), st.sampled_from([1.0, 10.0, 100.0]))
def test_what_is_not_known_concerns_all_jobs_alike(curve: Curve, count: int, learned: float) -> None:
    """Next to few jobs that taught the durations, many jobs count as fewer, so that the range is wider downwards."""
    known, learning = advised(curve), advised(curve, learned)
    sure, unsure = (
        last_end([launched(count, known)], known, LEVELS),
        last_end([launched(count, learning)], learning, LEVELS),
    )
    assert all(one <= other for one, other in zip(unsure, sure, strict=True))


def test_a_job_that_is_probably_over_is_not_taken_to_run() -> None:
    """What counts is the age at which a job was last seen running, and when its next poll comes."""
    curve = lognormal(60.0, 0.2)
    pace = advised(curve)
    seen = Unseen(40, step_before(30.0), 5.0, 200.0, 0)
    assert last_end([seen], pace, [0.5]) == [5.0]
    late = Unseen(40, step_before(30.0), 50.0, 200.0, 0)
    assert last_end([seen, late], pace, [0.5]) == [50.0]


@pytest.mark.parametrize(("slots", "expected"), [(math.inf, (60.0, 130.0)), (5.0, (400.0, 800.0))])
def test_queued_jobs_wait_for_slots(slots: float, expected: tuple[float, float]) -> None:
    """Forty jobs that may run five at a time take eight times as long as one of them."""
    load = Load(curve=lognormal(60.0, 0.2), policy=PollPolicy(), queued=40, slots=slots, learned=KNOWN)
    pace = Pace(load, load.advised, load.advised, 0.0)
    found = estimate(
        KINDS["keyword_analysis"],
        pace,
        1000.0,
        lambda span: 0.0,
        unseen=(),
        ahead=0,
        earlier=0,
        per_second=20.0,
    )
    assert expected[0] <= found.seconds_range[0] <= found.seconds <= found.seconds_range[1] <= expected[1]
    assert found.requests_range[0] <= found.requests <= found.requests_range[1]


def test_an_early_end_does_not_wait_for_rare_polls() -> None:
    """The range reaches down to polls as frequent as advised: other jobs may need fewer than they might."""
    curve = lognormal(60.0, 0.2)
    rare = priced(curve, 5000.0)
    found = estimate(
        KINDS["keyword_analysis"],
        rare,
        0.0,
        lambda span: 0.0,
        unseen=[Unseen(10, step_before(30.0), 300.0, 330.0, 0)],
        ahead=0,
        earlier=0,
        per_second=20.0,
    )
    assert found.seconds >= 300.0
    assert found.seconds_range[0] < 60.0
