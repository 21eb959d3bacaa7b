"""What is learned about durations."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from cmsapi.jobs.durations import Durations


@given(st.lists(st.tuples(st.floats(0, 2000), st.floats(0, 2000)), max_size=50))
def test_a_life_table_stays_a_life_table(polls: list[tuple[float, float]]) -> None:
    """Whatever was seen, the share of jobs that outlive an age decreases with the age and stays positive."""
    model = Durations()
    for first, second in polls:
        model.saw_end(min(first, second), max(first, second))
        model.saw_running(min(first, second), max(first, second))
    model.refresh()
    assert all(0 < later <= earlier <= 1 for earlier, later in pairwise(model.alive))
    assert all(earlier <= later for earlier, later in pairwise(model.area))


def test_durations_that_were_seen_outweigh_the_guess() -> None:
    """After a hundred jobs of five minutes, half of the next ones are expected to end at about that age."""
    model = Durations()
    for _ in range(100):
        model.saw_running(0.0, 295.0)
        model.saw_end(295.0, 305.0)
    model.refresh()
    assert 250 <= model.quantile(0.5, 0) <= 360
