"""Print the cost of a fan-out before its launches."""

from __future__ import annotations

from collections.abc import Sequence

import cmsapi
from cmsapi.cli.support.batch import BatchRun
from cmsapi.cli.support.connecting import note_nothing_launched
from cmsapi.cli.support.exit_codes import Exit
from cmsapi.cli.support.output import counted, print_message


async def print_plan(
    client: cmsapi.Client, kind: str, items: Sequence[str], max_credits: int | None, batch_run: BatchRun | None
) -> Exit:
    """Print the credits, requests and time of a fan-out to standard error.

    Args:
        client: The client, whose state has learned how long such jobs take.
        kind: The kind of job.
        items: The items to launch.
        max_credits: The largest number of launches to pay for; None for no bound.
        batch_run: The batch of the items, or None.

    Returns:
        The exit code of a dry run: whether the balance pays for the plan.
    """
    missing = batch_run.missing(items) if batch_run else items
    count = len(missing) if max_credits is None else min(len(missing), max_credits)
    if batch_run:
        known = len(items) - len(missing)
        print_message(
            f"batch {batch_run.batch.name!r}: {known} of {counted(len(items), 'item')} launched in earlier runs"
        )
    if not count:
        print_message("plan: nothing to launch, no credit")
        return Exit.DONE
    with note_nothing_launched():
        forecast = await client.jobs.plan(kind, count)
    seen = forecast.learned_from
    basis = f"learned from {counted(seen, 'job')}" if seen else "an estimate, no job observed yet"
    room = "fits into this hour's requests" if forecast.fits else "needs requests of later hours"
    words = forecast.kind.value.replace("_", " ")
    left = "" if forecast.balance is None else f" of {forecast.balance:,} left"
    print_message(
        f"plan: {forecast.count} x {words}, {counted(forecast.credits, 'credit')}{left}, "
        f"about {counted(forecast.requests, 'request')} and {_span(forecast.seconds)} ({basis}; {room})"
    )
    if forecast.affordable:
        return Exit.DONE
    print_message(f"The balance is too low: it pays for {forecast.balance} of {forecast.count}.", style="red")
    return Exit.CREDITS


def _span(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
