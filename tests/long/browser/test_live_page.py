"""The sandbox as a page: it follows what happens, and its buttons make things happen."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

import cmsapi
from cmsapi.message import Request
from cmsapi.sandbox import Fault, Sandbox
from tests.long.browser.looking import CONTRAST, MISNAMED, NAMELESS

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]


async def opened(page: Page, box: Sandbox) -> Page:
    """Open the page and wait until it lives."""
    await page.goto(f"{box.base_url}/")
    await expect(page.locator("#state")).to_have_text("Live")
    return page


async def test_it_follows_what_happens(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """A launch shows up in both windows, as a job, in the credits and in the ledger, without a key."""
    await opened(page, box)
    await expect(page.locator("#no-ledger")).to_be_visible()
    await api.keywords.analyze(box.keyword_ids[0])
    row = page.locator("#jobs tr")
    await expect(row).to_contain_text(box.keyword_ids[0])
    await expect(row).to_contain_text("queued")
    # The balances are read before the first launch.
    await expect(page.locator("#hour-keys .key").first).to_contain_text("2 of 1,000")
    await expect(page.locator("#credit-analysis")).to_have_text("9,999")
    await expect(page.locator("#ledger tr")).to_have_count(2)
    await expect(page.locator("#ledger tr").first).to_contain_text("changed, took a credit")
    await expect(page.locator("#hour-chart")).to_have_attribute("aria-label", "Requests by minute: at most 2 a minute")
    assert "sk_" not in await page.content()


async def test_its_buttons_end_jobs(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """An analysis is completed, a generation put in review and confirmed, as a client can read."""
    await api.keywords.analyze(box.keyword_ids[0])
    await api.contents.generate(box.content_ids[0])
    await opened(page, box)
    await page.get_by_role("button", name="Complete:").click()
    await expect(page.locator("#jobs-words")).to_contain_text("1 success")
    assert (await api.keywords.get(box.keyword_ids[0])).analysis_status == "success"
    await page.get_by_role("button", name="Put in review:").click()
    await expect(page.locator("#jobs-words")).to_contain_text("1 review")
    await page.get_by_role("button", name="Confirm:").click()
    await expect(page.locator("#jobs button")).to_have_count(0)
    await expect(page.locator("#jobs-words")).not_to_contain_text("review")


async def test_its_faults_strike(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """A fault waits, strikes what it was meant for, and can be cleared."""
    await opened(page, box)
    await page.get_by_label("How many").select_option(label="all until cleared")
    await page.get_by_role("button", name="Do it, then lose the answer").click()
    await expect(page.locator("#faults")).to_contain_text("Do it, then lose the answer")
    path = f"{box.base_url}/v1/keywords/{box.keyword_ids[0]}/analyze"
    with pytest.raises(ConnectionResetError):
        await box.transport.send(Request("POST", path, {"Authorization": f"Bearer {box.api_key}"}))
    await expect(page.locator("#jobs tr")).to_contain_text("queued")
    await page.get_by_role("button", name="Clear faults").click()
    await expect(page.locator("#faults")).to_have_text("none")
    await expect(page.locator("#struck")).to_contain_text("Do it, then lose the answer")
    await api.me()


async def test_it_survives_the_end_of_the_sandbox(page: Page, box: Sandbox) -> None:
    """The page says that the sandbox does not answer and how old its data is, and goes on when it is back."""
    await opened(page, box)
    port = int(box.base_url.rpartition(":")[2])
    await box.aclose()
    await expect(page.get_by_role("alert")).to_contain_text("does not answer")
    await page.get_by_role("button", name="Set to 0: analyses").click()
    await expect(page.locator("#said")).to_contain_text("Not done")
    await box.serve(port=port)
    await expect(page.locator("#state")).to_have_text("Live")
    await expect(page.get_by_role("alert")).to_be_hidden()
    assert box.credits.analysis == 10_000


async def test_the_keyboard_is_enough(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """Focus stays where it is while the page is drawn again, and Enter presses."""
    await api.keywords.analyze(box.keyword_ids[0])
    await opened(page, box)
    button = page.get_by_role("button", name="Fail:")
    await button.focus()
    drawn = await page.locator("#jobs tr .nowrap").text_content()
    await expect(page.locator("#jobs tr .nowrap")).not_to_have_text(drawn or "")
    await expect(button).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#jobs tr")).to_contain_text("failed")
    pause = page.get_by_role("button", name="Pause")
    await pause.focus()
    await page.keyboard.press("Space")
    await expect(pause).to_have_attribute("aria-pressed", "true")


async def test_texts_are_texts(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """Markup in a title is shown and not run."""
    nasty = "<img src=x onerror=\"document.title='run'\">"
    box.touch_content(box.content_ids[0], title=nasty)
    await api.contents.generate(box.content_ids[0])
    await opened(page, box)
    await expect(page.locator("#jobs tr")).to_contain_text(nasty)
    assert await page.title() == "Sandbox"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_button_can_be_read_in_every_state(page: Page, box: Sandbox, scheme: str) -> None:
    """Pressed, hovered, both or neither: the text stands out from the button."""
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await opened(page, box)
    pause = page.get_by_role("button", name="Pause")
    for pressed in ("true", "false"):
        await pause.click()
        await expect(pause).to_have_attribute("aria-pressed", pressed)
        assert await page.evaluate(CONTRAST) == []
        await page.mouse.move(0, 0)
        assert await page.evaluate(CONTRAST) == []


async def test_what_a_control_says_is_in_its_name(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """A person who says what is written on a control reaches it (WCAG 2.2, 2.5.3)."""
    await api.keywords.analyze(box.keyword_ids[0])
    await opened(page, box)
    await expect(page.get_by_role("button", name="Complete:")).to_be_visible()
    assert await page.evaluate(MISNAMED) == []
    await page.get_by_role("button", name="Set to 0: analyses").click()
    await expect(page.locator("#credit-analysis")).to_have_text("0")
    await page.get_by_role("button", name="Set to 100: analyses").click()
    await expect(page.locator("#credit-analysis")).to_have_text("100")


async def test_a_row_of_the_ledger_opens(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """A row shows the request, the answer and why, stays open while the page is drawn again, and closes."""
    await api.keywords.analyze(box.keyword_ids[0])
    with pytest.raises(cmsapi.NotFoundError):
        await api.keywords.get("kwd_none")
    await opened(page, box)
    row = page.get_by_role("button", name="GET /v1/keywords/kwd_none")
    await row.focus()
    await page.keyboard.press("Enter")
    details = page.locator("#ledger .details")
    await expect(details).to_contain_text("The service refused it: keywordId: no such resource.")
    await expect(page.get_by_label("Request", exact=True)).to_have_text("GET /v1/keywords/kwd_none")
    await expect(page.get_by_label("Answer", exact=True)).to_contain_text('"code": "not_found"')
    await api.me()
    await expect(page.locator("#ledger tr").first).to_contain_text("/v1/me")
    await expect(details).to_be_visible()
    await expect(row).to_be_focused()
    await expect(row).to_have_attribute("aria-expanded", "true")
    await row.click()
    await expect(details).to_have_count(0)
    await page.get_by_role("button", name="/analyze").click()
    await expect(details).to_contain_text("The service did what was asked, which took a credit.")
    assert box.api_key not in await page.content()


# Parts of the page that scroll by themselves, but for the fields of a form.
SCROLLERS = """() => [...document.querySelectorAll("body *:not(textarea)")]
    .filter((each) => /auto|scroll/.test(getComputedStyle(each).overflowY) && each.scrollHeight > each.clientHeight)
    .map((each) => each.outerHTML.slice(0, 200))"""


async def test_a_phone_scrolls_the_page_only(page: Page, box: Sandbox, api: cmsapi.Client) -> None:
    """On a phone no part of the page scrolls by itself; long tables begin with a few rows, and show all on demand."""
    for id_ in box.keyword_ids[:9]:
        await api.keywords.analyze(id_)
    await page.set_viewport_size({"width": 390, "height": 844})
    await opened(page, box)
    await expect(page.locator("#jobs tr")).to_have_count(6)
    await page.get_by_role("button", name="Show all 9").click()
    await expect(page.locator("#jobs tr")).to_have_count(9)
    await expect(page.locator("#ledger tr")).to_have_count(6)
    await page.locator("#ledger .opener").first.click()
    await expect(page.get_by_label("Answer", exact=True)).to_be_visible()
    assert await page.evaluate(SCROLLERS) == []
    assert await page.evaluate("document.documentElement.scrollWidth") == 390


SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.mark.parametrize("path", ["/", "/docs#generate_content"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
async def test_axe_finds_nothing(
    page: Page, box: Sandbox, api: cmsapi.Client, path: str, scheme: str, size: str
) -> None:
    """The checks of axe-core find nothing, with jobs in each state, a pressed button and an opened row."""
    axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="the package with axe-core is missing")
    for id_ in box.keyword_ids[:3]:
        await api.keywords.analyze(id_)
    await api.contents.generate(box.content_ids[0])
    box.finish(box.content_ids[0])
    box.finish(box.keyword_ids[0], "failed")
    box.finish(box.keyword_ids[1])
    box.add_fault(Fault(match="GET /v1/me", status=503))
    width, height = SIZES[size]
    await page.set_viewport_size({"width": width, "height": height})
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.goto(box.base_url + path)
    if path == "/":
        await page.locator("#ledger .opener").first.click()
        await expect(page.get_by_label("Answer", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Pause").click()
    else:
        await page.get_by_role("button", name="Send").first.click()
        await expect(page.locator(".answer .word").first).to_be_visible()
    found = (await axe.Axe().run(page)).response["violations"]
    assert [(each["id"], each["impact"], [node["html"] for node in each["nodes"]]) for each in found] == []


@pytest.mark.parametrize("path", ["/", "/docs#generate_content"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_everybody_can_read_it(page: Page, box: Sandbox, api: cmsapi.Client, path: str, scheme: str) -> None:
    """Every text has a contrast of 4.5 to 1, every control a name, and a narrow window does not scroll sideways."""
    for id_ in box.keyword_ids[:3]:
        await api.keywords.analyze(id_)
    box.finish(box.keyword_ids[0], "failed")
    box.finish(box.keyword_ids[1])
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await page.goto(box.base_url + path)
    await expect(page.locator("#ledger tr, form button.main").first).to_be_visible()
    assert await page.evaluate(CONTRAST) == []
    assert await page.evaluate(NAMELESS) == []
    assert await page.evaluate(MISNAMED) == []
    await page.set_viewport_size({"width": 360, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth") == 360


async def test_a_foreign_site_cannot_press(page: Page, box: Sandbox) -> None:
    """What another site in the same browser sends has no effect, and it reads nothing."""
    async with Sandbox(seed=1) as other:
        port = other.base_url.rpartition(":")[2]
        await page.goto(f"http://localhost:{port}/health")
        outcome = await page.evaluate(
            """async (target) => {
                const tries = [
                    fetch(`${target}/_sandbox/credit`, {method: "POST", mode: "no-cors", body: '{"analysis": 0}'}),
                    fetch(`${target}/_sandbox/credit`, {method: "POST", body: '{"analysis": 0}',
                        headers: {"Content-Type": "application/json"}}),
                    fetch(`${target}/_sandbox/examples`).then((answer) => answer.text()),
                ];
                return (await Promise.allSettled(tries)).map(({status, value}) => value?.type ?? value ?? status);
            }""",
            box.base_url,
        )
    assert box.credits.analysis == 10_000
    assert all(each in ("opaque", "rejected") for each in outcome)
    assert not box.ledger
