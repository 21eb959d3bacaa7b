"""A few rounds of each long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long import chaos, crash, races

pytestmark = pytest.mark.slow


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", [0])
async def test_a_batch_that_is_killed_loses_and_pays_nothing_twice(seed: int, tmp_path: Path) -> None:
    """Kill a program about five times while it runs a batch, and compare its outcomes with the service's ledger."""
    verdict = await crash.judge(seed, "sqlite", tmp_path)
    assert verdict.sound, crash.line(verdict)


@pytest.mark.parametrize("seed", [2, 4, 6])
def test_random_faults_cost_neither_money_nor_outcomes(seed: int) -> None:
    """Run fan-outs and batches with random policies on a service with random faults, in virtual time."""
    verdict = chaos.judge(seed)
    assert not verdict.faults, chaos.line(verdict)


@pytest.mark.parametrize("step", ["resume", "batch"])
async def test_one_of_two_processes_settles_the_launch_of_a_dead_one(step: str, tmp_path: Path) -> None:
    """Let two processes settle the same rows at once: nothing is paid for again, and each row is settled once."""
    faults, seen = await races.settle(tmp_path, 10, [step], blind=False)
    assert not faults, seen


async def test_a_clock_that_is_ahead_costs_nothing(tmp_path: Path) -> None:
    """Let a process whose clock is five minutes ahead take up launches that are under way."""
    faults, seen = await races.ahead(tmp_path, 300.0, "batch")
    assert not faults, seen
