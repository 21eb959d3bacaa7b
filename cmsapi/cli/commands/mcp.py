"""`cmsapi mcp`."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from cyclopts import Parameter

import cmsapi
from cmsapi.cli.fanouts.options import read_credits
from cmsapi.cli.support.connecting import State, connect_with_journal
from cmsapi.cli.terminal.interrupting import NAMES
from cmsapi.cli.terminal.output import print_message
from cmsapi.extras import advice
from cmsapi.sandbox import Sandbox


async def mcp(
    *,
    max_credits: Annotated[
        int,
        Parameter(
            converter=read_credits,
            help="Most credits that the server may spend in its whole life; with 0 it only reads.",
        ),
    ] = 0,
    sandbox: Annotated[
        bool,
        Parameter(
            negative="", show_default=False, help="Use a new sandbox on this machine: no account, no real credit."
        ),
    ] = False,
    state: State = None,
) -> None:
    """Serve an assistant over standard input and output, with the Model Context Protocol (extra `mcp`).

    The client of the assistant starts it. Its tools read, plan, launch inside --max-credits, wait for jobs, and decide
    on articles. Each launch is recorded, so that a repeated one joins its job.
    """
    # The protocol's SDK takes longer to import than all commands together.
    try:
        from cmsapi.mcp.server import build_server
    except ModuleNotFoundError as error:
        if advice("mcp") not in str(error):
            raise
        raise cmsapi.ConfigError(f"Assistants need an extra: {advice('mcp')}. Nothing was sent.") from error

    if sys.stdin.isatty():
        print_message(
            "This command talks to a program, and waits for one. Its documentation says how to connect an "
            "assistant. Ctrl-C stops it."
        )
    # The protocol's SDK reads standard input in a thread, for which Python would wait after a signal. Launches are
    # recorded, so that the process may end at any moment.
    for name in ("SIGINT", *NAMES):
        if (number := getattr(signal, name, None)) is not None:
            signal.signal(number, signal.SIG_DFL)
    policy = cmsapi.LaunchPolicy(max_credits=max_credits) if max_credits else cmsapi.LaunchPolicy()
    async with _sandboxed(policy) if sandbox else connect_with_journal(state, policy) as client:
        await build_server(client, max_credits, sandbox=sandbox).run_stdio_async()


@asynccontextmanager
async def _sandboxed(policy: cmsapi.LaunchPolicy) -> AsyncIterator[cmsapi.Client]:
    """Make a client of a new sandbox, whose launches need no record."""
    async with (
        Sandbox() as box,
        cmsapi.Client(box.api_key, base_url=box.base_url, launch=policy) as client,
    ):
        print_message(f"A sandbox of the service, to watch: {box.base_url}/")
        yield client
