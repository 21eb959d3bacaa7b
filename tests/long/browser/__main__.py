"""Take the pictures of pages that the documentation shows: `python -m tests.long.browser`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, Page, expect

import cmsapi
from cmsapi.sandbox import Fault, Limits, Lognormal, Sandbox
from tests.long.browser.chromium import chromium
from tests.long.web.serving import PER_HOUR, options, served

PICTURES = Path(__file__).parents[3] / "docs/_static"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def take(page: Page, name: str) -> None:
    """Take a picture of a page in each scheme."""
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        await page.screenshot(path=PICTURES / f"{name}-{scheme}.png")


async def sandbox(browser: Browser) -> None:
    """Let some jobs run, some end and one request fail, and take the pictures of the sandbox's page."""
    async with Sandbox(durations=Lognormal(90), keywords=40) as box:
        async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
            for content_id in box.content_ids[:2]:
                await client.contents.generate(content_id)
            for keyword_id in box.keyword_ids[:14]:
                await client.keywords.analyze(keyword_id)
            box.finish(box.content_ids[0])
            box.add_fault(Fault(match="GET /v1/*", status=503))
            await client.me()
            box.add_fault(Fault(match="POST /v1/*", drop=True, when="after"))
        page = await browser.new_page(viewport={"width": 1180, "height": 1180})
        await page.goto(f"{box.base_url}/")
        await expect(page.locator("#state")).to_have_text("Live")
        await page.get_by_role("button", name="GET /v1/me").nth(1).click()
        await expect(page.locator("#ledger .details")).to_contain_text("A fault has struck it")
        await page.mouse.move(0, 0)
        await take(page, "sandbox")


async def web_service(browser: Browser, folder: Path) -> None:
    """Let a fan-out run, one of its jobs end and one fail, and take the pictures of the example."""
    limits = Limits(per_hour=PER_HOUR)
    async with (
        Sandbox(durations=Lognormal(90), keywords=30, limits=limits) as box,
        served("fastapi", **options(box, folder)) as address,
    ):
        page = await browser.new_page(viewport={"width": 1080, "height": 760})
        await page.goto(address)
        await page.get_by_label("Name").fill("autumn-shoes")
        for place in range(9):
            await page.locator(".choices input").nth(place).check()
        await page.get_by_role("button", name="Analyse 9 keywords").click()
        await expect(page.locator("#words")).to_contain_text("9 running")
        first, second, third, *_ = (entry.target_id or "" for entry in box.ledger.launches())
        box.finish(first)
        box.finish(second)
        box.finish(third, "failed")
        await expect(page.locator("#words")).to_contain_text("3 of 9 finished", timeout=20_000)
        await page.locator("#items").get_by_role("button", name="Open").first.click()
        # The bar grows to its end.
        await page.wait_for_timeout(1000)
        await take(page, "web-service")
        await page.close()


async def main() -> None:
    """Take them all."""
    with tempfile.TemporaryDirectory() as folder:
        async with chromium() as browser:
            await sandbox(browser)
            await web_service(browser, Path(folder))


asyncio.run(main())
