"""Tokens: a text is enough to wait for a job."""

from __future__ import annotations

import pytest

from cmsapi import Client
from cmsapi.errors import ArgumentError, JobWaitTimeoutError
from cmsapi.sandbox import Sandbox
from tests.support.box import client_of

pytestmark = pytest.mark.looptime


async def test_a_token_serves_a_client_that_knows_nothing(client: Client, sandbox: Sandbox) -> None:
    """A client without a shared state waits for a token's job, and launches nothing."""
    token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
    async with client_of(sandbox, base_url="http://127.0.0.1:9") as other:
        assert (await other.jobs.attach(token, "analysis")).id == sandbox.keyword_ids[0]
    assert len(sandbox.ledger.launches) == 1


async def test_the_token_of_an_error_waits_again(client: Client, sandbox: Sandbox) -> None:
    """The error of a wait that is over contains the token, with which waiting again is free."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with pytest.raises(JobWaitTimeoutError) as over:
        await job.wait(timeout=20)
    assert (await client.jobs.attach(str(over.value.token))).id == sandbox.keyword_ids[0]
    assert len(sandbox.ledger.launches) == 1


@pytest.mark.parametrize("token", ["", "abc", "kwd_1", "W10", "\u00e9", "W1" * 99_999])
async def test_what_is_no_token_is_refused(client: Client, sandbox: Sandbox, token: str) -> None:
    """Text that is no token, or a token of another kind, is refused."""
    with pytest.raises(ArgumentError, match="token"):
        client.jobs.attach(token)
    with pytest.raises(ArgumentError, match="token"):
        await client.jobs.status(token)
    with pytest.raises(ArgumentError, match="analysis"):
        client.jobs.attach((await client.keywords.analyze(sandbox.keyword_ids[0])).token, "generation")


async def test_tokens_of_earlier_generations_change_no_later_one(client: Client, sandbox: Sandbox) -> None:
    """A generation is awaited as itself, even if an older one of the content is attached meanwhile."""
    content = sandbox.content_ids[0]
    first = await client.contents.generate(content, on_review="confirm")
    await first
    second = await client.contents.generate(content)
    client.jobs.attach(first.token)
    assert (await second).decision is None
