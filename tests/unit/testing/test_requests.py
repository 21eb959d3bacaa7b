"""Assertions about requests, and their messages."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Sandbox
from cmsapi.testing import HandlerTransport, assert_requests

pytestmark = pytest.mark.looptime

ANALYZE = "POST /v1/keywords/*/analyze"


async def used() -> Sandbox:
    """Return a sandbox after two analyses, a refused launch and their polls."""
    box = Sandbox(seed=1, durations=Fixed(30), faults=[Fault(match=ANALYZE, status=429, retry_after=1)])
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        await client.me()
        jobs = [await client.keywords.analyze(each) for each in box.keyword_ids[:2]]
        await client.jobs.gather(*jobs)
    return box


def refusal(box: Sandbox, *args: object, **kwargs: object) -> str:
    """Return the message of a failing assertion."""
    with pytest.raises(AssertionError) as caught:
        assert_requests(box, *args, **kwargs)  # type: ignore[arg-type]
    return str(caught.value)


async def test_right_numbers_pass() -> None:
    """Exact numbers, bounds, fields, and parts of a ledger."""
    box = await used()
    assert_requests(box, ANALYZE, times=3)
    assert_requests(box, ANALYZE, times=2, status=202)
    assert_requests(box, "GET /v1/me")
    assert_requests(box, "GET *", at_least=2, at_most=50)
    assert_requests(box, "DELETE *", times=0)
    assert_requests(box, at_most=50)
    assert_requests(box.ledger.launches(), charged=True, times=2)


async def test_too_few_requests_are_listed() -> None:
    """The message has the expected number, the matching requests, and all requests by kind."""
    box = await used()
    first, second = box.keyword_ids[:2]
    message = refusal(box, ANALYZE, times=5, status=202).splitlines()
    assert message[0] == "expected 5 of POST /v1/keywords/*/analyze status=202, saw 2"
    assert message[1] == "These:"
    assert [line.split() for line in message[2:4]] == [
        [f"{entry.at - box.ledger[0].at:.2f}", "s", "POST", f"/v1/keywords/{each}/analyze", "202"]
        for entry, each in zip(box.ledger.launches(), (first, second), strict=True)
    ]
    assert message[4] == f"All {len(box.ledger)} requests:"
    assert "    1 x GET /v1/me  200" in message
    assert "    2 x POST /v1/keywords/*/analyze  202" in message
    assert "    1 x POST /v1/keywords/*/analyze  429" in message


async def test_a_wrong_field_is_named() -> None:
    """If only a field differs, the message has its value."""
    box = await used()
    assert "Of the 1 on that path status is 200 in 1." in refusal(box, "GET /v1/me", status=500)


async def test_a_wrong_path_gets_a_proposal() -> None:
    """The message proposes the nearest pattern for a misspelt path."""
    box = await used()
    message = refusal(box, "POST /v1/keyword/*/analyse")
    assert message.startswith("expected at least 1 of POST /v1/keyword/*/analyse, saw none\n")
    assert message.endswith("\nWas POST /v1/keywords/*/analyze meant?")


async def test_too_many_are_cut_short() -> None:
    """A long list ends with the number of further entries."""
    box = await used()
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        for _ in range(14):
            await client.me()
    message = refusal(box, "GET /v1/me", at_most=3)
    assert message.startswith("expected at most 3 of GET /v1/me, saw 15\n")
    assert "\n  and 5 more\n" in message


async def test_an_empty_ledger_is_reported() -> None:
    """Without requests the message has no list."""
    assert refusal(Sandbox()) == "expected at least 1 of * *, saw none\nNo request was made."


async def test_a_handler_transport_has_a_ledger_as_well() -> None:
    """Requests to a handler can be asserted in the same way."""
    transport = HandlerTransport(lambda request: [])
    async with cmsapi.Client("sk_test", base_url="https://api.example.com", transport=transport) as client:
        await client.request("GET", "/v1/things")
    assert_requests(transport, "GET /v1/things", times=1, status=200)
    with pytest.raises(AssertionError, match="expected none of"):
        assert_requests(transport, "GET *", times=0)


async def test_invalid_arguments_are_refused() -> None:
    """An unknown field and contradicting bounds are errors of the test, not failures."""
    box = await used()
    with pytest.raises(TypeError, match=r"an? Entry has no field 'stats'"):
        assert_requests(box, stats=429)
    with pytest.raises(ValueError, match="`times` cannot be combined"):
        assert_requests(box, times=1, at_most=2)
