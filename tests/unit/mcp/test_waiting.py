"""Tools that wait for jobs, and decide on articles."""

from __future__ import annotations

import asyncio

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.assistants import Assistant, assisted

pytestmark = pytest.mark.looptime


@pytest.fixture
def sandbox() -> Sandbox:
    """A service whose jobs take a minute."""
    return Sandbox(durations=Fixed(60))


async def written(assistant: Assistant, content_id: str) -> dict[str, str]:
    """Generate an article, and return what names it."""
    await assistant.call("generate_article", content_id=content_id)
    waited = await assistant.call("wait_for_jobs", seconds=200)
    assert "confirm_article or cancel_article" in waited["next"]
    article = waited["jobs"][0]["article"]
    assert (article["status"], article["decision"]) == ("review", None)
    return {"content_id": content_id, "generation_id": article["generation_id"]}


async def test_a_wait_is_bounded_and_goes_on_with_the_tokens(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A short wait names the tokens that are left, and the next one gives the results."""
    async with assisted(client, max_credits=2) as assistant:
        await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        await assistant.call("search_ideas", workspace_id=sandbox.workspace_id, keywords=["trail running"])
        loop = asyncio.get_running_loop()
        began = loop.time()
        early = await assistant.call("wait_for_jobs", seconds=20)
        assert loop.time() - began == pytest.approx(20, abs=1)
        assert len(early["unfinished_tokens"]) == 2
        assert "2 still run" in early["next"]
        late = await assistant.call("wait_for_jobs", tokens=early["unfinished_tokens"], seconds=200)
        analysis, search = late["jobs"]
        assert analysis["keyword"]["analysis"] == "success"
        assert search["ideas"]["total"] > 0
        ideas = await assistant.call("list_ideas", search_id=search["ideas"]["search_id"], first=1, limit=2)
        assert ideas["ideas"][0] == search["ideas"]["ideas"][1]
        assert late["unfinished_tokens"] == []
        told = await assistant.call("wait_for_jobs")
        assert told["jobs"] == []


async def test_a_wait_lasts_as_long_as_it_was_told(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A job that is older than the client's own time for jobs is waited for, and is no problem."""
    async with assisted(client.with_options(polling=cmsapi.PollPolicy(job_timeout=20)), max_credits=1) as assistant:
        await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        await asyncio.sleep(25)
        early = await assistant.call("wait_for_jobs", seconds=20)
        assert [line["problem"] for line in early["jobs"]] == [None]
        late = await assistant.call("wait_for_jobs", tokens=early["unfinished_tokens"], seconds=200)
        assert late["jobs"][0]["keyword"]["analysis"] == "success"


async def test_progress_only_grows(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Each notification has more than the one before, and the last one is the whole."""
    async with assisted(client, max_credits=2) as assistant:
        await assistant.call("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:2]))
        assistant.told.clear()
        await assistant.call("wait_for_jobs", seconds=200)
    steps = [progress for progress, _, _ in assistant.told]
    assert len(steps) > 5
    assert steps == sorted(set(steps))
    assert assistant.told[-1] == (2, 2, "2 of 2 jobs finished")


async def test_no_time_asks_once(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """With no seconds each job is read once, and the call is over at once."""
    async with assisted(client, max_credits=1) as assistant:
        await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        began = asyncio.get_running_loop().time()
        waited = await assistant.call("wait_for_jobs", seconds=0)
        assert asyncio.get_running_loop().time() - began < 2
        assert waited["jobs"][0]["state"] == "running"


async def test_a_failed_job_says_what_it_means_for_money(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A job without a result has the reason in its line, beside the others that have theirs."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with assisted(client, max_credits=2) as assistant:
        await assistant.call("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:2]))
        waited = await assistant.call("wait_for_jobs", seconds=200)
        failed, done = waited["jobs"]
        assert "JobFailedError" in failed["problem"]
        assert "was spent when it was launched" in failed["problem"]
        assert done["keyword"]["analysis"] == "success"
        assert "ask the person" in waited["next"]
        (again,) = (await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]]))["items"]
        assert again["state"] == "ended earlier"
        assert "higher `run`" in again["problem"]
        assert "was spent when it was launched" in again["problem"]
    assert len(sandbox.ledger.launches()) == 2


async def test_a_wrong_token_is_an_error(client: cmsapi.Client) -> None:
    """A token that was cut on its way is told, and nothing is sent for it."""
    async with assisted(client) as assistant:
        assert "not a job token" in await assistant.refused("wait_for_jobs", tokens=["cmsjob1"])


async def test_open_jobs_are_found_without_tokens(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A server that only reads lists the jobs of another program, and waits for them."""
    await client.keywords.analyze(sandbox.keyword_ids[0])
    async with assisted(client) as assistant:
        (job,) = (await assistant.call("list_jobs"))["jobs"]
        waited = await assistant.call("wait_for_jobs", tokens=[job["token"]], seconds=200)
        assert waited["jobs"][0]["state"] == "succeeded"
        assert (await assistant.call("list_jobs"))["jobs"] == []


async def test_an_article_is_applied_with_a_way_back(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Confirming gives the earlier text, ends the review in the state, and changes nothing the second time."""
    before = await client.contents.get(sandbox.content_ids[0])
    async with assisted(client, max_credits=1) as assistant:
        article = await written(assistant, before.id)
        assert [each["content_id"] for each in (await assistant.call("list_reviews"))["articles"]] == [before.id]
        decided = await assistant.call("confirm_article", **article)
        assert decided["article"]["decision"] == "confirm"
        assert (decided["previous_title"], decided["previous_html"]) == (before.title, before.html)
        after = await client.contents.get(before.id)
        assert after.version != before.version
        again = await assistant.call("confirm_article", **article)
        assert again["previous_html"] is None
        assert (await client.contents.get(before.id)).version == after.version
        assert (await assistant.call("list_reviews"))["articles"] == []
        assert (await assistant.call("list_jobs"))["jobs"] == []


async def test_a_discarded_article_leaves_the_draft(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Cancelling keeps the draft; confirming it afterwards is refused."""
    before = await client.contents.get(sandbox.content_ids[0])
    async with assisted(client, max_credits=1) as assistant:
        article = await written(assistant, before.id)
        assert (await assistant.call("cancel_article", **article))["article"]["status"] == "discarded"
        assert (await client.contents.get(before.id)).html == before.html
        text = await assistant.refused("confirm_article", **article)
        assert "A decision costs no credit" in text


async def test_another_article_than_the_person_saw_is_not_decided(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A newer generation, or a wrong identifier, is refused before anything is decided."""
    async with assisted(client, max_credits=1) as assistant:
        article = await written(assistant, sandbox.content_ids[0])
        for tool in ("confirm_article", "cancel_article"):
            text = await assistant.refused(tool, content_id=article["content_id"], generation_id="gen_other")
            assert "Nothing was decided" in text
        review = await client.contents.review(article["content_id"])
        assert review.generation.status == cmsapi.GenerationStatus.REVIEW
