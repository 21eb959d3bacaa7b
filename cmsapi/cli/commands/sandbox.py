"""`cmsapi sandbox`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from cmsapi.errors import ArgumentError
from cmsapi.sandbox import Fixed, Sandbox, serve_forever
from cmsapi.sandbox.page.guard import is_loopback

_LOOPBACK = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  compared with, not listened at


async def sandbox(
    *,
    host: str = _LOOPBACK,
    port: Annotated[
        int, Parameter(help="Port to listen on; 0 takes a free one.", validator=Number(gte=0, lte=65535))
    ] = 8000,
    seed: Annotated[int, Parameter(help="What the data is made from: the same seed gives the same data.")] = 0,
    keywords: Annotated[
        int, Parameter(help="How many of its keywords were never analysed.", validator=Number(gte=0, lte=100_000))
    ] = 20,
    key: Annotated[
        str | None,
        Parameter(
            help="Its API key, which begins with sk_; the same key and seed are the same organisation. If left out, a "
            "new one.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        Parameter(
            help="How long each job takes. If left out, about a minute or two, by its kind.", validator=Number(gt=0)
        ),
    ] = None,
) -> None:
    """Serve the whole service in a box until interrupted.

    Each start makes a new organisation with a new API key, unless --key gives one. Jobs and request limits of an
    earlier sandbox do not count for it.
    """
    try:
        box = Sandbox(
            seed=seed,
            keywords=keywords,
            durations=None if seconds is None else Fixed(seconds),
            api_key=key or f"sk_{secrets.token_hex(20)}",
        )
    except ValueError as error:
        raise ArgumentError(str(error), parameter="key") from None

    def started(base_url: str) -> None:
        _tell(box, host, base_url)

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        try:
            await serve_forever(box, host, port, started=started)
        except OSError as error:
            raise ArgumentError(
                f"The sandbox cannot use port {port} of {host}: {_reason(error)}. --port 0 takes a free port.",
                parameter="port",
            ) from error


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses it"
    # The event loop writes its own words around those of the system; names that are not known have only their own.
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error.strerror or error)


def _tell(box: Sandbox, host: str, base_url: str) -> None:
    """Print where the sandbox is and how to use it, from here and from elsewhere."""
    alone, everywhere = is_loopback(host), host in _EVERYWHERE
    here = base_url.replace(f"//{host}", "//127.0.0.1").replace(f"//[{host}]", "//[::1]") if everywhere else base_url
    print(f"base URL    {here}")
    print(f"API key     {box.api_key}    (admin)")
    print(f"            {box.member_key}    (member)")
    print(f"workspace   {box.workspace_id}")
    print(f"page        {f'{here}/    (to watch it)' if alone else f'none: it is only there with --host {_LOOPBACK}'}")
    print(f"reference   {here}/docs")
    allowed = "CMSAPI_ALLOW_HTTP=1 "
    print("To use it, type in another terminal:")
    print(f"  export {'' if alone or everywhere else allowed}CMSAPI_BASE_URL={here} CMSAPI_API_KEY={box.api_key}")
    if everywhere:
        print("On another machine, with the name of this one; the key then travels unencrypted:")
        elsewhere = f"http://THIS-MACHINE:{base_url.rpartition(':')[2]}"
        print(f"  export {allowed}CMSAPI_BASE_URL={elsewhere} CMSAPI_API_KEY={box.api_key}")
    print("Ctrl-C stops it.", flush=True)
