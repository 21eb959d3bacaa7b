"""How often to look, so that all looks fit into what is left: promises that hold for whatever runs."""

from __future__ import annotations

import functools
import math

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.jobs.durations import AGES, NEVER, Curve, Durations, step_after, step_before
from cmsapi.jobs.pacing import GROUPS, Frequent, Load, Plan, Stretched, Supply, plan
from cmsapi.jobs.schedule import solve

thorough = settings(max_examples=40, deadline=None, derandomize=True)
HOUR = 3600.0


@functools.cache
def believed(median: float, ends: int) -> Curve:
    """Return what is believed of durations, after some jobs that took as long as guessed."""
    durations = Durations(median)
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
    """Draw jobs that run, are looked at, or wait to be launched."""
    shortest = draw(st.sampled_from([0.5, 5.0, 30.0]))
    looking = {
        (known, min(NEVER - 1, known + more)): count
        for (known, more), count in draw(
            st.dictionaries(st.tuples(st.integers(0, NEVER - 1), st.integers(0, 9)), st.integers(1, 40), max_size=2)
        ).items()
    }
    return Load(
        curve=draw(curves),
        running=draw(counts),
        looking=looking,
        paged=draw(counts),
        queued=draw(st.sampled_from([0, 0, 3, 400, 20_000])),
        slots=draw(st.sampled_from([1.0, 20.0, math.inf])),
        result=draw(st.sampled_from([0.0, 0.1, 1.0])),
        min_interval=shortest,
        max_interval=shortest * draw(st.sampled_from([1.0, 2.0, 10.0])),
        strict=draw(st.booleans()),
    )


@st.composite
def supplies(draw: st.DrawFn) -> Supply:
    """Draw what is left of the hour, and what comes back when."""
    free = draw(st.sampled_from([-50.0, 0.0, 1.0, 40.0, 300.0, 900.0, 5000.0, math.inf]))
    first = draw(st.sampled_from([math.inf, 1.0, 300.0, 3000.0]))
    used = draw(st.sampled_from([0.0, 20.0, 900.0]))

    def returning(span: float) -> float:
        return used * min(1.0, max(0.0, (span - first) / (HOUR - first))) if first < HOUR else 0.0

    return Supply(free, first, returning)


def looks(pace: Stretched, price: str) -> float:
    """Count the looks that the jobs of a load are expected to take at one of its two prices."""
    schedule = getattr(pace, price)
    return float(sum(count * schedule.expected_looks(step) for step, count in pace.load.singles()))


def gaps(made: Plan) -> list[float]:
    """List how long everybody waits, whatever was seen last, in whatever group."""
    return [pace.gap(step, group) for pace in made.paces for step in range(0, NEVER, 3) for group in range(GROUPS)]


@thorough
@given(st.lists(loads(), min_size=1, max_size=3), supplies())
def test_no_two_looks_are_too_close(all_loads: list[Load], supply: Supply) -> None:
    """Whatever there is to look at and to look with, no wait is shorter than the least interval."""
    made = plan(all_loads, supply)
    assert len(made.paces) == len(made.lives) == len(all_loads)
    for load, pace in zip(all_loads, made.paces, strict=True):
        assert pace.load == load
        for step in range(NEVER):
            assert all(load.min_interval <= pace.gap(step, group) < math.inf for group in range(GROUPS))


@thorough
@given(st.lists(loads(), min_size=1, max_size=3), supplies())
def test_what_is_not_stretched_is_looked_at_as_advised(all_loads: list[Load], supply: Supply) -> None:
    """Without a shortage, and under a strict budget always, no wait is longer than the longest interval."""
    for pace in plan(all_loads, supply).paces:
        assert not (pace.load.strict and pace.stretched)
        if not pace.stretched:
            longest = max(pace.gap(step, group) for step in range(NEVER) for group in range(GROUPS))
            assert longest <= pace.load.max_interval


@thorough
@given(st.lists(loads(), min_size=1, max_size=3))
def test_without_a_limit_nothing_is_stretched(all_loads: list[Load]) -> None:
    """Where the service sets no limit, everything is looked at as advised and anything may be launched."""
    made = plan(all_loads, Supply(math.inf))
    assert not any(pace.stretched for pace in made.paces)
    assert made.spare == math.inf


@thorough
@given(loads(), st.sampled_from([-50.0, 0.0, 40.0, 300.0, 900.0]))
def test_expected_looks_fit(load: Load, free: float) -> None:
    """The dearer of two neighbouring prices fits into what is left, unless the dearest of all does not."""
    load = attrs.evolve(load, strict=False, queued=0)
    (pace,) = plan([load], Supply(free)).paces
    if isinstance(pace, Frequent):
        assert pace.needed() <= free
        return
    last_resort = solve(load.curve, 100_000.0, load.min_interval)
    must = sum(count * last_resort.expected_looks(step) for step, count in load.singles())
    taken = looks(pace, "dearer")
    assert taken <= looks(pace, "cheaper") + 1e-6
    assert taken <= max(free, must) + 1e-6
    assert 0.0 <= pace.share <= 1.0


@thorough
@given(st.lists(loads(), min_size=1, max_size=2), supplies(), st.sampled_from([1.0, 30.0, 500.0]))
def test_more_requests_never_mean_more_lateness(all_loads: list[Load], supply: Supply, more: float) -> None:
    """With more requests left, looks do not get rarer on the whole, no more is stretched, and no less is spare."""
    poor = plan(all_loads, supply)
    rich = plan(all_loads, attrs.evolve(supply, free=supply.free + more))
    assert rich.spare >= poor.spare
    for before, after in zip(poor.paces, rich.paces, strict=True):
        assert before.stretched or not after.stretched
        if isinstance(before, Stretched) and isinstance(after, Stretched):
            assert after.dearer.price <= before.dearer.price * (1 + 1e-9)
            assert after.lateness <= before.lateness + 1e-6


@thorough
@given(st.lists(loads(), min_size=1, max_size=2), supplies())
def test_the_same_question_has_the_same_answer(all_loads: list[Load], supply: Supply) -> None:
    """A plan depends on its arguments alone."""
    first, second = plan(all_loads, supply), plan(all_loads, supply)
    assert gaps(first) == gaps(second)
    assert (first.spare, list(first.lives)) == (second.spare, list(second.lives))


@thorough
@given(loads(), supplies())
def test_a_life_is_a_launch_a_look_and_a_result(load: Load, supply: Supply) -> None:
    """One more job takes no less than its launch, a look at its end, and its result."""
    made = plan([load], supply)
    assert made.lives[0] >= 2.0 + load.result - 1e-9
    # From a certain price on a look or two in a hundred jobs make no difference.
    assert made.paces[0].life >= made.lives[0] - 0.1 or load.strict


@thorough
@given(loads(), supplies(), st.integers(1, 50))
def test_running_jobs_take_what_they_need_first(load: Load, supply: Supply, more: int) -> None:
    """Each job that runs leaves less to those that are yet to be launched."""
    if supply.free == math.inf:
        return
    busier = attrs.evolve(load, running={**load.running, 3: load.running.get(3, 0) + more})
    assert plan([busier], supply).spare <= plan([load], supply).spare - more * (1.0 + load.result) + 1e-6


def test_nothing_to_look_at_is_a_plan_too() -> None:
    """No jobs take nothing."""
    assert plan([], Supply(300.0)).spare == 300.0
    assert plan([], Supply(300.0)).paces == []


@pytest.mark.parametrize(
    ("jobs", "free", "stretched"), [(1, 400.0, False), (20, 400.0, False), (300, 400.0, True), (1, 2.0, True)]
)
def test_a_few_jobs_are_looked_at_as_advised_and_many_are_not(jobs: int, free: float, stretched: bool) -> None:
    """It is what is left for the jobs there are that decides on the pace."""
    (pace,) = plan([Load(curve=believed(60.0, 30), running={0: jobs})], Supply(free)).paces
    assert pace.stretched is stretched


@pytest.mark.parametrize("known", [0, 12, 30])
def test_what_comes_back_soon_is_used(known: int) -> None:
    """Requests that come back before most looks make them more frequent than those that never come back."""
    load = Load(curve=believed(600.0, 30), running={known: 200})

    def returning(span: float) -> float:
        return min(900.0, 3.0 * max(0.0, span - 30.0))

    (alone,) = plan([load], Supply(250.0)).paces
    (helped,) = plan([load], Supply(250.0, 30.0, returning)).paces
    assert helped.lateness < alone.lateness


def test_an_old_job_is_counted_for_as_long_as_it_will_be_looked_at() -> None:
    """Jobs that have run for hours and go on are not taken for jobs that need one more look."""
    day = Curve.of([0.02 * age / AGES[-1] for age in AGES])
    old = Load(curve=day, running={step_before(20_000.0): 10})
    # Looked at every ten seconds for an hour they would take 3,600 requests.
    assert plan([old], Supply(900.0)).paces[0].stretched
    # 600 requests are needed before the others come back, and only 500 are left.
    assert plan([old], Supply(500.0, 600.0, lambda span: 5000.0 * (span > 600.0))).paces[0].stretched
    assert not plan([old], Supply(900.0, 600.0, lambda span: 5000.0 * (span > 600.0))).paces[0].stretched
