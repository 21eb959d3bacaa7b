"""Identifiers that a service may give: whatever they hold, the job that is paid for can be polled and found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import attrs
import pytest
from hypothesis import example, given, strategies as st

import cmsapi
from cmsapi.jobs import JobKind
from cmsapi.jobs.kinds.kind import JobHistory
from cmsapi.jobs.token import read_token, write_token
from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from cmsapi.transport.requests import expand
from tests.support.jobs import client_of

ODD = Behaviour(identifiers="odd")
URL = "https://api.example.com"


def odd_box(seconds: float = 30.0) -> Sandbox:
    """Make a sandbox whose identifiers hold what must be encoded."""
    return Sandbox(durations=Fixed(seconds), behaviour=ODD)


async def launch(client: cmsapi.Client, sandbox: Sandbox, kind: str) -> cmsapi.Job[Any]:
    """Launch a job of a kind."""
    match kind:
        case "keyword_analysis":
            return await client.keywords.analyze(sandbox.keyword_ids[0])
        case "prompt_analysis":
            return await client.prompts.analyze(sandbox.prompt_ids[0])
        case "idea_search":
            return await client.content_ideas.search(sandbox.workspace_id, "tents")
        case _:
            return await client.contents.generate(sandbox.content_ids[0])


KINDS = ["keyword_analysis", "prompt_analysis", "idea_search", "generation"]


@pytest.mark.looptime
@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_with_an_odd_identifier_is_polled_and_attached(kind: str) -> None:
    """A launch is paid once, `refresh` and `wait` work, and its token finds it in another client."""
    sandbox = odd_box()
    async with client_of(sandbox) as client:
        job = await launch(client, sandbox, kind)
        assert "/" in job.target
        assert " " in job.target
        assert (await job.refresh()).phase == "running"
        async with client_of(sandbox) as other:
            attached = other.jobs.attach(job.token)
            assert (attached.id, attached.target) == (job.id, job.target)
            await attached
        await job
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_odd_identifiers_outlive_the_process(tmp_path: Path, kind: str) -> None:
    """On a socket and a file, the next client takes up the job, and its batch knows it."""
    options = {
        "limits": cmsapi.RateLimits.unlimited(),
        "polling": cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1),
        "state": f"sqlite:///{tmp_path / 'state.db'}",
    }
    async with odd_box(0.2) as sandbox:

        def client_of_socket() -> cmsapi.Client:
            return cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, **options)  # type: ignore[arg-type]

        async with client_of_socket() as client:
            token = (await launch(client, sandbox, kind)).token
        async with client_of_socket() as client:
            (entry,) = await client.jobs.journal()
            assert entry.token is not None
            (job,) = (await client.jobs.resume()).jobs
            assert job is client.jobs.attach(entry.token)
            assert job.id == client.jobs.attach(token).id
            await job
            async with client.jobs.batch("odd") as batch:
                assert [o.error async for o in batch.map(client.keywords.analyze, sandbox.keyword_ids[1:3])] == [
                    None
                ] * 2
        async with client_of_socket() as client, client.jobs.batch("odd") as batch:
            again = [outcome async for outcome in batch.map(client.keywords.analyze, sandbox.keyword_ids[1:3])]
        assert [(o.earlier, o.error) for o in again] == [(True, None)] * 2
        assert len(sandbox.ledger.launches()) == 3


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text not in (".", "..")))
@example("a b")
@example("../v1/me?x=1#y")
@example("%2e%2e")
@example("\0\r\n\\")
@example("\U0001f600" * 8192)
async def test_any_text_goes_through_path_and_token(text: str) -> None:
    """Whatever text the service gives as an identifier comes back as it was, from a path and from a token."""
    path = expand("/v1/things/{id}/part", {"id": text})
    assert path.isascii()
    assert [unquote(part) for part in path.split("/")] == ["", "v1", "things", text, "part"]
    history = JobHistory(job_id=text)
    kind, target, again = read_token(write_token(JobKind.IDEA_SEARCH, text, history, URL), URL)
    assert (kind.name, target, attrs.evolve(again, began=history.began)) == (JobKind.IDEA_SEARCH, text, history)
