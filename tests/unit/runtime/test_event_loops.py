"""The core of the SDK in real time on each event loop there is: asyncio's, the same with eager tasks, and uvloop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Limits, Sandbox
from tests.support.loops import names, run_on
from tests.support.watchdog import turning

pytestmark = [pytest.mark.enable_socket, pytest.mark.parametrize("loop", names())]

POLLING = cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1)
LIMITS = cmsapi.RateLimits(per_second=1000, per_hour=100_000)


def box(seconds: float = 0.2, per_second: int = 1000) -> Sandbox:
    """Make a service whose jobs end soon and whose hour does not."""
    return Sandbox(durations=Fixed(seconds), keywords=30, limits=Limits(per_second=per_second, per_hour=100_000))


def client_of(sandbox: Sandbox, **options: Any) -> cmsapi.Client:
    """Make a client that polls often."""
    options = {"polling": POLLING, "limits": LIMITS, **options}
    return cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, **options)


def within_patience(loop: str, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a program that must end soon, whose loop must turn, and that leaves neither a task nor an unheard error."""

    async def watched() -> None:
        unheard: list[dict[str, Any]] = []
        running = asyncio.get_running_loop()
        running.set_exception_handler(lambda _, context: unheard.append(context))
        with turning(running):
            async with asyncio.timeout(30):
                await main()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert unheard == []

    run_on(loop, watched())


def test_a_client_is_left_right_after_its_job(loop: str) -> None:
    """The first program of the README ends."""

    async def main() -> None:
        async with box() as sandbox, client_of(sandbox) as client:
            keyword = await (await client.keywords.analyze(sandbox.keyword_ids[0]))
            assert keyword.analysis_status == "success"

    within_patience(loop, main)


def test_a_fan_out_gives_every_outcome(loop: str) -> None:
    """Thirty analyses end, each launched once, and the service refuses nothing."""

    async def main() -> None:
        async with box() as sandbox, client_of(sandbox) as client:
            async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids) as outcomes:
                assert [outcome.error async for outcome in outcomes] == [None] * 30
            assert len(sandbox.ledger.launches()) == 30
            assert sandbox.ledger.count(status=429) == 0

    within_patience(loop, main)


def test_a_batch_is_taken_up_by_the_next_client(loop: str, tmp_path: Path) -> None:
    """A batch in a file that is left early is finished by another client, and each item is launched once."""

    async def main() -> None:
        state = f"sqlite:///{tmp_path / 'state.db'}"
        async with box(0.5) as sandbox:
            async with client_of(sandbox, state=state) as client, client.jobs.batch("nightly") as batch:
                async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids):
                    break
            async with client_of(sandbox, state=state) as client, client.jobs.batch("nightly") as batch:
                outcomes = batch.map(client.keywords.analyze, sandbox.keyword_ids)
                assert [outcome.error async for outcome in outcomes] == [None] * 30
            assert len(sandbox.ledger.launches()) == 30

    within_patience(loop, main)


def test_an_article_is_reviewed(loop: str) -> None:
    """A generation ends at its review, and is confirmed."""

    async def main() -> None:
        async with box() as sandbox, client_of(sandbox) as client:
            job = await client.contents.generate(sandbox.content_ids[0])
            review = await job
            content = await review.confirm()
            assert content.html

    within_patience(loop, main)


def test_closing_tells_all_waiters(loop: str, tmp_path: Path) -> None:
    """Whether the state is in memory or in a file, all who wait for a job are told, at once."""

    async def main() -> None:
        for state in ("memory:", f"sqlite:///{tmp_path / 'state.db'}"):
            async with box(600.0) as sandbox:
                async with client_of(sandbox, state=state) as client:
                    jobs = [await client.keywords.analyze(keyword) for keyword in sandbox.keyword_ids[:10]]
                    waiting = [asyncio.create_task(job.wait()) for job in jobs for _ in range(3)]
                    await asyncio.sleep(0.3)
                ended = await asyncio.gather(*waiting, return_exceptions=True)
                assert {type(error) for error in ended} == {cmsapi.ClientClosedError}

    within_patience(loop, main)


def test_a_burst_is_spread_over_the_seconds(loop: str) -> None:
    """Fifty calls at once are sent at the rate of the key, and none is refused."""

    async def main() -> None:
        async with box(per_second=20) as sandbox, client_of(sandbox, limits=cmsapi.RateLimits()) as client:
            await asyncio.gather(*(client.me() for _ in range(50)))
            assert sandbox.ledger.count(status=429) == 0

    within_patience(loop, main)
