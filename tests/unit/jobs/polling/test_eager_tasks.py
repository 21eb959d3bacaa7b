"""Loops whose tasks begin before `create_task` returns: `asyncio.eager_task_factory`, Python 3.12 and later."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

import cmsapi
from cmsapi.jobs.journal.heartbeat import HEARTBEAT
from cmsapi.sandbox import Limits
from cmsapi.testing import HandlerTransport
from tests.support.jobs import box, client_of

pytestmark = [
    pytest.mark.looptime,
    pytest.mark.skipif(sys.version_info < (3, 12), reason="no eager tasks before Python 3.12"),
]


@pytest.fixture(autouse=True)
async def eager() -> None:
    """Make every task of the test an eager one."""
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)


async def test_polls_that_are_through_at_once_go_on() -> None:
    """A poll that ends before its task was returned, as of a transport that never waits, is followed by the next."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    def answer(request: cmsapi.Request) -> Any:
        if request.method == "POST":
            return {"message": "accepted"}
        word = "pending" if loop.time() < began + 30.0 else "success"
        return {"id": request.url.rpartition("/")[2], "keyword": "tents", "analysisStatus": word}

    async with cmsapi.Client(
        "sk_eager", base_url="https://api.example.com", transport=HandlerTransport(answer)
    ) as client:
        jobs = [await client.keywords.analyze(f"kwd_{number}") for number in range(5)]
        assert (await jobs[0].refresh()).phase == "running"
        assert (await jobs[0].refresh()).polls == 2
        async with asyncio.timeout(100):
            await client.jobs.gather(*jobs)


async def test_a_list_may_show_the_jobs_of_another_one() -> None:
    """Of lists that are due at once, the first one may show the ends of all jobs on the others."""
    loop = asyncio.get_running_loop()
    began, lists = loop.time(), [f"pag_{number}" for number in range(6)]
    on = {page: [f"kwd_{page}_{number}" for number in range(10)] for page in lists}

    def keyword(name: str) -> dict[str, Any]:
        over = loop.time() > began + 25.0
        at = "2099-01-01T00:00:00Z" if over else None
        word = "success" if over else "pending"
        return {"id": name, "keyword": "tents", "pageId": name[4:9], "analysisStatus": word, "lastAnalyzedAt": at}

    def answer(request: cmsapi.Request) -> Any:
        if request.method == "POST":
            return {"message": "accepted"}
        if "/pages/" not in request.url:
            return keyword(request.url.rpartition("/")[2])
        (page,) = (page for page in lists if page in request.url)
        names = on[page] if loop.time() < began + 25.0 else [name for each in on.values() for name in each]
        place = {"total": len(names), "page": 1, "limit": 100, "hasMore": False}
        return {"data": [keyword(name) for name in names], "pagination": place}

    transport = HandlerTransport(answer)
    unlimited = cmsapi.RateLimits.unlimited()
    async with cmsapi.Client(
        "sk_eager", base_url="https://api.example.com", transport=transport, limits=unlimited
    ) as client:
        for page in lists:
            assert len([each async for each in client.keywords.list(page, limit=100)]) == 10
        async with asyncio.timeout(300):
            jobs = [await client.keywords.analyze(name) for page in lists for name in on[page]]
            await client.jobs.gather(*jobs)


async def test_signs_of_life_go_on_while_jobs_are_let_go_of() -> None:
    """Entries without waiters are released while the process shows that it lives."""
    sandbox = box(300.0)
    async with client_of(sandbox) as client:
        for keyword_id in sandbox.keyword_ids[:5]:
            await client.keywords.analyze(keyword_id)
        await asyncio.sleep(3 * HEARTBEAT)


async def test_a_hook_may_ask_for_a_poll() -> None:
    """What a hook starts runs in the context of the poll that has called it."""
    sandbox = box(10.0)
    asked: list[asyncio.Task[Any]] = []

    async def hook(review: cmsapi.GenerationReview) -> Any:
        asked.append(asyncio.create_task(job.refresh()))
        await asyncio.sleep(1)
        return "leave"

    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=hook)
        await job
        assert (await asked[0]).phase == "review"


async def test_a_launch_that_is_called_back_frees_its_credit_at_once() -> None:
    """The next launch may spend what the cancelled one has not."""
    sandbox = box(30.0, limits=Limits(per_second=1))
    policy, limits = cmsapi.LaunchPolicy(max_credits=1), cmsapi.RateLimits(per_second=1)
    async with client_of(sandbox, launch=policy, limits=limits) as client:
        await client.me()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.keywords.analyze(sandbox.keyword_ids[0]), 0.2)
        await client.keywords.analyze(sandbox.keyword_ids[1])
