"""The naive loop that the demonstration compares with."""

from __future__ import annotations

import pytest

from cmsapi.cli.fanouts.naive import run_naively
from cmsapi.sandbox import Limits


@pytest.mark.parametrize(("duration", "results", "requests"), [(4, 0, 2), (7, 0, 3), (12, 0, 4), (7, 1, 4)])
def test_one_job_takes_a_launch_and_a_poll_every_five_seconds(duration: float, results: int, requests: int) -> None:
    """The last poll comes after the end; a result of its own takes one more request."""
    run = run_naively([(duration, results)], Limits())
    assert (run.requests, run.refused) == (requests, 0)
    assert duration <= run.seconds <= duration + 6


def test_a_burst_is_refused() -> None:
    """Of more launches in a second than the limit admits, the others are refused and sent again."""
    run = run_naively([(4, 0)] * 30, Limits(per_second=20))
    assert run.refused >= 10
    assert run.requests == 60 + run.refused
    assert run_naively([(4, 0)] * 30, Limits.unlimited()).refused == 0
