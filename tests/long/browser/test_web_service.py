"""The page of the web service in the examples: a person starts a fan-out, watches it, and opens results."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from cmsapi.sandbox import Behaviour, Fixed, Limits, Sandbox
from tests.long.browser.looking import CONTRAST, MISNAMED, NAMELESS
from tests.long.web.serving import PER_HOUR, options, served

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

# Milliseconds that the end of a job may take to show: it is polled with others, and the page reads it every second.
SHOWN = 20_000


@pytest_asyncio.fixture(loop_scope="session")
async def box() -> AsyncIterator[Sandbox]:
    """A served sandbox whose jobs end only when told to; a test finishes them."""
    failing = Behaviour(failed_analysis_timestamp="new")
    async with Sandbox(durations=Fixed(3600), limits=Limits(per_hour=PER_HOUR), behaviour=failing) as box:
        yield box


@pytest_asyncio.fixture(loop_scope="session")
async def address(box: Sandbox, tmp_path: Path) -> AsyncIterator[str]:
    """The service."""
    async with served("fastapi", **options(box, tmp_path)) as address:
        yield address


async def started(page: Page, address: str, name: str = "autumn") -> Page:
    """Choose the first four keywords, and start a fan-out."""
    await page.goto(address)
    boxes = page.locator(".choices input")
    await expect(boxes).to_have_count(20)
    await page.get_by_label("Name").fill(name)
    for place in range(4):
        await boxes.nth(place).check()
    await page.get_by_role("button", name="Analyse 4 keywords (4 credits)").click()
    await expect(page.locator("#items tr")).to_have_count(4)
    return page


async def test_a_person_starts_a_fan_out_and_opens_a_result(page: Page, box: Sandbox, address: str) -> None:
    """Progress comes by itself; results and reasons open; the keywords leave the list."""
    await started(page, address)
    words = page.locator("#words")
    await expect(words).to_contain_text("0 of 4 finished, 4 running")
    await expect(page.locator(".choices input")).to_have_count(16)
    first, second, *rest = [entry.target_id or "" for entry in box.ledger.launches()]
    box.finish(first)
    await expect(words).to_contain_text("1 of 4 finished", timeout=SHOWN)
    await page.locator("#items").get_by_role("button", name="Open").click()
    await expect(page.locator("#items .result")).to_contain_text("Search volume")
    box.finish(second, "failed")
    for keyword_id in rest:
        box.finish(keyword_id)
    await expect(words).to_have_text(
        re.compile(r"All 4 finished, 1 without a result\. It took 4 credits and \d+ requests\."), timeout=SHOWN
    )
    await expect(page.locator("#items .result:not([hidden])")).to_have_count(1)
    await expect(page.locator("#names")).to_contain_text("finished")
    assert await page.locator("#bar").evaluate("bar => bar.value / bar.max") == 1


async def test_the_page_can_be_closed_and_opened_again(page: Page, box: Sandbox, address: str) -> None:
    """Its address leads back to the fan-out, which went on; a double click starts nothing twice."""
    await started(page, address)
    await expect(page.locator("#words")).to_contain_text("4 running")
    came_from = page.url
    assert came_from.endswith("#autumn")
    await page.goto("about:blank")
    for entry in box.ledger.launches():
        box.finish(entry.target_id or "")
    await page.goto(came_from)
    await expect(page.locator("#words")).to_contain_text("All 4 finished", timeout=SHOWN)
    assert len(box.ledger.launches()) == 4


async def test_what_is_refused_is_told(page: Page, address: str) -> None:
    """A name that is taken shows the service's own words, in an alert."""
    await started(page, address)
    await page.get_by_label("Name").fill("autumn")
    await page.locator(".choices input").first.check()
    await page.get_by_role("button", name="Analyse 1 keyword (1 credit)").click()
    await expect(page.get_by_role("alert")).to_contain_text("There is a fan-out named 'autumn' with other keywords")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1180])
async def test_everybody_can_read_it(page: Page, box: Sandbox, address: str, width: int, scheme: str) -> None:
    """In both schemes texts have contrast and controls have names, and a phone shows no part outside of it."""
    await page.set_viewport_size({"width": width, "height": 900})
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await started(page, address)
    await expect(page.locator("#words")).to_contain_text("4 running")
    box.finish(box.ledger.launches()[0].target_id or "")
    await page.locator("#items").get_by_role("button", name="Open").click(timeout=SHOWN)
    assert await page.evaluate(CONTRAST) == []
    assert await page.evaluate(NAMELESS) == []
    assert await page.evaluate(MISNAMED) == []
    outside = "[...document.querySelectorAll('*')].filter((each) => each.scrollWidth > innerWidth).length"
    assert await page.evaluate(outside) == 0
    wide = page.locator(".wide")
    assert await wide.evaluate("each => each.scrollWidth <= each.clientWidth")
