"""Run a command line in this process."""

from __future__ import annotations

import asyncio

from cyclopts import CycloptsError

import cmsapi
from cmsapi.cli.running import execute, parse, report_error
from cmsapi.cli.terminal.exit_codes import Exit


async def command(*tokens: str) -> int:
    """Run a command line on the running loop; return its exit code."""
    try:
        # Beside the loop, as in life, where it comes before the loop.
        parsed = await asyncio.to_thread(parse, tokens)
    except CycloptsError:
        return Exit.USAGE
    except cmsapi.CMSError as error:
        return report_error(error)
    # A task of its own, because a command may be interrupted.
    return await asyncio.create_task(execute(parsed))
