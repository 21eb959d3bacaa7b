"""Send one request for each of several items, which cost no credit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import cmsapi
from cmsapi.cli.terminal.exit_codes import Exit, combined_exit_code, error_text
from cmsapi.cli.terminal.output import print_message, printable
from cmsapi.cli.terminal.progress import ItemCount, LiveProgress, stderr_console
from cmsapi.jobs.fanout.forecast import counted

R = TypeVar("R")
# These errors meet every item alike.
_HOPELESS = (cmsapi.UnauthorizedError, cmsapi.NotSentError, cmsapi.ConfigError)


async def for_each(items: Sequence[str], send: Callable[[str], Awaitable[R]]) -> tuple[list[R], Exit]:
    """Send the requests one after another, so that Ctrl-C leaves at most one in doubt; continue after an error.

    Args:
        items: The items.
        send: Sends the request of one item.

    Returns:
        The results and the exit code.
    """
    results: list[R] = []
    errors: list[Exception | None] = []
    live, count = LiveProgress(stderr_console()), ItemCount(len(items))
    live.add("", count)
    try:
        async with live.running():
            for item in items:
                try:
                    results.append(await send(item))
                    errors.append(None)
                except _HOPELESS:
                    raise
                except cmsapi.CMSError as error:
                    print_message(f"{printable(item)}: {error_text(error)}", style="red")
                    errors.append(error)
                count.done += 1
    except (cmsapi.CMSError, asyncio.CancelledError):
        if results:
            done = count.done
            print_message(f"{counted(done, 'item')} of {len(items):,} done; the next one is {printable(items[done])}.")
        raise
    return results, combined_exit_code(errors)
