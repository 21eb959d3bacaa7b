"""When jobs are polled, as the service sees it: at the advised pace, or as often as the limits allow."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

import attrs
import pytest

import cmsapi
from cmsapi.config import PollPolicy, RateLimits
from cmsapi.jobs import Job
from cmsapi.message import Request, Response
from cmsapi.observability.job_events import JobObserved, Throttled
from cmsapi.sandbox import Behaviour, Fault, Fixed, Limits, Lognormal, Sandbox
from cmsapi.testing import HandlerTransport
from tests.support.jobs import Spoiling, box, client_of, polls

pytestmark = pytest.mark.looptime

MINUTE = Lognormal(60.0, 0.6)


def gaps(sandbox: Sandbox, kind: str) -> list[float]:
    """Return the seconds between neighbouring polls of the same job, of all jobs."""
    at: dict[str, list[float]] = defaultdict(list)
    for entry in polls(sandbox, kind):
        at[entry.path].append(entry.at)
    return [later - earlier for times in at.values() for earlier, later in pairwise(times)]


async def analyse(client: cmsapi.Client, keyword_ids: Iterable[str], **options: Any) -> list[Any]:
    """Analyse keywords; all have to succeed."""
    return [outcome.result() async for outcome in client.jobs.map(client.keywords.analyze, keyword_ids, **options)]


async def read_lists(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Read the lists of all pages, as a user does."""
    for page_id in sandbox.page_ids:
        async for _ in client.keywords.list(page_id):
            pass


async def search(client: cmsapi.Client, sandbox: Sandbox, count: int) -> list[BaseException | None]:
    """Search for ideas, and return what went wrong with each search."""

    async def launch(number: int) -> Job[Any]:
        return await client.content_ideas.search(sandbox.workspace_id, f"tents {number}")

    return [outcome.error async for outcome in client.jobs.map(launch, range(count), in_flight=count)]


def without(*keys: str) -> Callable[[Request, Response], Response]:
    """Leave keys out of all documents about keywords."""

    def strip(document: Any) -> Any:
        if isinstance(document, list):
            return [strip(item) for item in document]
        if isinstance(document, dict):
            return {key: strip(value) for key, value in document.items() if key not in keys}
        return document

    def spoil(request: Request, response: Response) -> Response:
        if request.method != "GET" or "/keywords" not in request.url or response.status >= 300:
            return response
        return attrs.evolve(response, body=json.dumps(strip(json.loads(response.body))).encode())

    return spoil


# The advised pace


@pytest.mark.parametrize("jobs", [1, 8])
async def test_a_few_jobs_are_noticed_within_ten_seconds(jobs: int) -> None:
    """While the limits allow it, polls are 5 to 10 seconds apart, and an end is seen within 10."""
    sandbox = Sandbox(durations=MINUTE)
    async with client_of(sandbox) as client:
        await analyse(client, sandbox.keyword_ids[:jobs])
        late = [polls(sandbox, "keyword_analysis", job.target_id)[-1].at - job.ends_at for job in sandbox.jobs]
    assert all(0.0 <= each <= 10.1 for each in late)
    assert all(5.0 - 1e-6 <= gap <= 10.1 for gap in gaps(sandbox, "keyword_analysis"))


@pytest.mark.parametrize("awaiters", [2, 10])
async def test_any_number_of_awaiters_share_one_stream(awaiters: int) -> None:
    """Ten awaiters of one job, from the start or on the way, cost the polls of one."""
    counts = []
    for number in (1, awaiters):
        sandbox = box(60.0)
        async with client_of(sandbox) as client:
            job = await client.keywords.analyze(sandbox.keyword_ids[0])

            async def later(seconds: float, job: Job[Any] = job) -> Any:
                await asyncio.sleep(seconds)
                return await job

            assert len(set(map(id, await asyncio.gather(*[later(3.0 * each) for each in range(number)])))) == 1
        counts.append(len(polls(sandbox, "keyword_analysis")))
        assert min(gaps(sandbox, "keyword_analysis")) >= 5.0 - 1e-6
    assert counts[1] <= counts[0] + 2


async def test_patience_in_small_pieces_costs_no_more_polls() -> None:
    """A job that is awaited second by second is not polled more often, not even while polls fail."""
    sandbox = box(90.0, rules=[Fault(match="GET /v1/keywords/*", status=503, times=4)])
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        while not job.done():
            try:
                await job.wait(timeout=1.0)
            except cmsapi.JobWaitTimeoutError:
                continue
    assert min(gaps(sandbox, "keyword_analysis")) >= 5.0 - 1e-6


async def test_a_job_waited_for_again_does_not_queue_behind_new_ones() -> None:
    """A job that is long over when it is waited for again gives its result at once, whatever else runs."""
    sandbox = Sandbox(keywords=60, durations=Fixed(100.0))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(200.0)
        others = [await client.keywords.analyze(each) for each in sandbox.keyword_ids[1:20]]
        waiting = [asyncio.create_task(other.wait()) for other in others]
        await asyncio.sleep(0.1)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await job
        assert loop.time() - began < 1.0
        await asyncio.gather(*waiting)


@pytest.mark.slow
async def test_days_without_an_answer_do_not_lose_a_job() -> None:
    """However often in a row polls fail, they go on, and the end is seen."""
    sandbox = box(60.0, rules=[Fault(match="GET /v1/keywords/*", status=503, times=1040)])
    async with client_of(sandbox, polling=PollPolicy(outage_timeout=1e6)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert (await job.wait(timeout=60.0 * 3600)).analysis_status == "success"


# Under a shortage


async def test_many_jobs_are_stretched_and_said_to_be() -> None:
    """Polls of more jobs than fit become rarer, never closer than 5 s, without a refusal; a shortage is told once."""
    sandbox = Sandbox(keywords=200, durations=MINUTE, behaviour=Behaviour(keyword_items="bare"))
    heard: list[Any] = []
    async with client_of(sandbox, hooks=[heard.append]) as client:
        jobs = [await client.keywords.analyze(each) for each in sandbox.keyword_ids]
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(5.0)
        running = next(job for job in jobs if job.status.next_poll_at is not None)
        assert "do not fit into the" in running.status.why_next
        await asyncio.gather(*waiting)
    told = [event for event in heard if isinstance(event, Throttled)]
    assert [event.kind for event in told] == ["keyword_analysis"]
    assert told[0].jobs > 100
    assert told[0].interval > 10.0
    assert min(gaps(sandbox, "keyword_analysis")) >= 5.0 - 1e-6
    assert max(gaps(sandbox, "keyword_analysis")) > 20.0
    assert sandbox.ledger.count(status=429) == 0


async def test_a_status_says_when_an_end_is_expected() -> None:
    """Nothing is promised before an end was seen; after some, `eta` is about the median, and `why_next` a reason."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        first = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert first.status.eta is None
        waiting = asyncio.create_task(first.wait())
        await asyncio.sleep(0)
        assert first.status.eta is None
        assert "every 5 to 10 s" in first.status.why_next
        await waiting
        await analyse(client, sandbox.keyword_ids[1:16])
        job = await client.keywords.analyze(sandbox.keyword_ids[16])
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(0)
        status = job.status
        assert status.eta is not None
        assert (status.eta - status.since).total_seconds() == pytest.approx(60.0, rel=0.25)
        assert status.why_next == "every 5 to 10 s, as the service advises"
        await waiting


async def test_a_strict_budget_launches_less_instead() -> None:
    """With `budget="strict"` no poll is planned more than 10 s ahead; launches wait, also the very first ones."""
    bare = Behaviour(keyword_items="bare")
    sandbox = Sandbox(keywords=60, durations=MINUTE, limits=Limits(per_second=20, per_hour=300), behaviour=bare)
    heard: list[Any] = []
    async with client_of(sandbox, polling=PollPolicy(budget="strict"), hooks=[heard.append]) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        first = await anext(fanout)
        assert first.error is None
        assert 3 <= len(sandbox.ledger.launches()) <= 45
        await fanout.aclose()
        assert not any("do not fit" in job.status.why_next for job in fanout.launched)
        for job in fanout.launched:
            job.detach()
    assert not [event for event in heard if isinstance(event, Throttled)]
    assert all(5.0 - 1e-6 <= gap <= 11.0 for gap in gaps(sandbox, "keyword_analysis"))


async def test_a_strict_budget_is_careful_with_unknown_jobs() -> None:
    """Of jobs much longer than expected, so few are launched that hardly any poll has to wait for the next hour."""
    bare = Behaviour(keyword_items="bare")
    sandbox = Sandbox(keywords=30, durations=Lognormal(300.0, 0.5), limits=Limits(per_hour=500), behaviour=bare)
    limits = RateLimits(per_hour=500)
    async with client_of(sandbox, polling=PollPolicy(budget="strict"), limits=limits) as client:
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)]
    assert len(outcomes) == 30
    late = sum(gap > 100.0 for gap in gaps(sandbox, "keyword_analysis"))
    assert late <= 10


async def test_what_fits_is_launched_and_read() -> None:
    """`in_flight="auto"` launches no more than can be read in the hour, and is refused nothing."""
    sandbox = Sandbox(keywords=20, durations=MINUTE, limits=Limits(per_second=20, per_hour=200))
    async with client_of(sandbox) as client:

        async def launch(number: int) -> Job[Any]:
            return await client.content_ideas.search(sandbox.workspace_id, f"tents {number}")

        done: list[float] = []
        async for outcome in client.jobs.map(launch, range(150)):
            outcome.result()
            done.append(asyncio.get_running_loop().time())
            if len(done) == 50:
                break
        assert sandbox.ledger.count(status=429) == 0
        # At three requests each, or two and a bit where ideas are refused before the end.
        assert done[-1] < 1200.0
        assert 50 <= len(sandbox.ledger.launches()) <= 95


@pytest.mark.parametrize("items", ["full", "bare"])
async def test_no_more_polls_wait_than_a_second_admits(items: Any) -> None:
    """When the hour is used up, polls are put off; they do not pile up in front of the limit."""
    sandbox = Sandbox(
        keywords=60,
        durations=MINUTE,
        limits=Limits(per_second=20, per_hour=100),
        behaviour=Behaviour(keyword_items=items),
    )
    async with client_of(sandbox) as client:
        await read_lists(client, sandbox)
        jobs = [await client.keywords.analyze(each) for each in sandbox.keyword_ids]
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        while client.rate_limit.remaining:
            await client.me()
        most = 0
        for _ in range(60):
            await asyncio.sleep(30.0)
            most = max(most, client.rate_limit.waiting["poll"])
        assert most <= 20
        await asyncio.gather(*waiting)
    assert sandbox.ledger.count(status=429) == 0


# For free


async def test_what_a_user_reads_ends_a_job() -> None:
    """A keyword that the user reads after its end ends the wait at once, without a poll."""
    sandbox = box(22.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(22.5)
        before = len(polls(sandbox, "keyword_analysis"))
        await client.keywords.get(sandbox.keyword_ids[0])
        await asyncio.sleep(0)
        assert job.done()
        assert (await waiting).analysis_status == "success"
        assert len(polls(sandbox, "keyword_analysis")) == before + 1


async def test_what_a_user_reads_postpones_a_poll() -> None:
    """A user who reads a running keyword every 4 s keeps the SDK from polling besides."""
    sandbox = box(60.0)
    observed: list[JobObserved] = []
    async with client_of(
        sandbox, hooks=[lambda e: observed.append(e) if isinstance(e, JobObserved) else None]
    ) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiting = asyncio.create_task(job.wait())
        reads = 0
        await asyncio.sleep(1.0)
        while not job.done():
            await client.keywords.get(sandbox.keyword_ids[0])
            reads += 1
            await asyncio.sleep(4.0)
        await waiting
    # One scout may have been under way.
    assert len(polls(sandbox, "keyword_analysis")) <= reads + 1
    assert len(observed) >= reads - 1


async def test_a_list_that_a_user_reads_ends_jobs() -> None:
    """One list with states ends every job that it shows to be over."""
    sandbox = box(22.0)
    async with client_of(sandbox) as client:
        jobs = [await client.keywords.analyze(each) for each in sandbox.keyword_ids[:4]]
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(22.5)
        await read_lists(client, sandbox)
        await asyncio.sleep(0)
        assert all(job.done() for job in jobs)
        await asyncio.gather(*waiting)


# Lists


@pytest.mark.parametrize(("items", "requests"), [("full", 2.75), ("bare", 4.0)])
async def test_lists_are_polled_where_they_show_states(items: Any, requests: float) -> None:
    """Where lists show states, many jobs take few requests each; where not, they are not read in vain."""
    sandbox = Sandbox(keywords=250, durations=MINUTE, behaviour=Behaviour(keyword_items=items))
    async with client_of(sandbox) as client:
        await read_lists(client, sandbox)
        await analyse(client, sandbox.keyword_ids, in_flight=250)
    assert len(sandbox.ledger) < 250 * requests
    lists = sandbox.ledger.count(operation="list_keywords")
    assert lists > 20 if items == "full" else lists <= 2 * len(sandbox.page_ids)
    assert sandbox.ledger.count(status=429) == 0


@pytest.mark.parametrize("early", [1e-7, 1 / 64])
async def test_a_loop_that_calls_early_reads_no_list_in_vain(early: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that was asked for before its time, as far as the clock is exact, shows its jobs all the same."""
    monkeypatch.setattr(asyncio.get_running_loop(), "_clock_resolution", early)
    sandbox = Sandbox(keywords=250, durations=MINUTE, behaviour=Behaviour(keyword_items="full"))
    async with client_of(sandbox) as client:
        await read_lists(client, sandbox)
        await analyse(client, sandbox.keyword_ids, in_flight=250)
    assert len(sandbox.ledger) < 250 * 2.75


@pytest.mark.parametrize(("status", "times"), [(404, None), (500, 3)])
async def test_lists_that_fail_lose_no_jobs(status: int, times: int | None) -> None:
    """When a page cannot be read any more, its jobs are polled by themselves, and their ends are seen."""
    sandbox = Sandbox(keywords=60, durations=MINUTE)
    async with client_of(sandbox) as client:
        await read_lists(client, sandbox)
        listed = len(sandbox.ledger)
        failing = Failing(sandbox, status, times)
        async with client_of(sandbox, transport=failing) as other:
            loop = asyncio.get_running_loop()
            began = loop.time()
            await analyse(other, sandbox.keyword_ids, in_flight=60)
            assert loop.time() - began < 600.0
    assert len(sandbox.ledger) - listed < 1000


@pytest.mark.parametrize("ignores_page", [False, True])
async def test_lists_that_always_promise_more_do_not_use_up_the_hour(ignores_page: bool) -> None:
    """Where `hasMore` is never false, a list ends with the page that shows nothing new."""
    sandbox = Sandbox(keywords=100, limits=Limits(per_hour=600), durations=MINUTE)
    endless = Endless(sandbox, ignores_page)
    async with client_of(sandbox, transport=endless) as client:
        await analyse(client, sandbox.keyword_ids)
    assert sandbox.ledger.count(operation="list_keywords") > 20
    assert endless.highest <= 3


@attrs.define
class Endless:
    """Carry requests to a sandbox whose lists of keywords say that more follow, whatever follows."""

    sandbox: Sandbox
    ignores_page: bool
    highest: int = 0

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        path, _, query = request.url.partition("?")
        if request.method != "GET" or not path.endswith("/keywords"):
            return await self.sandbox.transport.send(request)
        self.highest = max(self.highest, int(parse_qs(query)["page"][0]))
        if self.ignores_page:
            request = attrs.evolve(request, url=f"{path}?page=1&limit=100")
        response = await self.sandbox.transport.send(request)
        document = json.loads(response.body)
        document["pagination"]["hasMore"] = True
        return attrs.evolve(response, body=json.dumps(document).encode())


async def test_long_lists_do_not_use_up_the_hour() -> None:
    """Where each list has thirty pages, and jobs are on the first, the others are read a few times at most."""
    sandbox = Sandbox(keywords=300, durations=MINUTE)
    async with client_of(sandbox, transport=Long(sandbox)) as client:
        await analyse(client, sandbox.keyword_ids)
    assert sandbox.ledger.count(operation="list_keywords") > 20
    assert len(sandbox.ledger) < 900


@attrs.define
class Long:
    """Carry requests to a sandbox whose lists of keywords go on with 2,900 other keywords."""

    sandbox: Sandbox

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        path, _, query = request.url.partition("?")
        if request.method != "GET" or not path.endswith("/keywords"):
            return await self.sandbox.transport.send(request)
        number = int(parse_qs(query)["page"][0])
        first = attrs.evolve(request, url=f"{path}?page=1&limit=100")
        response = await self.sandbox.transport.send(first)
        document = json.loads(response.body)
        document["pagination"] |= {"total": 3000, "page": number, "hasMore": number < 30}
        if number > 1:
            others = (f"kwd_of_page_{number}_{place}" for place in range(100))
            document["data"] = [document["data"][0] | {"id": other} for other in others]
        return attrs.evolve(response, body=json.dumps(document).encode())


@attrs.define
class Failing:
    """Carry requests to a sandbox, and fail some of them on the way."""

    sandbox: Sandbox
    status: int
    times: int | None
    failed: int = 0

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        response = await self.sandbox.transport.send(request)
        left = self.times is None or self.failed < self.times
        if request.method == "GET" and request.url.partition("?")[0].endswith("/keywords") and left:
            self.failed += 1
            body = json.dumps({"error": {"code": "x", "message": "no"}}).encode()
            return attrs.evolve(response, status=self.status, body=body)
        return response


async def test_pages_without_a_name_are_not_searched_for() -> None:
    """Where keywords do not say on which page they are, they are not polled again and again to find out."""
    sandbox = Sandbox(keywords=200, durations=Lognormal(300.0, 0.3))
    async with client_of(sandbox, transport=Spoiling(sandbox, without("pageId"))) as client:
        async for _ in client.keywords.list(sandbox.page_ids[0]):
            pass
        await analyse(client, sandbox.keyword_ids, in_flight=200)
    early = [entry for entry in polls(sandbox, "keyword_analysis") if entry.at < 100.0]
    assert len(early) < 350
    assert sandbox.ledger.count(status=429) == 0


# Early reads


@pytest.mark.parametrize("behaviour", ["conflict", "empty"])
async def test_searches_are_read_early_where_that_is_refused(behaviour: Any) -> None:
    """Where the service refuses the ideas of a search that runs, reading them is the poll; failures are found too."""
    sandbox = Sandbox(
        durations=MINUTE,
        behaviour=Behaviour(ideas_before_success=behaviour),
        failures=0.1,
    )
    async with client_of(sandbox) as client:
        errors = await search(client, sandbox, 200)
    failed = [error for error in errors if error is not None]
    assert 5 <= len(failed) <= 40
    assert all(isinstance(error, cmsapi.JobFailedError) for error in failed)
    assert len(sandbox.ledger) <= 1000
    early = sandbox.ledger.count(operation="list_content_ideas", status=409)
    assert early > 50 if behaviour == "conflict" else early == 0
    assert sandbox.ledger.count(status=429) == 0


async def test_ideas_that_are_shown_before_the_end_are_no_result() -> None:
    """Where a service lists ideas as they are found, a search is finished with all of them, however long it runs."""
    began = asyncio.get_running_loop().time()

    def answer(request: cmsapi.Request) -> Any:
        age = asyncio.get_running_loop().time() - began
        if "content-ideas?" in request.url:
            ideas = [{"id": f"idea_{number}"} for number in range(min(20, int(age / 60.0)))]
            return {"data": ideas, "pagination": {"total": len(ideas), "page": 1, "limit": 100, "hasMore": False}}
        word, number = ("success", 20) if age > 1200.0 else ("pending", None)
        return {"id": "search_1", "keyword": "tents", "status": word, "nbContentIdeas": number}

    async with cmsapi.Client(
        "sk_early", base_url="https://api.example.com", transport=HandlerTransport(answer)
    ) as client:
        ideas = await client.jobs.run(client.content_ideas.search("wsp_1", "tents"))
    assert len(ideas) == 20
    assert ideas.search.status == "success"


@pytest.mark.parametrize(("lag", "listed"), [(100.0, None), (600.0, None), (0.0, 20), (60.0, 20)])
async def test_ideas_are_waited_for_while_more_come(lag: float, listed: int | None) -> None:
    """A list of ideas that grows is not cut; one that stays short is, after two minutes and then at the next poll."""
    behaviour = Behaviour(ideas_lag=lag, ideas=40, ideas_cap=listed)
    sandbox = box(60.0, behaviour=behaviour)
    async with client_of(sandbox) as client:
        for _ in range(2):
            ideas = await client.jobs.run(client.content_ideas.search(sandbox.workspace_id, "running"))
            assert len(ideas) == (listed or 40)
            assert ideas.complete is (listed is None)


@pytest.mark.parametrize("lag", [10.0, 30.0, 60.0])
async def test_ideas_that_come_late_are_waited_for_where_early_reads_are_refused(lag: float) -> None:
    """Where ideas are refused before the end and listed one after the other then, a long search has all of them."""
    behaviour = Behaviour(ideas_before_success="conflict", ideas_lag=lag, ideas=14)
    sandbox = box(1200.0, behaviour=behaviour)
    async with client_of(sandbox) as client:
        ideas = await client.jobs.run(client.content_ideas.search(sandbox.workspace_id, "running"))
    assert sandbox.ledger.count(operation="list_content_ideas", status=409) > 10
    assert len(ideas) == 14
    assert ideas.search.status == "success"


@pytest.mark.parametrize(("then", "error"), [("archived", cmsapi.UnknownJobStateError), (404, cmsapi.JobVanishedError)])
async def test_a_doubt_ends_a_job_whose_result_is_read_early(then: str | int, error: type[Exception]) -> None:
    """Refused early reads do not hide that a long search shows a word that is not listed, or is gone."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    def answer(request: cmsapi.Request) -> Any:
        if "content-ideas?" in request.url:
            return Response(409, {}, b'{"error": {"code": "conflict", "message": "it runs"}}')
        word = "pending" if loop.time() < began + 1000.0 else then
        if isinstance(word, int):
            return Response(word, {}, b'{"error": {"code": "not_found", "message": "it is gone"}}')
        return {"id": "search_1", "keyword": "tents", "status": word, "nbContentIdeas": None}

    async with cmsapi.Client(
        "sk_early", base_url="https://api.example.com", transport=HandlerTransport(answer)
    ) as client:
        with pytest.raises(error):
            await client.jobs.run(client.content_ideas.search("wsp_1", "tents"))
        assert loop.time() < began + 1000.0 + 800.0


async def test_a_state_that_never_tells_the_end_is_not_waited_for() -> None:
    """A search that stays pending ends with its ideas once no more have come for two minutes; the next ones at once."""
    loop = asyncio.get_running_loop()
    launched: dict[str, float] = {}

    def answer(request: cmsapi.Request) -> Any:
        if request.method == "POST":
            launched[f"search_{len(launched)}"] = loop.time()
        name = max(launched) if request.method == "POST" else request.url.split("/content-idea-searches/")[1][:8]
        if "content-ideas?" not in request.url:
            return {"id": name, "keyword": "tents", "status": "pending", "nbContentIdeas": None}
        if loop.time() < launched[name] + 700.0:
            return Response(409, {}, b'{"error": {"code": "conflict", "message": "it runs"}}')
        ideas = [{"id": f"idea_{number}"} for number in range(20)]
        return {"data": ideas, "pagination": {"total": len(ideas), "page": 1, "limit": 100, "hasMore": False}}

    async with cmsapi.Client(
        "sk_early", base_url="https://api.example.com", transport=HandlerTransport(answer)
    ) as client:
        for latest in (900.0, 730.0):
            began = loop.time()
            ideas = await client.jobs.run(client.content_ideas.search("wsp_1", "tents"))
            assert len(ideas) == 20
            assert 700.0 <= loop.time() - began <= latest


async def test_few_searches_are_not_read_early() -> None:
    """With requests to spare a search is polled as ever, and its ideas are read once."""
    sandbox = Sandbox(durations=MINUTE)
    async with client_of(sandbox) as client:
        assert await search(client, sandbox, 5) == [None] * 5
    assert sandbox.ledger.count(operation="list_content_ideas") == 5
