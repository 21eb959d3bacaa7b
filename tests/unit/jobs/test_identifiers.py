"""Identifiers that a service may give: whatever they hold, the job that is paid for can be polled and found again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import attrs
import pytest
from hypothesis import example, given, settings, strategies as st

import cmsapi
from cmsapi.jobs import JobKind
from cmsapi.jobs.kinds.kind import JobHistory
from cmsapi.jobs.token import read_token, write_token
from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from cmsapi.transport.requests import expand
from tests.support.examples import examples
from tests.support.jobs import client_of
from tests.support.places import shared_url
from tests.support.raw import RawServer, http

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


@pytest.fixture(params=["sqlite", "redis", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a state of each kind that processes share."""
    return await shared_url(request.param, request, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
async def test_odd_identifiers_outlive_the_process(url: str, kind: str) -> None:
    """On a socket and a shared state, the next client takes up the job, and its batch knows it."""
    options = {
        "limits": cmsapi.RateLimits.unlimited(),
        "polling": cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1),
        "state": url,
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
            async with client.jobs.batch(kind) as batch:
                assert [o.error async for o in batch.map(client.keywords.analyze, sandbox.keyword_ids[1:3])] == [
                    None
                ] * 2
        async with client_of_socket() as client, client.jobs.batch(kind) as batch:
            again = [outcome async for outcome in batch.map(client.keywords.analyze, sandbox.keyword_ids[1:3])]
        assert [(o.earlier, o.error) for o in again] == [(True, None)] * 2
        assert len(sandbox.ledger.launches()) == 3


identifiers = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text not in (".", ".."))


@given(identifiers)
@example("a b")
@example("../v1/me?x=1#y")
@example("%2e%2e")
@example("\0\r\n\\")
@example("\U0001f600" * 1000)
async def test_any_text_goes_through_path_and_token(text: str) -> None:
    """Whatever text the service gives as an identifier comes back as it was, from a path and from a token."""
    path = expand("/v1/things/{id}/part", {"id": text})
    assert path.isascii()
    assert [unquote(part) for part in path.split("/")] == ["", "v1", "things", text, "part"]
    history = JobHistory(job_id=text)
    kind, target, again = read_token(write_token(JobKind.IDEA_SEARCH, text, history, URL), URL)
    assert (kind.name, target, attrs.evolve(again, began=history.began, since=history.since)) == (
        JobKind.IDEA_SEARCH,
        text,
        history,
    )


@settings(max_examples=examples(15))
@given(identifiers)
@example("a b")
@example("../v1/me?x=1#y")
@example("%2e%2e")
@example("%2F;a=1&b+c@d:e")
@example("\0\r\n\\")
@example("\N{GRINNING FACE}é\u202e")
@example("x" * 1000)
def test_any_text_goes_over_a_socket(text: str) -> None:
    """A server on loopback decodes the identifier that was given: nothing on the way writes the path anew."""

    async def ask() -> list[bytes]:
        async with (
            RawServer(http(b'{"id": "k"}')) as server,
            cmsapi.Client("sk_1", base_url=server.url, limits=cmsapi.RateLimits.unlimited()) as client,
        ):
            await client.keywords.get(text)
            await client.request("GET", f"/v1/keywords/{quote(text, safe='')}")
            return server.requests

    typed, free = asyncio.run(ask())
    for request in (typed, free):
        line = request.partition(b"\r\n")[0].decode("ascii")
        assert [unquote(part) for part in line.split(" ")[1].split("/")] == ["", "v1", "keywords", text]


TEXTS = (
    "a b",
    "../v1",
    "\0\r\n\\\x7f",
    "\N{GRINNING FACE}\u202e\ufeff",
    "'; DROP TABLE",
    "{a}*?[x]",
    "\N{GRINNING FACE}" * 1000,
)


async def test_any_text_is_kept_in_a_shared_state(url: str) -> None:
    """The next client finds the launch of each identifier, whatever means something to a database."""
    async with RawServer(http(b'{"id": "k", "organization": {"id": "o"}}')) as server:

        def client_of_socket() -> cmsapi.Client:
            limits = cmsapi.RateLimits.unlimited()
            return cmsapi.Client("sk_1", base_url=server.url, state=url, limits=limits)

        async with client_of_socket() as client:
            tokens = [(await client.keywords.analyze(text)).token for text in TEXTS]
        async with client_of_socket() as client:
            kept = [client.jobs.attach(entry.token or "").target for entry in await client.jobs.journal()]
            assert [client.jobs.attach(token).target for token in tokens] == list(TEXTS)
    assert sorted(kept) == sorted(TEXTS)


# Written by the first version of the format.
OLD = (
    "cmsjob1.eyJraW5kIjoiaWRlYV9zZWFyY2giLCJ0YXJnZXQiOiJhIGIvJTJGPyPDqSIsImpvYiI6ImEgYi8lMkY_I8OpIiwibGF1bmNoZWQiOiIyMDI2"
    "LTAxLTMxVDEyOjAwOjAwKzAwOjAwIiwid2F0Y2hlZCI6ZmFsc2UsImF0IjoiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20ifQ.712e7fd1bb3e"
)


@pytest.mark.looptime
async def test_a_stored_token_stays_readable() -> None:
    """The text of a token that a user has stored means the same job in each later version, and is written as before."""
    async with cmsapi.Client("sk_1", base_url=URL) as client:
        job = client.jobs.attach(OLD)
        assert (job.kind, job.id, job.target) == ("idea_search", "a b/%2F?#é", "a b/%2F?#é")
        assert job.token == OLD
