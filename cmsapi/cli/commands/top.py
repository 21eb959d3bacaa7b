"""`cmsapi top`."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

from cyclopts import Parameter
from rich.live import Live

import cmsapi
from cmsapi.api.arguments import seconds
from cmsapi.cli.support.connecting import State, check_state_exists, connect_with_journal, state_name
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.fleet import page
from cmsapi.cli.terminal.progress import PipeConsole

# Seconds between two reads of the state at the least.
_SHORTEST = 0.1


async def top(
    *,
    once: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    every: float = 2.0,
    state: State = None,
) -> int:
    """Show live what all processes of a state do: limits, batches, running jobs, and what needs a person.

    It sends nothing to the service, and changes no launch. Ctrl-C ends it.

    Args:
        once: Print one page and end, as a pipe gets it.
        every: Seconds between two reads of the state.
    """
    seconds("every", every)
    once = once or not sys.stdout.isatty()
    if once:
        # A page that stays may well be there before the workers are.
        await asyncio.to_thread(check_state_exists, state)
    console = PipeConsole()
    async with connect_with_journal(state) as client:
        name = state_name(state)
        if once:
            console.print(page(await client.jobs.overview(), name, console.width))
            return Exit.DONE
        try:
            with Live(console=console, screen=True, auto_refresh=False) as live:
                await _follow(client, live, name, every)
        except asyncio.CancelledError:
            # Ctrl-C is how a person ends it.
            return Exit.DONE
    return Exit.DONE


async def _follow(client: cmsapi.Client, live: Live, name: str, every: float) -> None:
    console = live.console
    while True:
        overview = await client.jobs.overview()
        live.update(page(overview, name, console.width, console.height - 1), refresh=True)
        await asyncio.sleep(max(_SHORTEST, every))
