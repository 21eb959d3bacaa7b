"""The two places where a burden is held: a simulated day in this process, and minutes over loopback with faults."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import cmsapi
from cmsapi.sandbox import Credits, Fault, FaultProxy, Faults, Limits, Lognormal, Sandbox
from tests.long.soak.run import Burden, Soaked, soak

MANY = 10**9
_ERRORS = [Fault(status=status, when="after", times=None, probability=0.01) for status in (500, 502, 503)]
_DROPS = [Fault(drop=True, when=when, times=None, probability=0.01) for when in ("before", "within", "after")]
_SPOILED = [Fault(spoil=spoil, times=None, probability=0.005) for spoil in ("truncated", "html", "garbage", "empty")]
FAULTS = Faults(
    latency=(0.0, 0.02),
    rules=(
        *_ERRORS,
        *_DROPS,
        *_SPOILED,
        Fault(status=429, retry_after=1, times=None, probability=0.002),
        Fault(slow=1.0, times=None, probability=0.01),
    ),
)


async def in_process(burden: Burden) -> Soaked:
    """Hold a burden for the time of the loop, with the limits of the service."""
    box = _box(burden, Limits(), Lognormal(8 * 3600.0, 0.6))
    client, beside = (cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) for _ in range(2))
    calls = _calls(client, box.workspace_id)
    # What the service remembers of each request would be taken for a leak.
    return await soak(client, beside, calls, box.keyword_ids, burden, sampled=box.ledger.clear)


async def over_loopback(burden: Burden) -> Soaked:
    """Hold a burden in real time over sockets, with a service and a faulty network in another process."""
    async with _elsewhere(burden) as (key, url, workspace, keywords):
        client, beside = (
            cmsapi.Client(
                key,
                base_url=url,
                limits=cmsapi.RateLimits(per_second=200, per_hour=1_000_000),
                timeouts=cmsapi.Timeouts(request=5.0),
                launch=cmsapi.LaunchPolicy(settle=1.0),
            )
            for _ in range(2)
        )
        return await soak(client, beside, _calls(client, workspace), keywords, burden)


def _calls(client: cmsapi.Client, workspace: str) -> Sequence[Callable[[], Any]]:
    return (
        client.me,
        lambda: client.folders.list(workspace),
        lambda: client.contents.list(workspace, limit=5),
        lambda: client.workspaces.get(workspace),
    )


def _box(burden: Burden, limits: Limits, durations: Lognormal) -> Sandbox:
    return Sandbox(
        seed=burden.seed,
        keywords=burden.jobs,
        limits=limits,
        durations=durations,
        failures=0.05,
        credits=Credits(analysis=MANY),
    )


@asynccontextmanager
async def _elsewhere(burden: Burden) -> AsyncIterator[tuple[str, str, str, list[str]]]:
    command = (sys.executable, "-m", "tests.long.soak.places", str(burden.jobs), str(burden.lasts), str(burden.seed))
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, limit=MANY)
    assert child.stdout is not None
    try:
        key, url, workspace, *keywords = (await child.stdout.readline()).decode().split()
        yield key, url, workspace, keywords
    finally:
        child.kill()
        await child.wait()


async def _serve(jobs: int, lasts: float, seed: int) -> None:
    burden = Burden(callers=0, jobs=jobs, lasts=lasts, pause=1.0, patience=1.0, seed=seed)
    async with (
        _box(burden, Limits(per_second=1000, per_hour=MANY), Lognormal(lasts / 3, 0.6)) as box,
        FaultProxy(box.base_url, FAULTS) as proxy,
    ):
        print(box.api_key, proxy.base_url, box.workspace_id, *box.keyword_ids, flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
