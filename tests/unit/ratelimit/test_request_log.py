"""What the windows count with: a log that forgets in time, and an estimate of foreign usage."""

from __future__ import annotations

import math

import pytest

from cmsapi.ratelimit.foreign_usage import ForeignUsage
from cmsapi.ratelimit.request_log import HOUR, RequestLog


@pytest.mark.parametrize(
    ("before", "at_least", "at_most", "after"),
    [(0, 5, 9, 5), (7, 5, 9, 7), (12, 5, 9, 9), (5, 5, 5, 5), (3, -4, -2, 0), (0, 0, 1, 0), (2, -1, 1, 1)],
)
def test_the_estimate_moves_no_further_than_it_must(before: int, at_least: int, at_most: int, after: int) -> None:
    """Within the bounds it stays, outside it comes to the nearer one, and it is never negative."""
    others = ForeignUsage()
    others.correct(0.0, before, before, math.inf, math.inf)
    others.correct(100.0, at_least, at_most, 250.0, 251.0)
    assert (others.count, others.oldest_leaves, others.last_leaves) == (after, 250.0, 100.0 + HOUR)


def test_a_log_of_several_hours_counts_as_a_list_of_all_times_does() -> None:
    """It deletes what has left the hour only now and then, which shows in nothing that it tells."""
    log, every = RequestLog(second=1.0, hour=100.0), [at * 0.37 for at in range(3_000)]
    for at in every:
        log.add(at)
        log.age(at)
        assert len(log) == sum(at - 100.0 < each <= at for each in every)
        assert log.in_second(at) == sum(at - 1.0 < each <= at for each in every)
