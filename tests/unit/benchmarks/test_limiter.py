"""The benchmark of the limiter still runs, and its service is the sandbox."""

from __future__ import annotations

import sysconfig

import pytest

from benchmarks.limiter.cancelling import lost_turns
from benchmarks.limiter.contestants import COLD, CONTESTANTS, OURS, REMEMBERED, Contestant
from benchmarks.limiter.cost import memory
from benchmarks.limiter.scenario import Scenario, run

TOKEN_BUCKET = next(contestant for contestant in CONTESTANTS if contestant.name == "token bucket")


@pytest.mark.parametrize("contestant", OURS, ids=lambda each: each.name)
def test_a_few_minutes_pass_without_a_429(contestant: Contestant) -> None:
    """500 callers use up the hour in about a minute, in turn, and nothing is refused."""
    outcome = run(contestant, Scenario(seconds=180.0))
    assert (outcome.accepted, outcome.refused, outcome.inversions) == (1000, 0, 0)
    assert outcome.t1000 is not None
    assert outcome.t1000 <= 62


def test_the_service_is_strict() -> None:
    """A token bucket, which knows nothing of arrivals, is refused."""
    outcome = run(TOKEN_BUCKET, Scenario(seconds=30.0))
    assert outcome.refused > 20
    assert outcome.accepted <= 20 * 30


def test_cancelled_waiters_cost_nothing() -> None:
    """What is lost with a chain of two limiters is not lost with ours."""
    assert 0 == lost_turns(REMEMBERED) == lost_turns(COLD)
    assert lost_turns(TOKEN_BUCKET) > 100


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="objects take more without the GIL")
def test_the_limiter_is_small() -> None:
    """An hour's thousand requests fit into 12 KB."""
    assert memory() <= 12_000
