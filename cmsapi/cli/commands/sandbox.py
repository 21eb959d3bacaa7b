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

from cmsapi.cli.support.times import read_seconds
from cmsapi.errors import ArgumentError
from cmsapi.sandbox import Faults, Fixed, Limits, Sandbox, serve_forever
from cmsapi.sandbox.live.guard import is_loopback

_LOOPBACK = "127.0.0.1"
_ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104  compared with, never bound


async def sandbox(
    *,
    host: str = _LOOPBACK,
    port: Annotated[
        int, Parameter(help="Port to listen on; 0 means any free port.", validator=Number(gte=0, lte=65535))
    ] = 8000,
    seed: Annotated[int, Parameter(help="Seed of the data: the same seed gives the same data.")] = 0,
    keywords: Annotated[
        int, Parameter(help="Number of keywords without an analysis.", validator=Number(gte=0, lte=100_000))
    ] = 20,
    key: Annotated[
        str | None,
        Parameter(
            help="API key, which begins with sk_; the same key and seed give the same organisation. The default is a "
            "new key.",
        ),
    ] = None,
    seconds: Annotated[
        str | None,
        Parameter(
            help="Duration of each job, such as 20 or 2m. The default is a minute or two, depending on its kind."
        ),
    ] = None,
    failures: Annotated[
        float, Parameter(help="Fraction of the jobs that fail, such as 0.1.", validator=Number(gte=0, lte=1))
    ] = 0.0,
    latency: Annotated[
        str | None, Parameter(help="Time by which each answer comes later, in seconds, such as 0.2.")
    ] = None,
    unlimited: Annotated[bool, Parameter(negative="", help="Admit any number of requests.")] = False,
) -> None:
    """Serve a sandbox of the whole service until interrupted.

    Each start makes a new organisation with a new API key, unless --key gives one. The new sandbox does not know the
    jobs and request limits of an earlier one.
    """
    each = None if seconds is None else Fixed(read_seconds("--seconds", seconds))
    # The sandbox delays requests and answers alike.
    each_way = None if latency is None else read_seconds("--latency", latency) / 2
    try:
        box = Sandbox(
            seed=seed,
            keywords=keywords,
            durations=each,
            failures=failures,
            faults=Faults(latency=None if each_way is None else (each_way, each_way)),
            limits=Limits.unlimited() if unlimited else None,
            api_key=key or f"sk_{secrets.token_hex(20)}",
        )
    except ValueError as error:
        raise ArgumentError(f"`key`: {error}, got {key!r}. Nothing was started.", parameter="key") from None

    def started(base_url: str) -> None:
        _print_address(box, host, base_url)

    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        try:
            await serve_forever(box, host, port, started=started)
        except OSError as error:
            raise ArgumentError(
                f"The sandbox cannot use port {port} of {host}: {_reason(error)}. Use --port 0 for any free port.",
                parameter="port",
            ) from error


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses it"
    # The event loop wraps the system's message in its own; errors of name resolution have no system message.
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error.strerror or error)


def _print_address(box: Sandbox, host: str, base_url: str) -> None:
    """Print the address of the sandbox and the commands to use it, from this machine and from others."""
    alone, everywhere = is_loopback(host), host in _ALL_INTERFACES
    here = base_url.replace(f"//{host}", "//127.0.0.1").replace(f"//[{host}]", "//[::1]") if everywhere else base_url
    print(f"base URL    {here}")
    print(f"API key     {box.api_key}    (admin)")
    print(f"            {box.member_key}    (member)")
    print(f"workspace   {box.workspace_id}")
    print(f"page        {f'{here}/    (to watch it)' if alone else f'none: it needs --host {_LOOPBACK}'}")
    print(f"reference   {here}/docs")
    allowed = "CMSAPI_ALLOW_HTTP=1 "
    print("To use it, run this in another terminal:")
    print(f"  export {'' if alone or everywhere else allowed}CMSAPI_BASE_URL={here} CMSAPI_API_KEY={box.api_key}")
    if everywhere:
        print("On another machine, with the name of this one (the key travels unencrypted):")
        elsewhere = f"http://THIS-MACHINE:{base_url.rpartition(':')[2]}"
        print(f"  export {allowed}CMSAPI_BASE_URL={elsewhere} CMSAPI_API_KEY={box.api_key}")
    print("Ctrl-C stops it.", flush=True)
