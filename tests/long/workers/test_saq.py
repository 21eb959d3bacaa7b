"""The example with SAQ: jobs on two workers, of which one is killed."""

from __future__ import annotations

import asyncio

import pytest

from tests.long.workers.ledger import box, judge
from tests.long.workers.processes import Fleet, killed, lines_of, until

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]

QUICK = ("-m", "tests.long.workers.quick", "saq")


async def test_a_killed_worker(redis: str) -> None:
    """What a killed worker had is run by the other one: 60 done, 60 paid, nothing refused."""
    async with box(60) as sandbox, Fleet(sandbox, REDIS=redis) as fleet:
        first, _ = await asyncio.gather(fleet.ready(*QUICK), fleet.ready(*QUICK))
        asking = await fleet.start(*QUICK, "tonight", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 20)
        await killed(first)
        judge(sandbox, await lines_of(asking))
