"""The box itself: seeds, strings to pull, and the socket that answers as the transport does."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from typing import Any

import aiohttp
import pytest

from cmsapi.sandbox import Behaviour, Fault, Faults, Fixed, Sandbox, serve_forever
from cmsapi.sandbox.world.clock import FIRST_MOMENT, Clock
from cmsapi.transport.message import Request
from tests.support.calling import Caller

NAMES = [
    "api_key",
    "member_key",
    "revoked_key",
    "workspace_id",
    "foreign_workspace_id",
    "folder_ids",
    "page_ids",
    "keyword_ids",
    "analyzed_keyword_ids",
    "prompt_ids",
    "content_ids",
    "brand_voice_ids",
    "knowledge_document_ids",
    "content_status_ids",
    "user_ids",
]


async def picture(box: Sandbox) -> list[Any]:
    """Return what a sandbox shows of itself."""
    call = Caller(box)
    path = f"/v1/workspaces/{box.workspace_id}"
    paths = ("/v1/me", f"{path}/contents", f"{path}/folders", f"/v1/contents/{box.content_ids[1]}")
    return [await call.get(path) for path in paths]


async def test_the_same_seed_gives_the_same_box() -> None:
    """Identifiers, keys and data depend on the seed alone."""
    one, same, other = Sandbox(seed=7), Sandbox(seed=7), Sandbox(seed="8")
    assert [getattr(one, name) for name in NAMES] == [getattr(same, name) for name in NAMES]
    assert not [name for name in NAMES if getattr(one, name) == getattr(other, name)]
    assert await picture(one) == await picture(same)
    assert one.base_url != same.base_url


async def test_as_much_is_seeded_as_asked_for() -> None:
    """Keywords never analysed, and contents each ready for a generation."""
    box = Sandbox(keywords=33, contents=7)
    call = Caller(box)
    assert tuple(
        len(set(ids)) for ids in (box.keyword_ids, box.content_ids, box.analyzed_keyword_ids, box.prompt_ids)
    ) == (33, 7, 7, 7)
    for content_id in box.content_ids:
        assert (await call("POST", f"/v1/contents/{content_id}/atomic", {"settings": {}})).status == 202
    assert (await call.get(f"/v1/keywords/{box.keyword_ids[-1]}"))["analysisStatus"] is None
    assert (await call.get(f"/v1/keywords/{box.analyzed_keyword_ids[-1]}"))["analysisStatus"] == "success"
    empty = Sandbox(keywords=0, contents=0)
    assert (empty.keyword_ids, empty.content_ids, len(empty.analyzed_keyword_ids)) == ((), (), 1)


def test_seeded_keywords_differ() -> None:
    """Texts of keywords are unique, however many."""
    box = Sandbox(keywords=1500, contents=1)
    assert len(set(box.keyword_ids)) == 1500


def test_identifiers_and_keys_have_their_form(box: Sandbox) -> None:
    """Identifiers are a prefix and 26 characters; keys begin with `sk_`."""
    for id_ in (*box.user_ids, *box.content_ids, box.workspace_id):
        assert re.fullmatch(r"[a-z]{3}_01hx[0-9a-z]{22}", id_)
    assert all(key.startswith("sk_") for key in (box.api_key, box.member_key, box.revoked_key))


@pytest.mark.looptime
async def test_time_is_the_loops(box: Sandbox, call: Caller) -> None:
    """`Date` and timestamps start at 2026 and move with the loop."""
    answer = await call("GET", "/v1/me")
    assert answer.headers["Date"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    await asyncio.sleep(86_400)
    assert (await call("GET", "/v1/me")).headers["Date"] == "Fri, 02 Jan 2026 00:00:00 GMT"
    assert box.now() == FIRST_MOMENT + 86_400


def test_the_clock_goes_on_in_another_loop() -> None:
    """Without a loop the clock stands still; a second loop goes on where the first stopped."""
    clock = Clock()

    async def reading() -> float:
        await asyncio.sleep(0.01)
        return clock.seconds()

    assert clock.moment(clock.seconds()) == FIRST_MOMENT
    first = asyncio.run(reading())
    assert first == clock.seconds()
    assert first <= asyncio.run(reading()) < first + 1
    assert FIRST_MOMENT <= clock.moment(clock.seconds()) < FIRST_MOMENT + 1


async def test_status_words_can_be_anything(box: Sandbox, call: Caller) -> None:
    """An unknown word or null can be shown instead of the truth."""
    path = f"/v1/keywords/{box.analyzed_keyword_ids[0]}"
    for word in ("simmering", None):
        box.set_status_word(box.analyzed_keyword_ids[0], word)
        assert word == (await call.get(path))["analysisStatus"]
    box.clear_status_word(box.analyzed_keyword_ids[0])
    assert (await call.get(path))["analysisStatus"] == "success"


async def test_resources_can_be_forgotten(box: Sandbox, call: Caller) -> None:
    """A forgotten resource is not found until it is remembered, neither by path nor by reference."""
    for id_, path in (
        (box.keyword_ids[0], f"/v1/keywords/{box.keyword_ids[0]}"),
        (box.workspace_id, f"/v1/workspaces/{box.workspace_id}"),
    ):
        box.forget(id_)
        assert (await call("GET", path)).status == 404
        box.remember(id_)
        assert (await call("GET", path)).status == 200


async def test_the_transport_answers_any_host(box: Sandbox) -> None:
    """The address before the path does not matter, nor does a fragment; closing changes nothing."""
    await box.transport.aclose()
    for url in ("http://elsewhere/health", "https://x.invalid:99/health#top"):
        assert (await box.transport.send(Request("GET", url))).status == 200
    assert (await box.transport.send(Request("GET", "https://x.invalid"))).status == 401


def test_importing_the_sandbox_does_not_import_aiohttp() -> None:
    """Only who serves pays for a web server."""
    code = "import sys, cmsapi.sandbox; cmsapi.sandbox.Sandbox(); print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


REQUESTS: tuple[tuple[str, str, bytes | None], ...] = (
    ("GET", "/v1/me", None),
    ("GET", "/v1/contents/{content}", None),
    ("GET", "/v1/workspaces/{workspace}/contents?contentScore[gte]=1&limit=3", None),
    ("GET", "/v1/credit-usages?type=analysis&q=running%20shoes", None),
    ("GET", "/v1/credit-usages", None),
    ("GET", "/v1/keywords/%C3%A9%2F", None),
    ("GET", "/v1/keywords/%FF", None),
    ("GET", "/nowhere", None),
    ("PUT", "/v1/me", None),
    ("POST", "/v1/workspaces/{workspace}/content-idea-searches", b'{"keyword": "\\ud800"}'),
    ("POST", "/v1/workspaces/{workspace}/content-idea-searches", b"{"),
    ("GET", "/v1/keywords/a%0Ab", None),
    ("GET", "/v1/%0A", None),
    ("POST", "/v1/keywords/{keyword}/analyze", None),
    ("POST", "/v1/keywords/{keyword}/analyze", None),
    ("GET", "/v1/keywords/{keyword}", None),
    ("PATCH", "/v1/contents/{content}", b'{"version": 1, "title": "New"}'),
    ("DELETE", "/v1/contents/{content}", None),
    ("GET", "/health", None),
    ("GET", "/docs", None),
)


@pytest.mark.looptime
@pytest.mark.enable_socket
@pytest.mark.parametrize("deletion", ["null", "empty"])
async def test_the_socket_answers_as_the_transport_does(deletion: str) -> None:
    """Status, body and headers are the same in-process and over HTTP."""
    behaviour = Behaviour(deletion=deletion)  # type: ignore[arg-type]
    near, far = (Sandbox(behaviour=behaviour, durations=Fixed(100.0)) for _ in range(2))
    names = {"content": near.content_ids[0], "keyword": near.keyword_ids[0], "workspace": near.workspace_id}
    async with far, aiohttp.ClientSession(headers={"Authorization": f"Bearer {far.api_key}"}) as session:
        for method, template, body in REQUESTS:
            path = template.format_map(names)
            headers = {"Authorization": f"Bearer {near.api_key}", "Content-Type": "application/json"}
            here = await near.transport.send(Request(method, near.base_url + path, headers, body))
            from yarl import URL

            async with session.request(
                method, URL(far.base_url + path, encoded=True), data=body, headers=headers
            ) as there:
                assert (here.status, here.body) == (there.status, await there.read())
                for name in set(here.headers) - {"date"}:
                    assert here.headers[name] == there.headers[name]
                assert abs(len(here.headers) - len(set(there.headers))) <= 2
    assert [entry.outcome for entry in near.ledger] == [entry.outcome for entry in far.ledger]


@pytest.mark.enable_socket
async def test_serving_changes_the_address_for_a_while() -> None:
    """While served, the address is a loopback port and the time is the present; the transport keeps answering."""
    box = Sandbox(faults=Faults(rules=[Fault(match="GET /v1/me", drop=True)]))
    home = box.base_url
    async with box:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", box.base_url)
        assert abs(time.time() - box.now()) < 5
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.post(box.base_url + "/v1/me", proxy="http://127.0.0.1:9")
            assert (await session.get(box.base_url + "/v1/users")).status == 401
        with pytest.raises(ConnectionResetError):
            await Caller(box)("GET", "/v1/me")
    assert home == box.base_url
    assert (await Caller(box)("GET", "/v1/me")).status == 200


@pytest.mark.enable_socket
async def test_a_dropped_request_breaks_the_connection() -> None:
    """Over HTTP a drop is a connection that ends without an answer."""
    box = Sandbox(faults=Faults(rules=[Fault(match="POST /v1/me", drop=True)]))
    async with box, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(box.base_url + "/v1/me")
    assert [entry.status for entry in box.ledger] == [None]


@pytest.mark.enable_socket
async def test_serving_goes_on_until_cancelled() -> None:
    """`serve_forever` tells its address and gives the port back at the end."""
    box, started = Sandbox(), asyncio.Queue[str]()
    serving = asyncio.create_task(serve_forever(box, port=0, started=started.put_nowait))
    base_url = await started.get()
    async with aiohttp.ClientSession() as session:
        assert await (await session.get(f"{base_url}/health")).json() == {"status": "ok"}
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert box.base_url.endswith(".invalid")


@pytest.mark.enable_socket
async def test_nobody_need_be_called_back(box: Sandbox) -> None:
    """Serving works without a callback, and a port that is taken is an error."""
    serving = asyncio.create_task(serve_forever(box, port=0))
    await asyncio.wait([serving], timeout=0.2)
    port = int(box.base_url.rpartition(":")[2])
    with pytest.raises(OSError, match=str(port)):
        await serve_forever(Sandbox(), port=port)
    serving.cancel()
    await asyncio.wait([serving])


@pytest.mark.enable_socket
async def test_an_ipv6_address_is_written_in_brackets(box: Sandbox) -> None:
    """The base URL is one that a client can use."""
    assert (await box.serve("::1")).startswith("http://[::1]:")
    await box.aclose()


async def test_durations_and_faults_take_the_short_form() -> None:
    """A number is a fixed duration, and one fault or several need no wrapping."""
    fault = Fault(match="GET /v1/me", status=503)
    for faults in (fault, [fault], Faults(rules=(fault,))):
        box = Sandbox(durations=5, faults=faults)
        caller = Caller(box)
        assert (await caller("GET", "/v1/me")).status == 503
        await caller("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
        assert box.durations_of("keyword_analysis") == pytest.approx([5.0])
    with pytest.raises(TypeError, match="a duration must be a number"):
        Sandbox(durations="long")  # type: ignore[arg-type]  # what is refused
