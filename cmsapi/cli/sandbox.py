"""`cmsapi sandbox`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from cmsapi.errors import ArgumentError
from cmsapi.sandbox import Sandbox, serve_forever
from cmsapi.sandbox.page.guard import is_loopback


async def sandbox(
    *,
    host: str = "127.0.0.1",
    port: Annotated[
        int, Parameter(help="Port to listen on; 0 takes a free one.", validator=Number(gte=0, lte=65535))
    ] = 8000,
    seed: Annotated[int, Parameter(help="What the data is made from: the same seed gives the same data.")] = 0,
) -> None:
    """Serve the whole service in a box until interrupted."""
    box = Sandbox(seed=seed)

    def started(base_url: str) -> None:
        print(f"base URL    {base_url}")
        print(f"API key     {box.api_key}    (admin)")
        print(f"            {box.member_key}    (member)")
        print(f"workspace   {box.workspace_id}")
        if is_loopback(host):
            print(f"page        {base_url}/    (to watch it)")
        print(f"reference   {base_url}/docs")
        print("Ctrl-C stops it.", flush=True)

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        try:
            await serve_forever(box, host, port, started=started)
        except OSError as error:
            raise ArgumentError(
                f"Nobody can listen at {host}, port {port}: {error.strerror}. --port 0 takes a free port.",
                parameter="port",
            ) from error
