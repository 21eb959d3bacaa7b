"""Early polls: what they may lose, and that the last jobs are seen through."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.jobs.planning.durations import DurationModel, step_after, step_before
from cmsapi.jobs.scheduling.exploration import Exploration, kept_for_the_last
from cmsapi.sandbox import Lognormal, Mixture, Weibull
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
    ends = {tracked_job(target=str(number), age_known=True): duration for number, duration in enumerate(durations)}
    waiting = set(ends)
    exploration, now, lost = Exploration(age=0.0), 0.0, 0.0
    while waiting and now < returns:
        now += max(1.0, 0.01 * now)
        exploration.allow(now, extra - lost, returns - now, learned)
        for job in exploration.jobs(model.curve(), sorted(waiting, key=lambda job: job.target), now):
            waiting.remove(job)
            finished = ends[job] <= now
            exploration.answered(job, finished=finished)
            if not finished:
                lost += 1.0
                job.polled_at, job.step = now, step_after(now)
                waiting.add(job)
    return lost, now


@settings(max_examples=60, deadline=None)
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
