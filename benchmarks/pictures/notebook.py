"""A fan-out in JupyterLab, photographed while it runs: for light and for dark pages."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from playwright.async_api import Page, expect

from benchmarks.pictures.chromium import chromium

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_CELLS = (
    """import cmsapi
from cmsapi.sandbox import Lognormal, Sandbox

box = Sandbox(keywords=100, durations=Lognormal(median=20, sigma=0.5))
client = cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport)""",
    """outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids[:8])
outcomes""",
    """frame = await outcomes.to_pandas()
frame[["keyword", "search_volume", "analysis_status"]].head(3)""",
)
# Seconds after the begin of the run: some jobs have finished then, and some have not.
_MOMENT = 21.0
_SETTLES = 4.0
# Milliseconds.
_READY = 60_000


def taken(folder: Path) -> None:
    """Take the pictures.

    Args:
        folder: Where they go.
    """
    asyncio.run(_taken(folder))


async def _taken(folder: Path) -> None:
    async with chromium() as browser:
        for scheme in SCHEMES:
            page = await browser.new_page(
                viewport={"width": 1130, "height": 690}, device_scale_factor=1.5, color_scheme=scheme
            )
            # The second page would find the outputs of the first.
            async with _lab() as address:
                await page.goto(address, timeout=_READY)
                await _run(page)
                await page.locator(".jp-Notebook").screenshot(path=folder / f"notebook-{scheme}.png")
                await page.close()


async def _run(page: Page) -> None:
    """Run all cells, and wait until some jobs have finished."""
    await expect(page.locator(".jp-Notebook")).to_be_visible(timeout=_READY)
    await expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=_READY)
    # JupyterLab asks for a kernel when cells are run too early.
    await asyncio.sleep(_SETTLES)
    await page.evaluate("() => { void jupyterapp.commands.execute('notebook:run-all-cells') }")
    await expect(page.locator(".jp-OutputArea-output").get_by_text("running").first).to_be_visible(timeout=_READY)
    await asyncio.sleep(_MOMENT)


@asynccontextmanager
async def _lab() -> AsyncIterator[str]:
    """Serve a folder with the notebook, and yield its address."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        _prepare(Path(folder))
        free.bind(("127.0.0.1", 0))
        port, token = free.getsockname()[1], secrets.token_hex(8)
        free.close()
        variables = {**os.environ, "HOME": folder, "JUPYTERLAB_SETTINGS_DIR": f"{folder}/settings"}
        options = ["--no-browser", "--allow-root", f"--port={port}", f"--IdentityProvider.token={token}"]
        options.append("--LabApp.expose_app_in_browser=True")
        server = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "jupyterlab",
            *options,
            cwd=folder,
            env=variables,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await _answers(port)
            yield f"http://127.0.0.1:{port}/doc/tree/fan-out.ipynb?token={token}"
        finally:
            server.terminate()
            await server.wait()


def _prepare(folder: Path) -> None:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "id": f"cell-{place}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": text,
        }
        for place, text in enumerate(_CELLS)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "fan-out.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    settings: dict[str, dict[str, object]] = {"@jupyterlab/apputils-extension/themes": {"adaptive-theme": True}}
    settings["@jupyterlab/apputils-extension/notification"] = {"fetchNews": "false", "checkForUpdates": False}
    for name, values in settings.items():
        path = folder / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")


async def _answers(port: int) -> None:
    """Wait until a server listens."""
    async with asyncio.timeout(_READY / 1000):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.2)
            else:
                writer.close()
                return
