"""Say what many jobs will take before they are launched."""

from __future__ import annotations

from collections.abc import Sequence

import cmsapi
from cmsapi.cli.support.batch import BatchRun
from cmsapi.cli.support.connecting import note_nothing_launched
from cmsapi.cli.support.exit_codes import Exit
from cmsapi.cli.support.output import counted, print_message


async def print_plan(
    client: cmsapi.Client, kind: str, items: Sequence[str], max_credits: int | None, named: BatchRun | None
) -> Exit:
    """Say on standard error what a fan-out will take.

    Args:
        client: Knows how long such jobs took.
        kind: The kind of job.
        items: What there is to launch.
        max_credits: How many launches may be paid for; None for all.
        named: What a batch knows already, or None.

    Returns:
        The exit code of a dry run, which tells whether the balance pays for it.
    """
    missing = named.missing(items) if named else items
    count = len(missing) if max_credits is None else min(len(missing), max_credits)
    if named:
        known = len(items) - len(missing)
        print_message(f"batch {named.batch.name!r}: {known} of {counted(len(items), 'item')} launched in earlier runs")
    if not count:
        print_message("plan: nothing to launch, no credit")
        return Exit.DONE
    with note_nothing_launched():
        forecast = await client.jobs.plan(kind, count)
    seen = forecast.learned_from
    basis = f"learned from {counted(seen, 'job')}" if seen else "a guess, none seen yet"
    room = "fits into this hour's requests" if forecast.fits else "waits for requests of later hours"
    words = forecast.kind.value.replace("_", " ")
    left = "" if forecast.balance is None else f" of {forecast.balance:,} left"
    print_message(
        f"plan: {forecast.count} x {words}, {counted(forecast.credits, 'credit')}{left}, "
        f"about {counted(forecast.requests, 'request')} and {_span(forecast.seconds)} ({basis}; {room})"
    )
    if forecast.affordable:
        return Exit.DONE
    print_message(f"The balance does not suffice: it pays for {forecast.balance} of {forecast.count}.", style="red")
    return Exit.CREDITS


def _span(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
