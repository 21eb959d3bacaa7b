"""A small burden for a short time; `make soak` holds a large one for a day."""

from __future__ import annotations

import pytest

from benchmarks.virtual import in_virtual_time
from tests.long.soak.places import in_process, over_loopback
from tests.long.soak.run import Burden, Soaked

pytestmark = pytest.mark.slow


def test_hours_in_process_leave_nothing() -> None:
    """Forty callers and forty jobs for two simulated hours end and leave nothing."""
    burden = Burden(callers=40, jobs=40, lasts=2 * 3600.0, pause=900.0, patience=60.0, samples=6)
    check(in_virtual_time(in_process(burden)))


@pytest.mark.enable_socket
async def test_seconds_over_loopback_leave_nothing() -> None:
    """Thirty callers and twenty jobs for a real second of faults end and leave nothing."""
    check(await over_loopback(Burden(callers=30, jobs=20, lasts=1.0, pause=0.3, patience=0.2, samples=6)))


def check(soaked: Soaked) -> None:
    """Check that there was a burden, and that nothing is left of it."""
    assert not any(soaked.leaked.values()), soaked.leaked
    assert soaked.ends["result"] > 20
    assert soaked.fewest > 0
    assert soaked.memory
