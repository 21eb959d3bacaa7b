"""`cmsapi sandbox`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from cmsapi.errors import ArgumentError
from cmsapi.sandbox import Fixed, Sandbox, serve_forever
from cmsapi.sandbox.page.guard import is_loopback


async def sandbox(
    *,
    host: str = "127.0.0.1",
    port: Annotated[
        int, Parameter(help="Port to listen on; 0 takes a free one.", validator=Number(gte=0, lte=65535))
    ] = 8000,
    seed: Annotated[int, Parameter(help="What the data is made from: the same seed gives the same data.")] = 0,
    keywords: Annotated[
        int, Parameter(help="How many of its keywords were never analysed.", validator=Number(gte=0, lte=100_000))
    ] = 20,
    seconds: Annotated[
        float | None,
        Parameter(
            help="How long each job takes. If left out, about a minute or two, by its kind.", validator=Number(gt=0)
        ),
    ] = None,
) -> None:
    """Serve the whole service in a box until interrupted."""
    box = Sandbox(seed=seed, keywords=keywords, durations=None if seconds is None else Fixed(seconds))

    def started(base_url: str) -> None:
        print(f"base URL    {base_url}")
        print(f"API key     {box.api_key}    (admin)")
        print(f"            {box.member_key}    (member)")
        print(f"workspace   {box.workspace_id}")
        if is_loopback(host):
            print(f"page        {base_url}/    (to watch it)")
        print(f"reference   {base_url}/docs")
        print("To use it, type in another terminal:")
        print(f"  export CMSAPI_BASE_URL={base_url} CMSAPI_API_KEY={box.api_key}")
        print("Ctrl-C stops it.", flush=True)

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        try:
            await serve_forever(box, host, port, started=started)
        except OSError as error:
            raise ArgumentError(
                f"Nobody can listen at {host}, port {port}: {error.strerror}. --port 0 takes a free port.",
                parameter="port",
            ) from error
