"""Print the cost of a fan-out before its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cmsapi
from cmsapi.api.wire.shape import wire_name
from cmsapi.cli.fanouts.batch import BatchRun
from cmsapi.cli.fanouts.options import RunOptions
from cmsapi.cli.support.connecting import note_nothing_launched
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.output import Columns, Output, print_json, print_list, print_message
from cmsapi.jobs.fanout.forecast import counted

_COLUMNS: Columns[cmsapi.Forecast] = {
    "kind": lambda plan: plan.kind.value,
    "count": lambda plan: plan.count,
    "credits": lambda plan: plan.credits,
    "balance": lambda plan: plan.balance,
    "requests": lambda plan: plan.requests,
    "requests left": lambda plan: plan.requests_left,
    "seconds": lambda plan: round(plan.seconds),
    "learned from": lambda plan: plan.learned_from,
}


async def print_plan(
    client: cmsapi.Client,
    kind: str,
    items: Sequence[str],
    options: RunOptions,
    batch_run: BatchRun | None,
    output: Output,
    *,
    skipped: int = 0,
) -> Exit:
    """Print the credits, requests and time of a fan-out to standard error.

    Args:
        client: The client, whose state has learned how long such jobs take.
        kind: The kind of job.
        items: The items to launch.
        options: The options of the command.
        batch_run: The batch of the items, or None.
        output: The form of the plan of a dry run: JSON or CSV is printed to standard output.
        skipped: The number of items that options have left out, for such a document.

    Returns:
        The exit code of a dry run: whether the balance pays for the plan.
    """
    missing = batch_run.missing(items) if batch_run else items
    count = len(missing) if options.max_credits is None else min(len(missing), options.max_credits)
    is_printed = options.dry_run and bool(output)
    if batch_run:
        known = len(items) - len(missing)
        print_message(
            f"batch {batch_run.batch.name!r}: {known} of {counted(len(items), 'item')} launched in earlier runs"
        )
    # A dry run that prints a document prints it for nothing, too.
    if not count and not is_printed:
        print_message("plan: nothing to launch, no credit")
        return Exit.DONE
    with note_nothing_launched():
        plan = await client.jobs.plan(kind, count, earlier=batch_run.read_again(items) if batch_run else 0)
    print_message(f"plan: {plan if options.dry_run else plan.headline}")
    if is_printed:
        if output.json:
            print_json({**_document(plan), "skipped": skipped})
        else:
            columns: Columns[cmsapi.Forecast] = {**_COLUMNS, "skipped": lambda _: skipped}
            print_list([plan], columns, output, _document)
    if plan.affordable is not False:
        return Exit.DONE
    print_message(f"The balance is too low: it pays for {plan.balance} of {plan.count}.", style="red")
    return Exit.CREDITS


def _document(plan: cmsapi.Forecast) -> dict[str, Any]:
    return {wire_name(name): value for name, value in plan.to_dict().items()}
