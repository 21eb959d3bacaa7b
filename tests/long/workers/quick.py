"""The worker of an example, in a hurry: `python -m tests.long.workers.quick dbos NAME` or `… saq`.

It runs what the example has, with a client that polls often and does not wait long for what may still arrive: here
everything is on one machine.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import cmsapi
from tests.long.workers.ledger import PER_SECOND

SETTINGS: dict[str, Any] = {
    "limits": cmsapi.RateLimits(per_second=PER_SECOND),
    "polling": cmsapi.PollPolicy(min_interval=0.3, max_interval=0.6),
    "timeouts": cmsapi.Timeouts(request=5.0),
    "launch": cmsapi.LaunchPolicy(settle=1.0),
}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    match sys.argv[1:]:
        case ["dbos", name]:
            import dbos_worker

            asyncio.run(dbos_worker.work(name, **SETTINGS))
        case ["saq"]:
            import saq_worker
            from saq import Worker

            async def connect(context: dict[str, Any]) -> None:
                """Make the client, and say that this worker is ready."""
                context["client"] = cmsapi.Client(state=saq_worker.REDIS, **SETTINGS)
                sys.stdout.write("ready\n")
                sys.stdout.flush()

            hurried = {"startup": connect, "concurrency": 1, "timers": {"sweep": 1}}
            asyncio.run(Worker(**{**saq_worker.settings, **hurried}).start())
        case ["saq", occasion, *keyword_ids]:
            import saq_worker

            asyncio.run(saq_worker.analyse_all(occasion, keyword_ids, heartbeat=15))
        case _:
            sys.exit("what?")
