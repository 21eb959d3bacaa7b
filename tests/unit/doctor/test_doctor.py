"""The findings of the doctor; it changes nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.sandbox import Credits, Fault, Limits, Sandbox

pytestmark = pytest.mark.looptime


@attrs.define
class OtherDescription:
    """Send requests to a sandbox, and change its description."""

    box: Sandbox
    change: Callable[[dict[str, Any]], Any]

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Send a request; the description is changed on its way back."""
        response = await self.box.transport.send(request)
        if not request.url.endswith("/openapi.json"):
            return response
        return attrs.evolve(response, body=json.dumps(self.change(json.loads(response.body))).encode())


@asynccontextmanager
async def client_of(
    box: Sandbox, change: Callable[[dict[str, Any]], Any] | None = None
) -> AsyncIterator[cmsapi.Client]:
    """Make a client of a sandbox, perhaps with a changed description."""
    transport = box.transport if change is None else OtherDescription(box, change)
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=transport) as client:
        yield client


def moved(**routes: tuple[str, str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Make a change that moves operations to another method and path."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        paths = document["paths"]
        for name, (method, path) in routes.items():
            row = cmsapi.OPERATIONS[name]
            described = paths[row.path].pop(row.method.lower())
            paths.setdefault(path, {})[method.lower()] = described
        return document

    return change


def verdicts(diagnosis: cmsapi.Diagnosis) -> dict[str, cmsapi.Verdict]:
    """Return the verdict of each check."""
    return {check.name: check.verdict for check in diagnosis.checks}


def found(diagnosis: cmsapi.Diagnosis, name: str) -> str:
    """Return the finding of a check."""
    (check,) = [check for check in diagnosis.checks if check.name == name]
    return check.found


async def test_a_sound_service_is_sound(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """On the sandbox all checks are OK, even the clock, which begins in another year; four requests, no launch."""
    diagnosis = await client.doctor()

    wrong = {name for name, verdict in verdicts(diagnosis).items() if verdict is not cmsapi.Verdict.OK}
    assert wrong == set()
    assert not any(check.advice for check in diagnosis.checks)
    assert "its own time" in found(diagnosis, "clock")
    assert diagnosis.ok
    assert diagnosis.user is not None
    assert all(route.listed for route in diagnosis.routes)
    assert len(sandbox.ledger) == 4
    assert len(sandbox.ledger.launches()) == 0


async def test_a_refused_key_is_a_finding(sandbox: Sandbox) -> None:
    """With a revoked key the doctor reports a problem instead of raising, and shows no key."""
    async with cmsapi.Client(sandbox.revoked_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        diagnosis = await client.doctor()

    assert not diagnosis.ok
    assert verdicts(diagnosis)["key"] is cmsapi.Verdict.PROBLEM
    assert sandbox.revoked_key not in repr(diagnosis) + diagnosis._repr_html_()


async def test_missing_rights_and_credits_are_warnings() -> None:
    """A member's key and an empty balance are warnings, not problems."""
    box = Sandbox(credits=Credits(ai_writing=0))
    async with cmsapi.Client(box.member_key, base_url=box.base_url, transport=box.transport) as client:
        diagnosis = await client.doctor()

    assert verdicts(diagnosis)["permissions"] is cmsapi.Verdict.WARNING
    assert verdicts(diagnosis)["balances"] is cmsapi.Verdict.WARNING
    assert diagnosis.ok


async def test_foreign_usage_is_a_warning() -> None:
    """Requests of another process count as foreign usage of the limit."""
    box = Sandbox(limits=Limits(per_hour=100))
    request = cmsapi.Request("GET", f"{box.base_url}/v1/me", {"Authorization": f"Bearer {box.api_key}"})
    for _ in range(15):
        await box.transport.send(request)
    async with client_of(box) as client:
        diagnosis = await client.doctor()

    assert diagnosis.rate_limit.foreign == 15
    assert verdicts(diagnosis)["limits"] is cmsapi.Verdict.WARNING


async def test_moved_routes_are_found_and_adopted(sandbox: Sandbox) -> None:
    """Routes that the service describes elsewhere are proposed, and the adopted table has them."""
    change = moved(
        confirm_generation=("POST", "/v1/generations/{id}/confirm"),
        cancel_generation=("POST", "/v1/generations/{id}/cancel"),
        update_content=("PUT", "/v1/contents/{id}"),
        score_keyword=("POST", "/v1/keywords/{id}/score"),
    )
    async with client_of(sandbox, change) as client:
        diagnosis = await client.doctor()

    found = {route.name: route.adopted for route in diagnosis.routes if not route.listed}
    assert found == {
        "confirm_generation": "POST /v1/generations/{contentId}/confirm",
        "cancel_generation": "POST /v1/generations/{contentId}/cancel",
        "update_content": "PUT /v1/contents/{contentId}",
        "score_keyword": "POST /v1/keywords/{keywordId}/score",
    }
    table = diagnosis.adopt()
    assert {name: table[name].route for name in found} == found
    assert diagnosis.adopt("update_content")["score_keyword"] == cmsapi.OPERATIONS["score_keyword"]
    with pytest.raises(cmsapi.ConfigError, match="no candidate"):
        diagnosis.adopt("get_me")


async def test_a_missing_launch_has_no_candidate(sandbox: Sandbox) -> None:
    """For a launch that the service does not describe, no other route is adopted."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        del document["paths"][cmsapi.OPERATIONS["analyze_keyword"].path]
        return document

    async with client_of(sandbox, change) as client:
        diagnosis = await client.doctor()

    (gone,) = [route for route in diagnosis.routes if not route.listed]
    assert (gone.name, gone.adopted) == ("analyze_keyword", None)
    assert diagnosis.adopt()["analyze_keyword"] == cmsapi.OPERATIONS["analyze_keyword"]


@pytest.mark.parametrize("document", [None, [], {"paths": 7}, {"paths": {"/v1/x": 7, "//evil": {"get": {}}}}, "text"])
async def test_an_invalid_description_makes_routes_unknown(sandbox: Sandbox, document: Any) -> None:
    """The doctor continues after any description of the service, and the table stays."""
    async with client_of(sandbox, lambda _: document) as client:
        diagnosis = await client.doctor()

    assert verdicts(diagnosis)["operations"] is cmsapi.Verdict.UNKNOWN
    assert diagnosis.adopt() == cmsapi.OPERATIONS


async def test_a_version_in_the_address_of_the_server_is_understood(sandbox: Sandbox) -> None:
    """Paths without `/v1` belong to version 1."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        document["paths"] = {path.removeprefix("/v1"): item for path, item in document["paths"].items()}
        return document

    async with client_of(sandbox, change) as client:
        assert all(route.listed for route in (await client.doctor()).routes)


async def test_drift_is_reported(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A word that the specification does not list, read before, is in the report with its count."""
    sandbox.set_status_word(sandbox.keyword_ids[0], "reticulating")
    await client.keywords.get(sandbox.keyword_ids[0])

    diagnosis = await client.doctor()

    assert verdicts(diagnosis)["drift"] is cmsapi.Verdict.WARNING
    assert ("Keyword.analysisStatus", "reticulating") in {(each.where, each.example) for each in diagnosis.drift}


async def test_drift_is_unknown_without_answers(sandbox: Sandbox) -> None:
    """With a refused key no answer was read, so drift is unknown."""
    async with cmsapi.Client(sandbox.revoked_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        assert verdicts(await client.doctor())["drift"] is cmsapi.Verdict.UNKNOWN


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://127.0.0.1:9", "nothing is listening there"),
        ("https://sandbox.invalid", "DNS"),
        ("TLS", "does not speak TLS"),
    ],
)
async def test_a_missing_connection_is_the_only_finding(address: str, why: str) -> None:
    """Without a connection there is one finding with the reason, and no other check."""
    async with Sandbox() as box:
        base_url = box.base_url.replace("http://", "https://") if address == "TLS" else address
        async with cmsapi.Client(box.api_key, base_url=base_url) as client:
            diagnosis = await client.doctor()
    assert verdicts(diagnosis) == {"connection": cmsapi.Verdict.PROBLEM}
    assert why in found(diagnosis, "connection")
    assert not diagnosis.ok


@attrs.define
class Mute:
    """Answer the first requests as a sandbox does, and no further one."""

    box: Sandbox
    answers: int

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Answer a request, or never."""
        self.answers -= 1
        if self.answers < 0:
            await asyncio.Event().wait()
        return await self.box.transport.send(request)


@pytest.mark.parametrize("answers", range(4))
async def test_a_service_that_does_not_answer_is_a_finding_within_half_a_minute(sandbox: Sandbox, answers: int) -> None:
    """From whichever request on the service is mute, the examination ends soon and says so."""
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=Mute(sandbox, answers)) as client:
        began = asyncio.get_running_loop().time()
        diagnosis = await client.doctor()
        assert asyncio.get_running_loop().time() - began <= 30
    texts = [check.found for check in diagnosis.checks if check.verdict is not cmsapi.Verdict.OK]
    assert any("no whole answer came back within" in text or "not known" in text for text in texts)
    assert diagnosis.ok == (answers > 1)


async def test_a_second_that_others_use_is_waited_for(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """One 429 is no finding: the request is made again in the next second."""
    sandbox.add_fault(Fault(match="GET /v1/me", status=429))
    assert verdicts(await client.doctor())["key"] is cmsapi.Verdict.OK


async def test_a_used_up_hour_is_a_finding_at_once() -> None:
    """The doctor does not wait for requests to come back; it blames the limits, and not the key."""
    box = Sandbox(limits=Limits(per_hour=10))
    async with client_of(box) as client:
        for _ in range(10):
            await client.me()
        began = asyncio.get_running_loop().time()
        diagnosis = await client.doctor()
        assert asyncio.get_running_loop().time() - began <= 30
    assert verdicts(diagnosis)["key"] is cmsapi.Verdict.UNKNOWN
    assert verdicts(diagnosis)["limits"] is cmsapi.Verdict.WARNING
    assert "10 of 10 requests" in found(diagnosis, "limits")
    assert diagnosis.ok


@pytest.mark.parametrize(("used", "verdict"), [(85, "ok"), (96, "warning"), (995, "warning")])
async def test_a_nearly_used_hour_is_a_warning(used: int, verdict: str) -> None:
    """The doctor reports the use of the hour, its effect and when requests come back."""
    box = Sandbox(limits=Limits(per_hour=100 if used < 100 else 1000, per_second=1000))
    async with client_of(box) as client:
        for _ in range(used):
            await client.me()
        diagnosis = await client.doctor()
    assert verdicts(diagnosis)["limits"] == verdict
    if verdict == "warning":
        assert f"{used + 3} of {100 if used < 100 else 1000} requests" in found(diagnosis, "limits")
        assert re.search(r"comes back in \d+ min", found(diagnosis, "limits"))


async def test_a_large_clock_offset_has_a_readable_unit(sandbox: Sandbox) -> None:
    """A clock that is months off is a warning for a real service, and the advice names both clocks."""
    async with cmsapi.Client(
        sandbox.api_key, base_url="https://service.example", transport=sandbox.transport
    ) as client:
        diagnosis = await client.doctor()
    (clock,) = [check for check in diagnosis.checks if check.name == "clock"]
    assert clock.verdict is cmsapi.Verdict.WARNING
    assert re.search(r"\d+ days (ahead of|behind)", clock.found)
    assert "One of the two clocks is wrong" in clock.advice


async def test_drift_of_a_sandbox_advises_no_newer_sdk(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """Differences in a sandbox of the same process come from its settings."""
    sandbox.set_status_word(sandbox.keyword_ids[0], "reticulating")
    await client.keywords.get(sandbox.keyword_ids[0])
    (drift,) = [check for check in (await client.doctor()).checks if check.name == "drift"]
    assert "newer SDK" not in drift.advice
