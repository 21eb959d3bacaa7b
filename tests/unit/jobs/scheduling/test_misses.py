"""Polls that may find their jobs running: early ones, and those that are put off when too many have done so."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.jobs.planning.budget import kept_for_the_last
from cmsapi.jobs.planning.durations import Curve, DurationModel, step_after, step_before
from cmsapi.jobs.scheduling.misses import Misses
from cmsapi.jobs.timing import Timing
from cmsapi.sandbox import Lognormal, Mixture, Weibull
from tests.support.examples import examples
from tests.support.jobs import tracked_job

FIRST_AGE = 8.0
DRAWS: list[Callable[[random.Random], float]] = [
    Lognormal(60.0, 0.3),
    Lognormal(300.0, 1.0),
    Weibull(200.0, 0.6),
    Mixture([(0.9, Lognormal(60.0, 0.1)), (0.1, Lognormal(400.0, 0.8))]),
    lambda rng: 10_000.0,
]


def seen_through(
    durations: list[float], extra: float, returns: float, learned: int, rng: random.Random
) -> tuple[float, float]:
    """Explore jobs that were launched together, until all are finished or requests come back.

    Returns:
        What was lost, and the time.
    """
    model = DurationModel(60.0)
    for _ in range(learned):
        age = rng.choice(durations)
        model.saw_end(step_before(0.9 * age), step_after(age))
    ends = {tracked_job(target=str(number)): duration for number, duration in enumerate(durations)}
    waiting = {job: Timing(0.0, True, 0.0) for job in ends}
    misses, now, lost = Misses(), 0.0, 0.0
    while waiting and now < returns:
        now += max(1.0, 0.01 * now)
        misses.allow(now, extra - lost, returns - now, learned)
        for job in misses.chosen(model.curve(), waiting, now):
            finished = ends[job] <= now
            misses.returned(job, finished=finished)
            if finished:
                del waiting[job]
            else:
                lost += 1.0
                waiting[job].polled_at = now
    return lost, now


@settings(max_examples=examples(15))
@given(
    st.sampled_from(DRAWS),
    st.integers(1, 120),
    st.floats(0.0, 150.0),
    st.floats(100.0, 3600.0),
    st.sampled_from([0, 5, 300]),
    st.integers(0, 1000),
)
def test_early_polls_never_take_the_last_poll_of_a_job(
    draw: Callable[[random.Random], float], count: int, extra: float, returns: float, learned: int, seed: int
) -> None:
    """Whatever is believed and whatever is true, no more polls find their job running than there are extra requests."""
    rng = random.Random(seed)
    lost, _ = seen_through([draw(rng) for _ in range(count)], extra, returns, learned, rng)
    assert lost <= extra


@given(st.floats(FIRST_AGE, 3600.0), st.floats(1.0, 3600.0), st.integers(1, 50), st.integers(0, 1000))
def test_what_is_kept_sees_every_job_through(age: float, returns: float, count: int, seed: int) -> None:
    """Polled one after the other at ages that double, any jobs end with what is kept, or requests come back."""
    rng = random.Random(seed)
    ends = sorted((age * rng.paretovariate(0.3) for _ in range(count)), reverse=True)
    kept, now = kept_for_the_last(age, returns), age
    while ends and now < age + returns:
        if ends[-1] <= now:
            ends.pop()
        else:
            now *= 2.0
            kept -= now < age + returns
    assert kept >= -1e-9


@pytest.mark.parametrize("learned", [0, 300])
def test_jobs_follow_at_once_where_the_first_are_finished(learned: int) -> None:
    """Three hundred jobs that all take 60 s are seen to end soon after, and little is lost."""
    lost, ended = seen_through([60.0] * 300, 40.0, 3600.0, learned, random.Random(1))
    assert lost <= 12
    assert ended < 210.0


def believed() -> Curve:
    """Return the durations of jobs that took about a minute."""
    model = DurationModel(60.0)
    for _ in range(300):
        model.saw_end(step_before(55.0), step_after(65.0))
    return model.curve()


def surprised(misses: Misses, polls: int, *, finished: bool = False, learned: float = 300.0) -> None:
    """Poll jobs that are older than nearly all such jobs became."""
    for _ in range(polls):
        timing = Timing(0.0, True, 0.0)
        misses.answered(tracked_job(), timing, 80.0, finished=finished, curve=believed(), learned=learned)


@pytest.mark.parametrize(("extra", "learned", "after"), [(8.0, 300.0, 4), (40.0, 300.0, 6), (40.0, 10.0, 28)])
def test_polls_are_put_off_when_more_jobs_run_than_chance_explains(extra: float, learned: float, after: int) -> None:
    """More misses are borne where more are to spare, and where little is known."""
    misses = Misses(extra=extra)
    surprised(misses, after - 1, learned=learned)
    assert misses.probe_at is None
    surprised(misses, 3, learned=learned)
    assert misses.probe_at is not None


def test_a_finished_job_lets_polls_go_on() -> None:
    """After the first job that is found finished planned polls go on, and half as many misses put them off again."""
    misses = Misses(extra=40.0)
    surprised(misses, 8)
    surprised(misses, 1, finished=True)
    assert misses.probe_at is None
    surprised(misses, 1)
    assert misses.probe_at is None
    surprised(misses, 3)
    assert misses.probe_at is not None


def test_what_was_expected_puts_no_poll_off() -> None:
    """Half of the polls find their jobs running, as was believed."""
    misses, rng, curve = Misses(extra=200.0), random.Random(1), believed()
    half = curve.quantile(0.5)
    for _ in range(300):
        timing = Timing(0.0, True, 0.0)
        misses.answered(
            tracked_job(), timing, half, finished=rng.random() < curve.at(half)[0], curve=curve, learned=300.0
        )
    assert misses.probe_at is None


@pytest.mark.parametrize(
    ("age", "returns", "wait"), [(8.0, 3000.0, 5.0), (400.0, 3000.0, 100.0), (6000.0, 20.0, 20.0), (6000.0, 1.0, 5.0)]
)
def test_probes_come_at_ages_that_grow(age: float, returns: float, wait: float) -> None:
    """The older the jobs are, the longer is the wait for the next probe, until requests come back; the policy holds."""
    job, misses = tracked_job(), Misses(probe_at=100.0, returns=returns)
    waiting = {job: Timing(100.0 - age, True, 0.0)}
    assert list(misses.chosen(believed(), waiting, 100.0)) == [job]
    assert misses.probe_at == 100.0 + wait
