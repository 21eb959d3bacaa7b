"""A disk that is full in the middle of a batch: nothing is paid twice, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cmsapi.sandbox import Fixed, Limits, Sandbox

# A bound on the size of files is what a full disk is to SQLite: a write that fails in the kernel.
BATCH = """
import asyncio, json, resource, signal, sys
import cmsapi

async def main(key, base_url, state, room, *items):
    client = cmsapi.Client(
        key,
        base_url=base_url,
        state=state,
        limits=cmsapi.RateLimits(per_second=1000, per_hour=100_000),
        polling=cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1),
        launch=cmsapi.LaunchPolicy(settle=0.5),
    )
    ends = []
    async with client, client.jobs.batch("nightly") as batch:
        async for outcome in batch.map(client.keywords.analyze, items, in_flight=10):
            ends.append([outcome.item, type(outcome.error).__name__ if outcome.error else None])
            if len(ends) == 10 and int(room):
                # What is written already stays; nothing more goes in.
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
    print(json.dumps(ends))

asyncio.run(main(*sys.argv[1:]))
"""


async def run(sandbox: Sandbox, state: str, room: int) -> list[list[Any]]:
    """Run the batch to its end, with so many bytes for each file after ten items, and say how each item ended."""
    words = [sys.executable, "-c", BATCH, sandbox.api_key, sandbox.base_url, state, str(room), *sandbox.keyword_ids]
    process = await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=PIPE)
    async with asyncio.timeout(120):
        printed, said = await process.communicate()
    lines = printed.splitlines()
    ends: list[list[Any]] = json.loads(lines[-1]) if lines else []
    assert process.returncode == 0 or b"StateError: " in said, said.decode()
    assert sandbox.api_key.encode() not in said
    return ends


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_a_disk_that_is_full_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    """What cannot be written down is not launched; with room again a rerun launches the rest, each item once."""
    sandbox = Sandbox(durations=Fixed(0.2), keywords=60, limits=Limits(per_second=1000, per_hour=100_000))
    async with sandbox:
        state = f"sqlite:///{tmp_path / 'state.db'}"
        first = await run(sandbox, state, 1)
        after_first = Counter(job.target_id for job in sandbox.jobs)
        assert max(after_first.values()) == 1
        assert len(after_first) < 60
        second = await run(sandbox, state, 0)
        launches = Counter(job.target_id for job in sandbox.jobs)
        unknown = {item for item, error in [*first, *second] if error == "LaunchUnknownError"}
        assert max(launches.values()) == 1
        assert {item for item, error in second if error is None} | unknown == set(sandbox.keyword_ids)
