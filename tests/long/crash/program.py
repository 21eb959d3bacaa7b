"""The program that is killed: `python -m tests.long.crash.program STATE BASE_URL KEY KIND WORKSPACE ITEM…`.

It runs a batch once and says on each line what is known of one item, or at the end that it is through.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import cmsapi
from tests.support.loops import chosen, run_on

# Answers of a service on this machine take milliseconds; nothing that was sent arrives later than this.
SETTLE = 0.6


async def main(state: str, base_url: str, key: str, kind: str, workspace_id: str, items: list[str]) -> None:
    """Run the batch to its end."""
    client = cmsapi.Client(
        key,
        base_url=base_url,
        state=state,
        limits=cmsapi.RateLimits(per_second=1000, per_hour=100_000),
        polling=cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1),
        timeouts=cmsapi.Timeouts(request=5.0),
        launch=cmsapi.LaunchPolicy(settle=SETTLE),
    )

    async def launch(item: str) -> cmsapi.Job[Any]:
        if kind == "keyword_analysis":
            return await client.keywords.analyze(item)
        if kind == "prompt_analysis":
            return await client.prompts.analyze(item)
        if kind == "idea_search":
            return await client.content_ideas.search(workspace_id, item)
        return await client.contents.generate(item, on_review=lambda review: "confirm")

    async with client, client.jobs.batch("nightly") as batch:
        say({"started": True})
        async for outcome in batch.map(launch, items, in_flight=20):
            unknown = isinstance(outcome.error, cmsapi.LaunchUnknownError)
            said = {"item": outcome.item, "unknown": unknown, "error": repr(outcome.error) if outcome.error else None}
            say({**said, "phase": str(outcome.job.status.phase) if outcome.job else None})
        say({"through": not batch.unfinished, "unfinished": batch.unfinished})


def say(what: Any) -> None:
    """Tell the process that kills this one."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    state, base_url, key, kind, workspace_id, *items = sys.argv[1:]
    run_on(chosen(), main(state, base_url, key, kind, workspace_id, items))
