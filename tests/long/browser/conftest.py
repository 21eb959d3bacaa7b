"""One browser for all tests, a page and a served sandbox for each. They share a loop, in real time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.long.browser.chromium import NoBrowserError, chromium


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium that is there; without one the test is skipped."""
    try:
        async with chromium() as browser:
            yield browser
    except NoBrowserError as error:
        pytest.skip(str(error))


@pytest_asyncio.fixture(loop_scope="session")
async def box() -> AsyncIterator[Sandbox]:
    """A served sandbox whose jobs end only when told to."""
    async with Sandbox(durations=Fixed(3600)) as box:
        yield box


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, box: Sandbox) -> AsyncIterator[Page]:
    """A page that has seen nothing yet; what goes wrong in its scripts fails the test.

    It is closed before the sandbox is, which would otherwise wait for its connections.
    """
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(5000)
    page = await context.new_page()
    mistakes: list[str] = []
    page.on("pageerror", lambda error: mistakes.append(str(error)))
    yield page
    await context.close()
    assert not mistakes


@pytest_asyncio.fixture(loop_scope="session")
async def api(box: Sandbox) -> AsyncIterator[cmsapi.Client]:
    """A client of the sandbox."""
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        yield client
