"""How many turns are lost when waiting callers are cancelled?

Twenty requests use up the second, 200 callers queue behind them and are cancelled within two seconds, some of them in
the very moment of their turn. Then a crowd uses what is left. The same without the 200 tells what should be left.
"""

from __future__ import annotations

import asyncio

from benchmarks.limiter import peers
from benchmarks.limiter.contestants import Contestant
from benchmarks.limiter.scenario import Crowd, Scenario
from benchmarks.virtual import in_virtual_time
from cmsapi.sandbox import Limits

WAITERS = 200
# Equal delays, so that both runs differ in nothing else, and turns come at moments that are known.
_CALM = Scenario(seconds=600.0, callers=100, delay=(0.1, 0.1))
_STEP = 0.05
_AT_ONCE = 5


async def _granted(contestant: Contestant, waiters: int) -> int:
    loop = asyncio.get_running_loop()
    limits = Limits()
    with peers.clocks(loop.time), contestant.open(limits.per_second, limits.per_hour) as acquire:
        crowd = Crowd(acquire, _CALM)
        await asyncio.gather(*(crowd.call() for _ in range(limits.per_second)))
        waiting = [asyncio.create_task(crowd.turn()) for _ in range(waiters)]
        served = []
        for first in range(0, waiters, _AT_ONCE):
            await asyncio.sleep(_STEP)
            for task in waiting[first : first + _AT_ONCE]:
                # One that is done had its turn before it could be cancelled: it makes its request.
                if not task.done():
                    task.cancel()
                else:
                    served.append(asyncio.create_task(crowd.send(task.result())))
        await asyncio.sleep((WAITERS - waiters) / _AT_ONCE * _STEP + 1.0)
        await asyncio.gather(*served)
        await crowd.work()
    return crowd.granted


def lost_turns(contestant: Contestant) -> int:
    """Return how many turns fewer there are after 200 callers were cancelled."""
    without, cancelled = (in_virtual_time(_granted(contestant, waiters)) for waiters in (0, WAITERS))
    return without - cancelled
