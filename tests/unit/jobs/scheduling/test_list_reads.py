"""When pages of lists that show the states of jobs are read, as the service sees it."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import PollPolicy
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Limits, Lognormal, Mixture, Sandbox
from tests.support.jobs import Spoiling, client_of

pytestmark = pytest.mark.looptime

MINUTE = Lognormal(60.0, 0.6)
HOUR = 3600.0


async def keywords(sandbox: Sandbox, *, pages: int, each: int) -> list[str]:
    """Add keywords to pages, some to each, and wait until these requests are out of the hour."""
    async with client_of(sandbox, seed=1) as client:
        targets = [
            await client.keywords.create(page_id, f"tents {number}")
            for page_id in sandbox.page_ids[:pages]
            for number in range(each)
        ]
    await asyncio.sleep(HOUR)
    return [keyword.id for keyword in targets]


async def read_list(client: cmsapi.Client, page_id: str) -> None:
    """Read a list, as a user does."""
    async for _ in client.keywords.list(page_id):
        pass


async def analyse(client: cmsapi.Client, targets: list[str]) -> float:
    """Analyse keywords, which have to succeed, and return how many seconds they take on average."""
    loop = asyncio.get_running_loop()
    began, ends = loop.time(), []
    async for outcome in client.jobs.map(client.keywords.analyze, targets):
        outcome.result()
        ends.append(loop.time())
    return sum(ends) / len(ends) - began


def reads(sandbox: Sandbox, since: int = 0) -> list[float]:
    """Return when lists were read."""
    return [entry.at for entry in sandbox.ledger[since:] if entry.operation == "list_keywords"]


def lateness(sandbox: Sandbox, turnaround: float, began: float) -> float:
    """Return how many seconds after the ends of all jobs their results came, on average."""
    return turnaround - sum(job.ends_at - began for job in sandbox.jobs) / len(sandbox.jobs)


async def test_a_page_of_many_jobs_is_read_when_that_is_worth_a_request() -> None:
    """A page of 45 jobs takes a third of a request for each, and shows the ends a few seconds late on average."""
    sandbox = Sandbox(keywords=0, contents=1, durations=MINUTE)
    targets = await keywords(sandbox, pages=1, each=45)
    async with client_of(sandbox, seed=1) as client:
        await read_list(client, sandbox.page_ids[0])
        before, began = len(sandbox.ledger), asyncio.get_running_loop().time()
        turnaround = await analyse(client, targets)
    assert len(sandbox.ledger) - before <= 1.35 * 45
    assert lateness(sandbox, turnaround, began) <= 13.0


@pytest.mark.parametrize("known", [False, True])
async def test_lists_are_found_with_few_polls(known: bool) -> None:
    """Jobs on ten pages take 1.3 requests each, also those that find out which lists show them."""
    sandbox = Sandbox(keywords=0, contents=11, durations=MINUTE)
    targets = await keywords(sandbox, pages=11, each=45)
    async with client_of(sandbox, seed=1) as client:
        if known:
            await read_list(client, sandbox.page_ids[10])
        before, began = len(sandbox.ledger), asyncio.get_running_loop().time()
        turnaround = await analyse(client, targets[:450])
    assert len(sandbox.ledger) - before <= 1.36 * 450
    assert sandbox.ledger.count(operation="get_keyword") <= 35
    assert lateness(sandbox, turnaround, began) <= 13.0


@pytest.mark.parametrize("each", [2, 3])
async def test_few_jobs_on_a_page_fare_no_worse_than_alone(each: int) -> None:
    """Two or three jobs are seen as soon as if they were polled one by one, with fewer requests."""
    requests, late = [], []
    for items in ("bare", "full"):
        sandbox = Sandbox(keywords=0, contents=1, durations=MINUTE, behaviour=Behaviour(keyword_items=items))
        targets = await keywords(sandbox, pages=1, each=each)
        async with client_of(sandbox, seed=1) as client:
            await read_list(client, sandbox.page_ids[0])
            before, began = len(sandbox.ledger), asyncio.get_running_loop().time()
            late.append(lateness(sandbox, await analyse(client, targets), began))
        requests.append(len(sandbox.ledger) - before)
    assert requests[1] < requests[0]
    assert late[1] <= late[0] + 2.0


@pytest.mark.parametrize("strict", ["all", "one"])
async def test_a_strict_budget_holds_for_pages(strict: str) -> None:
    """With `budget="strict"` no more than `max_interval` lies between two reads, also when only one client asks so."""
    sandbox = Sandbox(keywords=0, contents=1, durations=Lognormal(300.0, 0.2))
    targets = await keywords(sandbox, pages=1, each=30)
    async with client_of(sandbox, seed=1) as patient:
        client = patient.with_options(polling=PollPolicy(budget="strict"))
        await read_list(client, sandbox.page_ids[0])
        before = len(sandbox.ledger)
        mine = 30 if strict == "all" else 1
        await asyncio.gather(
            analyse(client, targets[:mine]), *([analyse(patient, targets[mine:])] if mine < 30 else [])
        )
    ends = [job.ends_at for job in sandbox.jobs[:mine]]
    gaps = [later - at for at, later in itertools.pairwise(reads(sandbox, before)) if later <= min(ends)]
    assert len(gaps) > 10
    assert max(gaps) <= 10.0 + 1.0


async def test_launches_one_by_one_do_not_put_off_a_read() -> None:
    """A page is read although a job is launched on it every few seconds."""
    sandbox = Sandbox(keywords=0, contents=1, durations=Lognormal(20.0, 0.1))
    targets = await keywords(sandbox, pages=1, each=40)
    async with client_of(sandbox, seed=1) as client:
        await read_list(client, sandbox.page_ids[0])
        before = len(sandbox.ledger)
        waiting = []
        for target in targets:
            waiting.append(asyncio.ensure_future((await client.keywords.analyze(target)).wait()))
            await asyncio.sleep(4.0)
        assert sum(task.done() for task in waiting) >= 25
        await asyncio.gather(*waiting)
    assert len(reads(sandbox, before)) >= 8


async def test_lists_of_one_job_each_are_not_searched_for() -> None:
    """Where each page has one keyword, lists are found to be of no use after a few."""
    sandbox = Sandbox(keywords=0, contents=200, durations=MINUTE)
    targets = await keywords(sandbox, pages=200, each=1)
    async with client_of(sandbox, seed=1) as client:
        await analyse(client, targets)
    assert len(reads(sandbox)) <= 20


async def test_a_job_far_older_than_the_others_does_not_keep_its_page_busy() -> None:
    """Of a job that runs for hours when all others took a minute, a page is read now and then."""
    sandbox = Sandbox(
        seed=1, keywords=0, contents=1, durations=Mixture(((0.95, MINUTE), (0.05, Lognormal(7200.0, 0.1))))
    )
    targets = await keywords(sandbox, pages=1, each=60)
    async with client_of(sandbox, seed=1) as client:
        await read_list(client, sandbox.page_ids[0])
        began = asyncio.get_running_loop().time()
        await analyse(client, targets)
    assert max(job.duration for job in sandbox.jobs) > HOUR
    assert len(reads(sandbox)) <= 120
    assert max(entry.at for entry in sandbox.ledger) - began < 9600.0


async def test_wrong_beliefs_leave_no_page_unread_for_long() -> None:
    """Jobs that take a minute after a batch of half an hour are seen within half of what is expected."""
    seconds = itertools.chain([1800.0] * 30, itertools.repeat(60.0))
    sandbox = Sandbox(keywords=0, contents=2, durations=lambda rng: next(seconds))
    targets = await keywords(sandbox, pages=2, each=30)
    async with client_of(sandbox, seed=1) as client:
        for page_id in sandbox.page_ids:
            await read_list(client, page_id)
        assert await analyse(client, targets[:30]) >= 1800.0
        await asyncio.sleep(HOUR)
        assert await analyse(client, targets[30:]) <= 960.0


@attrs.define
class Forgetting:
    """Carry answers on, with states in lists for a while only."""

    left: int

    def __call__(self, request: Request, response: Response) -> Response:
        """Leave the states out of a list once enough lists were read."""
        if request.method != "GET" or not request.url.partition("?")[0].endswith("/keywords"):
            return response
        self.left -= 1
        if self.left >= 0:
            return response
        document: Any = json.loads(response.body)
        items: list[dict[str, Any]] = next(value for value in document.values() if isinstance(value, list))
        for item in items:
            item.pop("analysisStatus", None)
            item.pop("lastAnalyzedAt", None)
        return attrs.evolve(response, body=json.dumps(document).encode())


async def test_a_list_that_stops_showing_states_loses_no_job() -> None:
    """When a list shows no states any more, its jobs are polled one by one."""
    sandbox = Sandbox(keywords=0, contents=1, durations=MINUTE, limits=Limits(per_hour=2000))
    targets = await keywords(sandbox, pages=1, each=30)
    async with client_of(sandbox, seed=1, transport=Spoiling(sandbox, Forgetting(4))) as client:
        await read_list(client, sandbox.page_ids[0])
        began = asyncio.get_running_loop().time()
        turnaround = await analyse(client, targets)
    assert sandbox.ledger.count(operation="get_keyword") >= 15
    assert len(reads(sandbox)) <= 7
    assert lateness(sandbox, turnaround, began) <= 15.0


@pytest.mark.parametrize("each", [2, 30])
async def test_a_list_that_lags_for_ever_hides_no_end(each: int) -> None:
    """A list that shows analyses as running that have ended is checked against a keyword, and read no more."""

    def spoil(request: Request, response: Response) -> Response:
        if request.method != "GET" or "/pages/" not in request.url:
            return response
        document = json.loads(response.body)
        document["data"] = [{**item, "analysisStatus": "pending", "lastAnalyzedAt": None} for item in document["data"]]
        return attrs.evolve(response, body=json.dumps(document).encode())

    sandbox = Sandbox(keywords=0, contents=1, durations=MINUTE, limits=Limits(per_hour=2000))
    targets = await keywords(sandbox, pages=1, each=each)
    async with client_of(sandbox, seed=1, transport=Spoiling(sandbox, spoil)) as client:
        await read_list(client, sandbox.page_ids[0])
        began = asyncio.get_running_loop().time()
        async with asyncio.timeout(HOUR):
            turnaround = await analyse(client, targets)
    assert lateness(sandbox, turnaround, began) <= 240.0
    assert len(reads(sandbox)) <= 45
