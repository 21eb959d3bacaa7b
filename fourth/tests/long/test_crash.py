"""A few rounds of the long runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long import chaos, crash

pytestmark = pytest.mark.slow


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", [0, 1])
async def test_a_batch_that_is_killed_loses_and_pays_nothing_twice(seed: int, tmp_path: Path) -> None:
    """Kill a program about five times while it runs a batch, and compare its outcomes with the service's ledger."""
    verdict = await crash.judge(seed, "sqlite", tmp_path)
    assert verdict.sound, crash.line(verdict)


@pytest.mark.parametrize("seed", [2, 4, 6, 14, 16])
def test_random_faults_cost_neither_money_nor_outcomes(seed: int) -> None:
    """Run fan-outs and batches with random policies on a service with random faults, in virtual time."""
    verdict = chaos.judge(seed)
    assert not verdict.faults, chaos.line(verdict)
