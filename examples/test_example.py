"""Tests of your own code with the sandbox: no network, no account, no costs.

    pip install 'cmsapi[testing]'
    pytest examples/test_example.py

The fixtures `cms_sandbox` and `cms_client` come with cmsapi. `looptime` makes minutes pass instantly.
"""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest

from cmsapi import Client, CMSError, Keyword, LaunchUnknownError, Response
from cmsapi.sandbox import Fault, Fixed, Sandbox
from cmsapi.testing import HandlerTransport


async def analyze_all(client: Client, keyword_ids: list[str]) -> dict[str, str]:
    """Analyze keywords and return a result for each. This is the code under test; you would import your own."""
    return {
        outcome.item: "analyzed" if outcome.ok else type(outcome.error).__name__
        async for outcome in client.jobs.map(client.keywords.analyze, keyword_ids)
    }


async def title_of(client: Client, keyword_id: str) -> str:
    """Return a title for a keyword, or a placeholder if it cannot be read."""
    try:
        return f"All about {(await client.keywords.get(keyword_id)).keyword}"
    except CMSError:
        return "Untitled"


@pytest.fixture
def cms_sandbox() -> Sandbox:
    """Return the sandbox for this module's tests; without this fixture, they would get one with default settings."""
    return Sandbox(keywords=20, durations={"analysis": Fixed(120)})


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_each_keyword_is_analyzed_and_paid_once(cms_client: Client, cms_sandbox: Sandbox) -> None:
    """Twenty analyses of two minutes stay within the limits, and cost twenty credits."""
    found = await analyze_all(cms_client, list(cms_sandbox.keyword_ids))
    assert set(found.values()) == {"analyzed"}
    assert sum(launch.credits for launch in cms_sandbox.ledger.launches) == 20
    assert cms_sandbox.ledger.count(status=429) == 0


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_what_fails_is_told(cms_client: Client, cms_sandbox: Sandbox) -> None:
    """A failed job and a launch lost on its way to the service appear as errors in the outcomes of their items."""
    fails, lost, works = cms_sandbox.keyword_ids[:3]
    cms_sandbox.set_outcome(fails, "failed")
    cms_sandbox.faults.rules.append(Fault(match="analyze_keyword", after=1, times=1, drop="before"))
    found = await analyze_all(cms_client, [fails, lost, works])
    assert found == {fails: "JobFailedError", lost: LaunchUnknownError.__name__, works: "analyzed"}


@pytest.mark.asyncio
async def test_an_answer_written_by_hand() -> None:
    """A function answers requests in place of the sandbox, here with a 404."""
    refused = b'{"error": {"code": "not_found", "message": "no such keyword"}}'
    transport = HandlerTransport(lambda request: Response(404, {}, refused))
    async with Client("sk_test", base_url="http://localhost", transport=transport) as client:
        assert await title_of(client, "kwd_1") == "Untitled"
    assert [request.operation for request in transport.requests] == ["get_keyword"]


@pytest.mark.asyncio
async def test_a_mock_of_the_client() -> None:
    """A mock of the client checks the names and arguments of calls, without any service."""
    client = create_autospec(Client, instance=True)
    client.keywords.get.return_value = Keyword(id="kwd_1", keyword="shoes")
    assert await title_of(client, "kwd_1") == "All about shoes"
    client.keywords.get.assert_awaited_once_with("kwd_1")
