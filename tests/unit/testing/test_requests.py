"""Assertions about requests, and what they say when they fail."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Sandbox
from cmsapi.testing import HandlerTransport, assert_requests

pytestmark = pytest.mark.looptime

ANALYZE = "POST /v1/keywords/*/analyze"


async def used() -> Sandbox:
    """Return a sandbox that has seen two analyses, a refused launch and what belongs to them."""
    box = Sandbox(seed=1, durations=Fixed(30), faults=[Fault(match=ANALYZE, status=429, retry_after=1)])
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        await client.me()
        jobs = [await client.keywords.analyze(each) for each in box.keyword_ids[:2]]
        await client.jobs.gather(*jobs)
    return box


def refusal(box: Sandbox, *args: object, **kwargs: object) -> str:
    """Return what a failing assertion says."""
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


async def test_too_few_lists_those_and_all() -> None:
    """The message has what was expected, the requests that count, and all requests by kind."""
    box = await used()
    first, second = box.keyword_ids[:2]
    said = refusal(box, ANALYZE, times=5, status=202).splitlines()
    assert said[0] == "expected 5 of POST /v1/keywords/*/analyze status=202, saw 2"
    assert said[1] == "These:"
    assert [line.split() for line in said[2:4]] == [
        [f"{entry.at - box.ledger[0].at:.2f}", "s", "POST", f"/v1/keywords/{each}/analyze", "202"]
        for entry, each in zip(box.ledger.launches(), (first, second), strict=True)
    ]
    assert said[4] == f"All {len(box.ledger)} requests:"
    assert "    1 x GET /v1/me  200" in said
    assert "    2 x POST /v1/keywords/*/analyze  202" in said
    assert "    1 x POST /v1/keywords/*/analyze  429" in said


async def test_a_wrong_field_is_named() -> None:
    """Where the path is right and a field is not, it says what the field was."""
    box = await used()
    assert "Of the 1 on that path status is 200 in 1." in refusal(box, "GET /v1/me", status=500)


async def test_a_wrong_path_is_answered_with_the_nearest() -> None:
    """A misspelt path gets a proposal."""
    box = await used()
    said = refusal(box, "POST /v1/keyword/*/analyse")
    assert said.startswith("expected at least 1 of POST /v1/keyword/*/analyse, saw none\n")
    assert said.endswith("\nWas POST /v1/keywords/*/analyze meant?")


async def test_too_many_are_cut_short() -> None:
    """Long lists end with how many more there are."""
    box = await used()
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        for _ in range(14):
            await client.me()
    said = refusal(box, "GET /v1/me", at_most=3)
    assert said.startswith("expected at most 3 of GET /v1/me, saw 15\n")
    assert "\n  and 5 more\n" in said


async def test_nothing_at_all_is_said_so() -> None:
    """An empty ledger has no list."""
    assert refusal(Sandbox()) == "expected at least 1 of * *, saw none\nNo request was made."


async def test_a_handler_transport_has_a_ledger_as_well() -> None:
    """What a function answered can be asserted on likewise."""
    transport = HandlerTransport(lambda request: [])
    async with cmsapi.Client("sk_test", base_url="https://api.example.com", transport=transport) as client:
        await client.request("GET", "/v1/things")
    assert_requests(transport, "GET /v1/things", times=1, status=200)
    with pytest.raises(AssertionError, match="expected none of"):
        assert_requests(transport, "GET *", times=0)


async def test_questions_without_sense_are_refused() -> None:
    """An unknown field and contradicting bounds are mistakes of the test, not of what is tested."""
    box = await used()
    with pytest.raises(TypeError, match=r"an? Entry has no field 'stats'"):
        assert_requests(box, stats=429)
    with pytest.raises(ValueError, match="give times, or"):
        assert_requests(box, times=1, at_most=2)
