"""What jobs call their targets: names that were read anyway, without a request for them."""

from __future__ import annotations

from typing import Any

import pytest

import cmsapi
from cmsapi.jobs.polling import observer
from cmsapi.sandbox import Sandbox
from tests.support.jobs import client_of

pytestmark = pytest.mark.looptime


async def test_a_job_knows_the_name_that_was_read_before_its_launch() -> None:
    """A keyword or a content that was read or listed names its job at once, and no request is sent for that."""
    box = Sandbox()
    async with client_of(box) as client:
        contents = await client.contents.list(box.workspace_id)
        keyword = await client.keywords.get(box.keyword_ids[0])
        analysis = await client.keywords.analyze(keyword.id)
        generation = await client.contents.generate(contents[0].id)
        sent = len(box.ledger)
        assert (analysis.name, generation.name) == (keyword.keyword, contents[0].title)
        assert len(box.ledger) == sent


async def test_the_answer_to_a_launch_names_its_job() -> None:
    """A search is named by its keyword, a knowledge document by its name, from the launch on."""
    box = Sandbox()
    async with client_of(box) as client:
        search = await client.content_ideas.search(box.workspace_id, "trail running")
        processing = await client.knowledge_documents.create(box.workspace_id, "Brand", text="We sell shoes.")
        assert (search.name, processing.name) == ("trail running", "Brand")


async def test_the_first_poll_names_a_job() -> None:
    """A job of an identifier or a token has no name before its first poll."""
    box = Sandbox()
    async with client_of(box) as client, client_of(box) as other:
        job = await client.keywords.analyze(box.keyword_ids[0])
        again: cmsapi.Job[Any] = other.jobs.attach(job.token)
        assert job.name is None
        assert again.name is None
        keyword = await job
        await again
        assert job.name == again.name == keyword.keyword


async def test_a_failed_job_keeps_its_name() -> None:
    """The name of a keyword whose analysis failed is known, although there is no result."""
    box = Sandbox()
    box.set_outcome(box.keyword_ids[0], "failed")
    async with client_of(box) as client:
        job = await client.keywords.analyze(box.keyword_ids[0])
        with pytest.raises(cmsapi.JobFailedError):
            await job
        assert job.name == (await client.keywords.get(box.keyword_ids[0])).keyword


async def test_names_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest names are forgotten, and long ones are cut."""
    monkeypatch.setattr(observer, "MOST_NAMES", 3)
    monkeypatch.setattr(observer, "LONGEST_NAME", 4)
    box = Sandbox()
    async with client_of(box) as client:
        for keyword_id in box.keyword_ids[:5]:
            await client.keywords.get(keyword_id)
        names = [client.jobs.watch("keyword_analysis", keyword_id).name for keyword_id in box.keyword_ids[:5]]
    assert [name is None for name in names] == [True, True, False, False, False]
    assert all(len(name) == 4 for name in names if name is not None)
