"""When planned polls are put off, and when they go on."""

from __future__ import annotations

import random

import pytest

from cmsapi.jobs.scheduling.breaker import Breaker


def in_vain(
    breaker: Breaker, count: int, *, expected: float = 0.1, extra: float = 40.0, learned: float = 300.0
) -> None:
    """Have polls find their jobs running."""
    for _ in range(count):
        breaker.answered(finished=False, expected=expected, extra=extra, learned=learned)


@pytest.mark.parametrize(("extra", "learned", "opens_after"), [(8.0, 300.0, 4), (40.0, 300.0, 7), (40.0, 10.0, 31)])
def test_it_opens_when_more_jobs_run_than_chance_explains(extra: float, learned: float, opens_after: int) -> None:
    """More polls in vain are borne where more are to spare, and where little is known."""
    breaker = Breaker()
    in_vain(breaker, opens_after - 1, extra=extra, learned=learned)
    assert not breaker.open
    in_vain(breaker, 1, extra=extra, learned=learned)
    assert breaker.open


def test_a_finished_job_closes_it() -> None:
    """After the first job that is found finished planned polls go on, and half as many in vain open it again."""
    breaker = Breaker()
    in_vain(breaker, 7)
    breaker.answered(finished=True, expected=0.1, extra=40.0, learned=300.0)
    assert not breaker.open
    in_vain(breaker, 2)
    assert not breaker.open
    in_vain(breaker, 2)
    assert breaker.open


def test_what_was_expected_does_not_open_it() -> None:
    """Half of the polls find their jobs running, as was believed."""
    breaker, rng = Breaker(), random.Random(1)
    for _ in range(300):
        breaker.answered(finished=rng.random() < 0.5, expected=0.5, extra=200.0, learned=300.0)
    assert not breaker.open


def test_probes_come_at_ages_that_grow() -> None:
    """The older the jobs are, the longer is the wait for the next probe, and it keeps the policy."""
    breaker = Breaker()
    breaker.wait(100.0, 8.0, 5.0)
    assert breaker.probe_at == 105.0
    breaker.wait(100.0, 400.0, 5.0)
    assert breaker.probe_at == 200.0
