"""The live page: its guard, its content and its buttons."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

import cmsapi
from cmsapi.message import Request
from cmsapi.sandbox import Fault, Fixed, Limits, Sandbox
from cmsapi.sandbox.service.exchange_log import MOST_KEPT

pytestmark = pytest.mark.enable_socket

OWN = {"Content-Type": "application/json"}


@pytest.fixture
async def box() -> AsyncIterator[Sandbox]:
    """A served sandbox with long jobs."""
    async with Sandbox(durations=Fixed(600)) as box:
        yield box


@pytest.fixture
async def browser(box: Sandbox) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser on this machine."""
    async with aiohttp.ClientSession(box.base_url) as session:
        yield session


@pytest.fixture
async def client(box: Sandbox) -> AsyncIterator[cmsapi.Client]:
    """A client of the same sandbox."""
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        yield client


async def state(browser: aiohttp.ClientSession, seen: int = 0) -> dict[str, Any]:
    """Read what the page shows."""
    async with browser.get(f"/_sandbox/state?seen={seen}") as answer:
        assert answer.status == 200
        return dict(await answer.json())


async def press(browser: aiohttp.ClientSession, button: str, /, **body: object) -> tuple[int, str]:
    """Press a button and return the status and the message."""
    async with browser.post(f"/_sandbox/{button}", json=body) as answer:
        said = await answer.json()
    return answer.status, said.get("error", {}).get("message", "")


async def test_the_page_is_no_request(box: Sandbox, browser: aiohttp.ClientSession) -> None:
    """The page loads nothing from elsewhere, meets no fault, counts against no limit, and is not in the ledger."""
    box.add_fault(Fault(status=503, times=None))
    for path in (
        "/",
        "/_sandbox/live.js",
        "/_sandbox/ledger.js",
        "/_sandbox/page.css",
        "/_sandbox/reference.js",
        "/_sandbox/examples",
    ):
        async with browser.get(path) as answer:
            assert answer.status == 200
            text = await answer.text()
            for rule in ("default-src 'none'", "frame-ancestors 'none'"):
                assert rule in answer.headers["Content-Security-Policy"]
            assert "https://" not in text.replace("https://northwind.example", "")
            assert box.api_key not in text or path == "/_sandbox/examples"
    await press(browser, "credit", analysis=3)
    assert box.credits.analysis == 3
    shown = await state(browser)
    assert [key["hour"]["used"] for key in shown["keys"]] == [0, 0]
    assert not box.ledger
    assert not box.faults_struck


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"Host": "rebound.example:8000"}),
        ("GET", {"Host": "127.0.0.1.rebound.example"}),
        ("GET", {"Host": "localhost.rebound.example"}),
        ("GET", {"Host": "["}),
        ("GET", {"Sec-Fetch-Site": "cross-site"}),
        ("GET", {"Sec-Fetch-Site": "same-site"}),
        ("GET", {"Origin": "https://foreign.example"}),
        ("POST", {**OWN, "Host": "rebound.example", "Origin": "http://rebound.example"}),
        ("POST", {**OWN, "Origin": "https://foreign.example"}),
        ("POST", {**OWN, "Origin": "http://localhost:1"}),
        ("POST", {**OWN, "Origin": "null"}),
        ("POST", {**OWN, "Sec-Fetch-Site": "cross-site"}),
        ("POST", {"Content-Type": "text/plain"}),
        ("POST", {"Content-Type": "application/x-www-form-urlencoded"}),
    ],
)
async def test_other_sites_neither_read_nor_press(
    box: Sandbox, browser: aiohttp.ClientSession, method: str, headers: dict[str, str]
) -> None:
    """A foreign site in the same browser is refused, by its own name or by one that resolves to this machine."""
    for name in ("credit", "state", "examples"):
        async with browser.request(method, f"/_sandbox/{name}", headers=headers, data=b'{"analysis": 0}') as answer:
            assert answer.status == 403
            assert box.api_key not in await answer.text()
            assert "Access-Control-Allow-Origin" not in answer.headers
    assert box.credits.analysis == 10_000


async def test_a_rebound_name_does_not_get_the_page(box: Sandbox, browser: aiohttp.ClientSession) -> None:
    """A name that resolves to this machine gets nothing; `localhost` and the page's own script get the page."""
    port = box.base_url.rpartition(":")[2]
    for host, status in (("rebound.example", 403), (f"localhost:{port}", 200), (f"[::1]:{port}", 200)):
        async with browser.get("/", headers={"Host": host}) as answer:
            assert answer.status == status
    own = {**OWN, "Origin": box.base_url, "Sec-Fetch-Site": "same-origin"}
    async with browser.post("/_sandbox/credit", headers=own, data=b'{"analysis": 1}') as answer:
        assert answer.status == 200
    # A script of a foreign page asks first, and is not told that it may.
    async with browser.options("/_sandbox/credit", headers={"Origin": "https://foreign.example"}) as answer:
        assert answer.status == 403


async def test_elsewhere_there_is_no_page() -> None:
    """A sandbox that listens on more than loopback has neither page nor buttons; the reference gets its files."""
    box = Sandbox()
    await box.serve("0.0.0.0")  # noqa: S104  that is the point
    port = box.base_url.rpartition(":")[2]
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            paths = {
                "/": 404,
                "/_sandbox/state": 404,
                "/_sandbox/examples": 404,
                "/_sandbox/page.css": 200,
                "/docs": 200,
            }
            for path, status in paths.items():
                async with session.get(path) as answer:
                    assert answer.status == status
            assert (await press(session, "credit", analysis=0))[0] == 404
    finally:
        await box.aclose()
    assert box.credits.analysis == 10_000


async def test_what_it_shows(box: Sandbox, browser: aiohttp.ClientSession, client: cmsapi.Client) -> None:
    """Requests in both windows, jobs with their states, the ledger from where the page is, and no key anywhere."""
    await client.prompts.analyze(box.prompt_ids[0])
    await client.me()
    shown = await state(browser)
    assert shown["keys"][0]["second"] == {"used": 2, "limit": 20}
    assert shown["keys"][0]["hour"] == {"used": 2, "limit": 1000}
    assert 2 == sum(every for every, _ in shown["by_second"]) == sum(every for every, _ in shown["by_minute"])
    (row,) = shown["jobs"]["rows"]
    assert ("queued", box.prompt_ids[0], False) == (row["word"], row["target_id"], row["done"])
    assert row["duration"] == pytest.approx(600.0)
    assert [entry["charged"] for entry in shown["ledger"]["entries"]] == [True, False]
    assert box.api_key not in json.dumps(shown)
    assert (await state(browser, seen=2))["ledger"]["entries"] == []
    assert len((await state(browser, seen=1))["ledger"]["entries"]) == 1


async def details(browser: aiohttp.ClientSession, number: object) -> tuple[int, dict[str, Any]]:
    """Open a row of the ledger."""
    async with browser.get(f"/_sandbox/request?number={number}") as answer:
        return answer.status, dict(await answer.json())


async def test_a_row_of_the_ledger_in_full(box: Sandbox, browser: aiohttp.ClientSession, client: cmsapi.Client) -> None:
    """What was asked, what was answered, and why: of a launch, a refusal, and a request that nothing has."""
    await client.content_ideas.search(box.workspace_id, "tents")
    with pytest.raises(cmsapi.NotFoundError):
        await client.keywords.get("kwd_none")
    await client.contents.list(box.workspace_id, limit=1)
    # The balances are read before the first launch.
    launch, refusal, read = [(await details(browser, number))[1] for number in (1, 2, 3)]
    assert json.loads(launch["request_body"])["keyword"] == "tents"
    assert json.loads(launch["answer_body"])["id"] == box.ledger[1].target_id
    assert launch["why"] == ["The service did what was asked, which took a credit."]
    assert (refusal["status"], refusal["request"]) == (404, "GET /v1/keywords/kwd_none")
    assert refusal["why"][0] == "The service refused it: keywordId: no such resource."
    assert refusal["headers"]["X-RateLimit-Remaining"] == "997"
    assert read["request"].endswith("limit=1")
    assert read["why"][-1] == "Nothing was changed, and nothing was charged."
    for number in (4, -1, "", "x", "9" * 5000):
        assert (await details(browser, number))[0] == 404


async def test_why_a_request_broke(box: Sandbox, browser: aiohttp.ClientSession, client: cmsapi.Client) -> None:
    """A fault is named, and whether the request took effect all the same."""
    box.add_fault(Fault(match="POST *", drop=True, when="after"))
    with pytest.raises(cmsapi.OutcomeUnknownError):
        await client.contents.create(box.workspace_id, title="boots")
    box.add_fault(Fault(match="GET *", status=503))
    await client.me()
    lost, refused = [(await details(browser, number))[1] for number in (0, 1)]
    assert lost["why"][0] == "A fault has struck it: dropped after the effect."
    assert lost["why"][1] == "The service did what was asked."
    assert "must not repeat" in lost["why"][2]
    assert (lost["status"], lost["answer_body"]) == (None, None)
    assert refused["why"] == ["A fault has struck it: 503.", "Nothing was changed, and nothing was charged."]


async def test_a_row_shows_no_key(box: Sandbox, browser: aiohttp.ClientSession) -> None:
    """A key that a client sends where none belongs is not shown, and a long body is cut."""
    path = f"/v1/contents/{box.content_ids[0]}?key={box.api_key}"
    document = {"title": box.api_key, "html": "x" * 9000}
    async with browser.patch(path, json=document, headers={"Authorization": f"Bearer {box.api_key}"}):
        pass
    shown = (await details(browser, 0))[1]
    assert box.api_key not in json.dumps(shown)
    assert "sk_…" in shown["request"]
    assert "bytes more" in shown["request_body"]


async def test_texts_are_kept_while_a_page_can_show_them(box: Sandbox, browser: aiohttp.ClientSession) -> None:
    """Of many requests the texts of the latest are kept; a sandbox without a page keeps none."""
    for _ in range(MOST_KEPT + 1):
        async with browser.get("/health"):
            pass
    assert [(await details(browser, number))[1]["kept"] for number in (0, 1)] == [False, True]
    quiet = Sandbox()
    await quiet.transport.send(Request("GET", f"{quiet.base_url}/health", {}))
    base_url = await quiet.serve()
    async with aiohttp.ClientSession(base_url) as other:
        assert (await details(other, 0))[1]["kept"] is False
    await quiet.aclose()


async def test_without_limits_there_is_none_to_show() -> None:
    """A limit that does not exist is null, not a large number."""
    async with Sandbox(limits=Limits.unlimited()) as box, aiohttp.ClientSession(box.base_url) as browser:
        key = (await state(browser))["keys"][0]
    assert (key["second"]["limit"], key["hour"]["limit"]) == (None, None)


async def test_buttons_end_jobs(box: Sandbox, browser: aiohttp.ClientSession, client: cmsapi.Client) -> None:
    """Complete, fail, put in review, confirm and discard have their effect, and report when it is too late."""
    keyword, other, *_ = box.keyword_ids
    content, second, *_ = box.content_ids
    for target in (keyword, other):
        await client.keywords.analyze(target)
    for target in (content, second):
        await client.contents.generate(target)
    for target, outcome in ((keyword, "success"), (other, "failed"), (content, "success"), (second, "success")):
        assert await press(browser, "finish", target_id=target, outcome=outcome) == (200, "")
    assert (await state(browser))["jobs"]["words"] == {"success": 1, "failed": 1, "review": 2}
    late = await press(browser, "finish", target_id=keyword, outcome="success")
    assert late == (409, f"no job is running on {keyword}")
    assert await press(browser, "confirm", content_id=content) == (200, "")
    assert await press(browser, "cancel", content_id=second) == (200, "")
    assert (await press(browser, "cancel", content_id=second))[0] == 409
    assert (await press(browser, "cancel", content_id="cnt_unknown"))[0] == 404
    words = {row["target_id"]: row["word"] for row in (await state(browser))["jobs"]["rows"]}
    assert (words[keyword], words[other]) == ("success", "failed")
    assert "review" not in words.values()


async def test_a_dropped_job_says_so(box: Sandbox, browser: aiohttp.ClientSession, client: cmsapi.Client) -> None:
    """A job whose target was deleted neither succeeded nor failed."""
    await client.contents.generate(box.content_ids[0])
    await client.contents.delete(box.content_ids[0])
    (row,) = (await state(browser))["jobs"]["rows"]
    assert (row["word"], row["title"], row["done"]) == ("dropped", "deleted", True)
    assert box.jobs[0].dropped


async def test_buttons_break_requests(box: Sandbox, browser: aiohttp.ClientSession) -> None:
    """A fault strikes as often as requested, the newest first, until it is cleared."""
    assert await press(browser, "fault", name="429", match="GET /v1/me", times=None) == (200, "")
    assert await press(browser, "fault", name="503", match="* /v1/*", times=1) == (200, "")
    headers = {"Authorization": f"Bearer {box.api_key}"}
    statuses = []
    for _ in range(3):
        async with browser.get("/v1/me", headers=headers) as answer:
            statuses.append(answer.status)
    assert statuses == [503, 429, 429]
    waiting = (await state(browser))["faults"]
    assert waiting == [{"kind": "429 with Retry-After", "match": "GET /v1/me", "remaining": None}]
    assert await press(browser, "clear_faults") == (200, "")
    async with browser.get("/v1/me", headers=headers) as answer:
        assert answer.status == 200
    assert (await state(browser))["struck"] == {"503": 1, "429 with Retry-After": 2}


@pytest.mark.parametrize(
    ("name", "body", "status", "message"),
    [
        ("fault", {"name": "fire", "match": "* *", "times": 1}, 422, "name: must be one of"),
        ("fault", {"name": "503", "match": "* *", "times": 0}, 422, "times: must be at least 1"),
        ("fault", {"name": "503", "match": 5, "times": 1}, 422, "match: must be string"),
        ("credit", {"analysis": -1}, 422, "analysis"),
        ("credit", {"gold": 1}, 422, "gold: unknown property"),
        ("finish", {"target_id": "kwd_x"}, 422, "outcome: is required"),
        ("dance", {}, 404, "dance: no such button"),
    ],
)
async def test_nonsense_is_refused(
    box: Sandbox, browser: aiohttp.ClientSession, name: str, body: dict[str, object], status: int, message: str
) -> None:
    """An unknown button or an invalid argument changes nothing."""
    refused, said = await press(browser, name, **body)
    assert (status, True) == (refused, message in said)
    assert box.credits.analysis == 10_000


async def test_two_pages_see_the_same(box: Sandbox, browser: aiohttp.ClientSession) -> None:
    """Reading changes nothing, however many pages are open; another sandbox has another run."""
    one, two = await asyncio.gather(state(browser), state(browser))
    assert one["run"] == two["run"]
    async with Sandbox() as other, aiohttp.ClientSession(other.base_url) as there:
        assert one["run"] != (await state(there))["run"]
