"""What is believed of how long jobs take, and how polls at them change it."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, DurationModel, step_after, step_before
from tests.support.examples import examples

steps = st.integers(0, NEVER - 1)
ages = st.floats(0.0, 2.0 * AGES[-1])
thorough = settings(max_examples=examples(10))
# What polls tell: the age at which a job was last seen running, that of the poll, and whether it had finished by then.
sightings = st.lists(st.tuples(steps, steps, st.booleans(), st.sampled_from([1, 1, 1, 5, 200])), max_size=12)
# Between which steps jobs of two sorts end.
SHORT, LONG = (step_before(18.0), step_after(21.0)), (step_before(270.0), step_after(310.0))


def learned(seen: Iterable[tuple[int, int, bool, int]], guess: float = 60.0) -> DurationModel:
    """Learn from what polls told."""
    durations = DurationModel(guess)
    for number, (before, now, over, times) in enumerate(seen):
        for _ in range(times):
            (durations.saw_end if over else durations.saw_running)(before, now)
        if number % 3 == 0:
            durations.curve()
    return durations


def observe(durations: DurationModel, lifetimes: Iterable[float], rng: random.Random) -> None:
    """Look at one job after the other, sooner or later, until it is over; plans are made on the way."""
    for number, lifetime in enumerate(lifetimes):
        known, age = 0, rng.uniform(5.0, 15.0)
        while age < lifetime:
            if (now := step_before(age)) > known:
                durations.saw_running(known, now)
                known = now
            age += rng.uniform(5.0, 10.0) + 0.1 * age
        durations.saw_end(known, max(step_after(age), known + 1))
        if number % 25 == 0:
            durations.curve()


def lognormal(rng: random.Random, median: float, spread: float) -> float:
    """Draw a duration."""
    return median * rng.lognormvariate(0.0, spread)


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    """Draw a distribution of durations: jobs end in a few bursts, and some may never end."""
    bursts = draw(st.dictionaries(st.integers(1, NEVER - 1), st.integers(1, 9), min_size=1, max_size=4))
    whole = sum(bursts.values()) + draw(st.sampled_from([0, 1, 20]))
    return Curve.of([sum(bursts.get(at, 0) for at in range(step + 1)) / whole for step in range(NEVER)])


def over_time(curve: Curve, step: int, age: float) -> float:
    """Integrate the share of jobs that are over from a step to an age; ends are even within a step."""
    at, whole = step, 0.0
    while at + 1 < NEVER and AGES[at + 1] <= age:
        whole += 0.5 * (curve.ended[at] + curve.ended[at + 1]) * (AGES[at + 1] - AGES[at])
        at += 1
    past, rise = age - AGES[at], 0.0
    if at + 1 < NEVER:
        rise = (curve.ended[at + 1] - curve.ended[at]) / (AGES[at + 1] - AGES[at])
    return whole + past * (curve.ended[at] + 0.5 * past * rise)


def of_two_sorts() -> DurationModel:
    """Learn that half of all jobs take some 20 s and half some 300 s, so that a single shape is no longer believed."""
    durations = DurationModel(60.0)
    for _ in range(8):
        durations.learn(Counter({SHORT: 12, LONG: 12}))
        durations.curve()
    return durations


POPULATIONS: dict[str, Callable[[random.Random], float]] = {
    "lognormal, short": lambda rng: lognormal(rng, 20.0, 0.4),
    "lognormal": lambda rng: lognormal(rng, 60.0, 0.6),
    "lognormal, long": lambda rng: lognormal(rng, 1800.0, 0.3),
    "weibull, ageing": lambda rng: rng.weibullvariate(100.0, 2.5),
    "weibull, heavy tail": lambda rng: rng.weibullvariate(200.0, 0.8),
    "always the same": lambda rng: 45.0,
}
populations = pytest.mark.parametrize("draw", POPULATIONS.values(), ids=POPULATIONS)


def weibull(shape: float) -> Callable[[float], float]:
    """Give the share of jobs that are over, by the logarithm of their age in medians."""
    return lambda log: 1.0 - 0.5 ** math.exp(log * shape)


SHAPES: dict[str, Callable[[float], float]] = {
    **{f"lognormal {spread}": statistics.NormalDist(0.0, spread).cdf for spread in (0.15, 0.3, 0.5, 0.75, 1.1, 1.6)},
    **{f"weibull {shape}": weibull(shape) for shape in (0.8, 1.2, 1.8, 3.0)},
}


@given(ages)
@example(AGES[1])
@example(AGES[-1])
def test_ages_lie_between_their_steps(age: float) -> None:
    """Every age is rounded down to one step of the scale and up to that or the next."""
    below, above = step_before(age), step_after(age)
    assert AGES[below] <= age
    assert above in (below, min(below + 1, NEVER - 1))
    assert AGES[above] >= min(age, AGES[-1])
    assert (above == below) == (age in AGES or age > AGES[-1])


@thorough
@given(sightings)
def test_a_curve_is_a_distribution(seen: list[tuple[int, int, bool, int]]) -> None:
    """Whatever is seen, in whatever order, the share that is over begins with nothing, grows, and stays below all."""
    ended = learned(seen).curve().ended
    assert len(ended) == NEVER
    assert ended[0] == 0.0
    assert all(earlier <= later for earlier, later in pairwise(ended))
    assert ended[-1] <= 1.0


@thorough
@given(sightings, steps, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_quantiles_undo_the_curve(
    seen: list[tuple[int, int, bool, int]], step: int, share: float, other: float
) -> None:
    """At a quantile that share of the jobs is over, one step before it is not; a larger share takes longer."""
    curve = learned(seen).curve()
    at = curve.quantile(share, step)
    index = AGES.index(at)
    wanted = curve.ended[step] + share * curve.running(step)
    assert at >= AGES[step]
    assert curve.ended[index] >= wanted or at == AGES[-1]
    assert index == step or curve.ended[index - 1] <= wanted
    assert (curve.quantile(other, step) <= at) == (other <= share) or curve.quantile(other, step) == at


@thorough
@given(sightings, steps, ages, ages)
def test_lateness_and_remaining_time_are_times(
    seen: list[tuple[int, int, bool, int]], step: int, first: float, second: float
) -> None:
    """A job is late by no more than the time since it ran, and goes on for no more than was asked about; both grow."""
    curve = learned(seen).curve()
    shorter, longer = sorted((first, second))
    late = [curve.lateness(AGES[step], AGES[step] + span) for span in (0.0, shorter, longer)]
    goes_on = [curve.remaining(step, span) for span in (0.0, shorter, longer)]
    assert late[0] == goes_on[0] == 0.0
    for earlier, later in ((0, 1), (1, 2)):
        assert late[earlier] <= late[later] + 1e-6 * longer
        assert goes_on[earlier] <= goes_on[later] + 1e-6 * longer
    assert late[1] <= shorter * (1 + 1e-6)
    assert goes_on[1] <= shorter * (1 + 1e-6)
    assert goes_on[2] <= curve.remaining(step) + 1e-6 * longer


@thorough
@given(curves(), steps, ages)
def test_lateness_and_remaining_time_are_areas(curve: Curve, step: int, span: float) -> None:
    """What is expected of a job that runs is what all jobs that run then meet, summed up step by step."""
    age, running = AGES[step] + span, curve.running(step)
    assert curve.area[step] == pytest.approx(over_time(curve, 0, AGES[step]))
    over = over_time(curve, step, age)
    inside = min(age, AGES[-1])
    if running > 1e-3:
        late = (over - curve.ended[step] * span) / running
        goes_on = (inside - AGES[step] - over_time(curve, step, inside)) / running
        assert curve.lateness(AGES[step], age) == pytest.approx(late, rel=1e-6, abs=1e-3)
        assert curve.remaining(step, span) == pytest.approx(min(span, goes_on), rel=1e-6, abs=1e-3)


@thorough
@given(curves(), steps, st.floats(0.0, 1.0))
def test_nothing_is_late_that_ran_later(curve: Curve, step: int, share: float) -> None:
    """At an age at which a job was still running it is late by nothing."""
    assert curve.lateness(AGES[step], share * AGES[step]) == 0.0


def test_what_runs_on_when_all_are_over_is_taken_to_end_now_or_in_half_its_age() -> None:
    """Where no job should run, one that does was over at once when it is late, and goes on for half its age."""
    curve = Curve.of([0.0, *([1.0] * (NEVER - 1))])
    for step in (1, 30):
        assert curve.lateness(AGES[step], AGES[step] + 7.0) == pytest.approx(7.0)
        assert curve.lateness(AGES[step], AGES[step]) == curve.lateness(AGES[step], 0.5 * AGES[step]) == 0.0
        assert curve.remaining(step) == pytest.approx(0.5 * AGES[step])
        assert curve.remaining(step, 0.1) == 0.1


def test_a_quantile_begins_where_a_job_was_seen() -> None:
    """Without a step it is that of all jobs; of jobs that run at a step none is over before it."""
    curve = Curve.of([0.0, *([0.5] * 30), *([1.0] * (NEVER - 31))])
    assert curve.quantile(0.4) == AGES[1]
    assert curve.quantile(0.4, 20) == curve.quantile(0.9) == AGES[31]
    assert Curve.of([0.0] * NEVER).quantile(0.0, 50) == AGES[-1]
    assert Curve.of([1.0] * NEVER).quantile(1.0, 50) == AGES[-1]


@pytest.mark.parametrize("age", [100.0, 1000.0, 20_000.0])
def test_a_job_that_hardly_ends_goes_on_for_the_time_asked_about(age: float) -> None:
    """Of a job that goes on for a day a minute more is foretold, however coarse the scale is at its age."""
    curve = Curve.of([0.0] * NEVER)
    assert curve.remaining(step_before(age), 60.0) == pytest.approx(60.0)


def test_nothing_seen_is_the_guess() -> None:
    """Before anything is seen the median is about the one that was guessed."""
    for guess in (20.0, 60.0, 600.0):
        assert DurationModel(guess).curve().quantile(0.5) == pytest.approx(guess, rel=0.2)


@populations
def test_a_hundred_ends_show_the_median(draw: Callable[[random.Random], float]) -> None:
    """After a hundred jobs, polled now and then, their median is known to a quarter."""
    rng = random.Random(3)
    durations = DurationModel(60.0)
    lifetimes = [draw(rng) for _ in range(100)]
    observe(durations, lifetimes, rng)
    assert durations.curve().quantile(0.5) == pytest.approx(statistics.median(lifetimes), rel=0.25)
    assert durations.ends == 100


@populations
def test_what_is_seen_brings_belief_closer_to_the_truth(draw: Callable[[random.Random], float]) -> None:
    """The largest gap between the curve and the truth is smaller after 150 jobs than before the first, and small."""
    rng = random.Random(4)
    drawn = sorted(draw(rng) for _ in range(5000))

    def error(curve: Curve) -> float:
        truth = (sum(lifetime <= age for lifetime in drawn) / len(drawn) for age in AGES)
        # For jobs that always take the same time, a poll tells only between which steps they ended.
        return statistics.fmean(abs(have - subscribe) for have, subscribe in zip(curve.ended, truth, strict=True))

    durations = DurationModel(60.0)
    before = error(durations.curve())
    observe(durations, (draw(rng) for _ in range(150)), rng)
    assert error(durations.curve()) < min(0.02, before)


def test_two_sorts_of_jobs_are_told_apart() -> None:
    """Where half of the jobs take 20 s and half 300 s, it comes to be known that hardly any end in between."""
    rng = random.Random(5)
    durations = DurationModel(60.0)
    observe(durations, (lognormal(rng, rng.choice((20.0, 300.0)), 0.25) for _ in range(300)), rng)
    curve = durations.curve()
    assert curve.ended[step_after(45.0)] == pytest.approx(0.5, abs=0.1)
    assert curve.ended[step_after(150.0)] - curve.ended[step_after(45.0)] < 0.1
    # Of a job that still runs after 60 s it is known that it is one of the long ones.
    assert curve.quantile(0.5, step_after(60.0)) == pytest.approx(300.0, rel=0.2)


@populations
@pytest.mark.parametrize("jobs", [0, 20])
def test_a_job_that_still_runs_moves_ends_later(jobs: int, draw: Callable[[random.Random], float]) -> None:
    """A poll that finds a job running makes it less likely that the next has finished by then, and no end sooner."""
    rng = random.Random(8)
    durations = DurationModel(60.0)
    observe(durations, (draw(rng) for _ in range(jobs)), rng)
    before = durations.curve()
    now = step_before(before.quantile(0.6))
    durations.saw_running(0, now)
    after = durations.curve()
    assert after.ended[now] < before.ended[now]
    assert all(after.quantile(share) >= before.quantile(share) for share in (0.1, 0.5, 0.9))
    assert durations.ends == jobs


def test_jobs_that_run_on_and_on_are_learned_from() -> None:
    """Without a single end, jobs found running after ten minutes push the expected end to about that."""
    durations = DurationModel(60.0)
    for _ in range(5):
        durations.saw_running(0, step_before(60.0))
        durations.saw_running(step_before(60.0), step_before(600.0))
    assert durations.curve().quantile(0.5) > 450.0


@pytest.mark.parametrize(("old", "new"), [(60.0, 400.0), (400.0, 60.0)])
def test_a_service_that_changes_is_followed(old: float, new: float) -> None:
    """However much was seen of the old durations, three hundred jobs are enough to believe the new ones."""
    rng = random.Random(6)
    durations = DurationModel(60.0)
    observe(durations, (lognormal(rng, old, 0.4) for _ in range(600)), rng)
    assert durations.curve().quantile(0.5) == pytest.approx(old, rel=0.25)
    observe(durations, (lognormal(rng, new, 0.4) for _ in range(300)), rng)
    assert durations.curve().quantile(0.5) == pytest.approx(new, rel=0.5)


def test_unexpected_durations_are_learned() -> None:
    """A hundred jobs that all run on for hours, after hundreds that took a minute, are no contradiction."""
    durations = learned([(step_before(55.0), step_after(60.0), True, 350)])
    assert durations.curve().quantile(0.9) < 80.0
    for _ in range(100):
        durations.saw_running(0, step_before(7200.0))
    assert durations.curve().quantile(0.5) < 80.0
    assert durations.curve().quantile(0.9) > 7200.0


@pytest.mark.parametrize(("usual", "end"), [(15_000.0, (0, 1)), (2.5, (NEVER - 1, NEVER))])
def test_ends_that_could_not_be_are_learned_from(usual: float, end: tuple[int, int]) -> None:
    """A hundred jobs that end at once among those that take hours, or never among those of seconds, move belief."""
    durations = DurationModel(usual)
    durations.learn(Counter({(step_before(0.9 * usual), step_after(1.1 * usual)): 150}))
    before = after = durations.curve().ended
    for _ in range(10):
        durations.learn(Counter({end: 10}))
        after = durations.curve().ended
    assert after[1] > before[1] if end[0] == 0 else after[40] < before[40]


def test_jobs_that_were_given_up_are_forgotten_with_the_rest() -> None:
    """Thousands of jobs whose ends were not seen do not outweigh later ones whose ends were."""
    alive = step_before(270.0)
    durations = DurationModel(60.0)
    for _ in range(3000):
        durations.saw_running(0, step_before(30.0))
    for _ in range(40):
        for _ in range(75):
            durations.saw_end(0, step_after(20.0))
            durations.saw_running(0, alive)
            durations.saw_end(alive, step_after(330.0))
        durations.curve()
    assert durations.curve().ended[step_after(45.0)] == pytest.approx(0.5, abs=0.1)


def test_the_same_sightings_teach_the_same() -> None:
    """What is learned depends on nothing but what was seen."""
    seen: list[Any] = [(0, 20, False, 5), (20, 30, True, 3), (0, 12, True, 9)]
    assert learned(seen).curve().ended == learned(seen).curve().ended
    assert math.isclose(learned(seen).ends, 12)


@pytest.mark.parametrize("ended", SHAPES.values(), ids=SHAPES)
def test_every_shape_that_is_thought_of_is_learned(ended: Callable[[float], float]) -> None:
    """After three hundred ends, spread as a shape says, belief is that shape, for seconds and for hours."""
    median = 2.0 * 1.3**15
    truth = [0.0, *(ended(math.log(age / median)) for age in AGES[1:])]
    shares = enumerate(pairwise(truth))
    durations = DurationModel(60.0)
    durations.learn(Counter({(step, step + 1): 300.0 * (after - before) for step, (before, after) in shares}))
    assert list(durations.curve().ended) == pytest.approx(truth, abs=0.04)


def test_two_sorts_are_told_apart_by_what_others_saw() -> None:
    """What others saw of two sorts of jobs is enough to know that none ends in between."""
    ended = of_two_sorts().curve().ended
    assert ended[SHORT[0] - 4] < 0.02
    assert ended[SHORT[1] + 4] == pytest.approx(0.5, abs=0.05)
    assert ended[LONG[0] - 4] == pytest.approx(0.5, abs=0.05)
    assert ended[LONG[1] + 4] > 0.98


@pytest.mark.parametrize("before", [of_two_sorts, lambda: DurationModel(60.0)], ids=["two sorts", "nothing seen"])
def test_what_others_saw_teaches_what_it_would_have_taught_here(before: Callable[[], DurationModel]) -> None:
    """Jobs that were polled in between, in any order, teach what a record of their ends teaches elsewhere."""
    here, there = before(), before()
    ends = here.ends
    for at in (SHORT[0], LONG[0]):
        for _ in range(5):
            here.saw_running(0, 8)
        for _ in range(5):
            here.saw_running(8, 8)
            here.saw_running(8, at)
    for low, high in (SHORT, LONG):
        for _ in range(5):
            here.saw_end(low, high)
    here.saw_end(0, 12)
    there.learn(Counter({SHORT: 2, LONG: 5, (0, 12): 1}))
    there.learn(Counter({SHORT: 3}))
    assert list(here.curve().ended) == pytest.approx(list(there.curve().ended), rel=1e-6, abs=1e-9)
    assert here.ends == there.ends == ends + 11
    assert here.unwritten == {SHORT: 5, LONG: 5, (0, 12): 1}
    assert not there.unwritten


@pytest.mark.parametrize("before", [of_two_sorts, lambda: DurationModel(60.0)], ids=["two sorts", "nothing seen"])
def test_a_job_counts_once(before: Callable[[], DurationModel]) -> None:
    """However often three jobs were found running, belief is as if each had been polled but the last time."""
    often, once = before(), before()
    for at, now, times in ((0, 9, 3), (9, 20, 3), (20, 35, 2), (35, 45, 2)):
        for _ in range(times):
            often.saw_running(at, now)
    for now in (20, 45, 45):
        once.saw_running(0, now)
    assert list(often.curve().ended) == pytest.approx(list(once.curve().ended), rel=1e-6, abs=1e-9)


def test_a_poll_that_tells_nothing_new_changes_nothing() -> None:
    """A job that ran at a step and is found running at that step again is no news."""
    durations = of_two_sorts()
    before = durations.curve()
    durations.saw_running(20, 20)
    assert durations.curve() is before


def test_an_end_between_two_polls_at_one_step_is_one_step_wide() -> None:
    """A job that ended within a step of the scale ended before the next one."""
    durations = DurationModel(60.0)
    durations.saw_end(20, 20)
    durations.saw_end(20, 19)
    assert durations.unwritten == {(20, 21): 2}


def test_half_of_what_was_seen_is_forgotten() -> None:
    """Of more than four hundred ends, what was seen counts half: three to one before, next to as many, is even."""
    durations = DurationModel(60.0)
    for _ in range(10):
        durations.learn(Counter({SHORT: 30, LONG: 10}))
        durations.curve()
    assert durations.ends == 400
    durations.learn(Counter({SHORT: 1, LONG: 1}))
    durations.curve()
    assert durations.ends == 201
    durations.learn(Counter({LONG: 100}))
    durations.curve()
    assert durations.ends == 301
    assert durations.curve().ended[step_after(80.0)] == pytest.approx(0.5, abs=0.01)
