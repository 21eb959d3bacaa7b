"""Take the pictures of the page that the documentation shows: `python -m tests.long.browser`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

from playwright.async_api import expect

import cmsapi
from cmsapi.sandbox import Fault, Lognormal, Sandbox
from tests.long.browser.chromium import chromium

PICTURES = Path(__file__).parents[3] / "docs/_static"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def main() -> None:
    """Let some jobs run, some end and one request fail, and take the pictures."""
    async with Sandbox(durations=Lognormal(90), keywords=40) as box, chromium() as browser:
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
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            await page.screenshot(path=PICTURES / f"sandbox-{scheme}.png")


asyncio.run(main())
