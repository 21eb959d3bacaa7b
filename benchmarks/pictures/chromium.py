"""A Chromium that is already there. Nothing here installs one."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

NAMES = ("chromium", "google-chrome")


class NoBrowserError(Exception):
    """There is none."""


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start the browser of the system, or else Playwright's own where it is installed.

    Raises:
        NoBrowserError: Neither is there.
    """
    async with async_playwright() as playwright:
        path = next(filter(None, map(shutil.which, NAMES)), playwright.chromium.executable_path)
        if not os.path.exists(path):  # noqa: ASYNC240, PTH110  # nothing else runs meanwhile
            raise NoBrowserError("no Chromium, so nothing was tested in a browser")
        # Root has no sandbox of Chromium's kind, and containers have little shared memory.
        arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = await playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            await browser.close()
