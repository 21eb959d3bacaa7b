"""The commands."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Annotated

from cyclopts import App, Parameter

from cmsapi._version import __version__
from cmsapi.cli.demo import run_demo
from cmsapi.sandbox import Sandbox, serve_forever

app: App = App(
    name="cmsapi", help="Work with the Content Marketing Service, or with a copy of it in a box.", version=__version__
)


@app.command
async def demo() -> None:
    """Show the main job on a sandbox on this machine, in real time: no account, no network, about half a minute.

    Exits with 1 when anything is not as it should be.
    """
    sys.exit(await run_demo())


@app.command
async def sandbox(
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(help="Port to listen on; 0 takes a free one.")] = 8000,
    seed: Annotated[int, Parameter(help="What the data is made from: the same seed gives the same data.")] = 0,
) -> None:
    """Serve the whole service in a box until interrupted."""
    box = Sandbox(seed=seed)

    def started(base_url: str) -> None:
        print(f"base URL    {base_url}")
        print(f"API key     {box.api_key}    (admin)")
        print(f"            {box.member_key}    (member)")
        print(f"workspace   {box.workspace_id}")
        print(f"reference   {base_url}/docs")
        print("Ctrl-C stops it.", flush=True)

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        await serve_forever(box, host, port, started=started)
