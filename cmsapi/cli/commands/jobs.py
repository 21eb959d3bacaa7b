"""`cmsapi jobs`: list open launches and batches, wait for jobs, and decide on articles."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from cyclopts import App
from rich.console import Console

import cmsapi
from cmsapi.api.wire.shape import wire_name
from cmsapi.cli.fanouts.fan_out import FanOutResult, NextCommand, wait_for_jobs
from cmsapi.cli.fanouts.options import Timeout
from cmsapi.cli.fanouts.outcomes import OUTCOME_COLUMNS, outcome_document
from cmsapi.cli.support.arguments import AllowEmpty, ContentIds, JobTokens
from cmsapi.cli.support.connecting import State, check_state_exists, connect_with_journal, state_name
from cmsapi.cli.support.reviews import Decision, DecisionFlag, Discard, decide_all
from cmsapi.cli.terminal.asking import Yes, confirmed
from cmsapi.cli.terminal.exit_codes import Exit, combined_exit_code, error_text
from cmsapi.cli.terminal.fleet import batch_state, shortened
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list, print_message, printable
from cmsapi.jobs.fanout.forecast import counted

jobs: App = App(name="jobs", help="List open launches and batches, wait for jobs, and decide on articles.")

_LAUNCH_COLUMNS: Columns[cmsapi.OpenLaunch] = {
    "id": lambda entry: entry.target,
    "kind": lambda entry: entry.kind.value.replace("_", " "),
    "state": lambda entry: entry.state,
    "launched": lambda entry: entry.asked_at,
    "batch": lambda entry: entry.batch,
}
_BATCH_COLUMNS: Columns[cmsapi.BatchStatus] = {
    "name": lambda batch: batch.name,
    "state": lambda batch: batch_state(batch),
    "finished": lambda batch: batch.progress.finished,
    "total": lambda batch: batch.progress.total,
    "failed": lambda batch: batch.progress.failed,
    "running": lambda batch: batch.progress.running,
    "credits": lambda batch: batch.progress.credits,
    "last worked on": lambda batch: batch.worked_at,
    "unknown": lambda batch: batch.progress.unknown,
}
# Counts of a progress in the document of a batch.
_COUNTS = ("total", "finished", "running", "waiting", "failed", "unknown", "credits", "requests", "seconds_left")
_REVIEW_COLUMNS: Columns[cmsapi.GenerationReview] = {
    "id": lambda review: review.content_id,
    "generation": lambda review: review.generation.id,
    "state": lambda review: review.generation.status,
}


@jobs.command(name="list")
async def list_jobs(*, state: State = None, output: Output = TABLE) -> None:
    """List launches whose jobs have not finished; one request.

    CSV and JSON include the job tokens for `jobs watch`.
    """
    async with connect_with_journal(state) as client:
        found = await client.jobs.journal()
    if not found:
        print_message(_nothing("open launches", state))
    columns = {**_LAUNCH_COLUMNS, "token": lambda entry: entry.token} if output else _LAUNCH_COLUMNS
    print_list(found, columns, output, _entry_document)


@jobs.command(name="batches")
async def list_batches(*, state: State = None, output: Output = TABLE) -> None:
    """List the batches of all processes, the one that was worked on last first; at most one request.

    The state of a batch is running while a process works on it, stopped when none does, and done at its end.
    """
    await asyncio.to_thread(check_state_exists, state)
    async with connect_with_journal(state) as client:
        found = await client.jobs.batches()
    if not found:
        print_message(_nothing("batches", state))
    width = Console().width if sys.stdout.isatty() and not output else None
    columns = {**_BATCH_COLUMNS, "name": lambda batch: batch.name if width is None else shortened(batch.name, width)}
    print_list(found, columns, output, _batch_document)


@jobs.command
async def watch(
    tokens: JobTokens,
    /,
    *,
    job_timeout: Timeout = None,
    allow_empty: AllowEmpty = False,
    state: State = None,
    output: Output = TABLE,
) -> int:
    """Wait for jobs by their tokens and print their results; no credit.

    Args:
        tokens: Job tokens that other commands printed; - reads them or CSV from standard input, @FILE from a file.
    """
    tokens.require_nonempty(allow_empty)
    async with connect_with_journal(state) as client:
        result = await wait_for_jobs(client, [client.jobs.attach(token) for token in tokens], job_timeout)
        await _report(client, result, output)
    return result.code


@jobs.command
async def resume(*, job_timeout: Timeout = None, state: State = None, output: Output = TABLE) -> int:
    """Wait for the jobs that ended processes left running, and print their results; no credit.

    Results of a batch's items are recorded in the batch.
    """
    async with connect_with_journal(state) as client:
        resumed = await client.jobs.resume()
        if not (resumed.jobs or resumed.unknown):
            print_message(_nothing("jobs to resume", state))
        result = await wait_for_jobs(client, resumed.jobs, job_timeout)
        await _report(client, result, output)
        for unknown in resumed.unknown:
            print_message(f"{printable(unknown.target)}: {error_text(unknown)}", style="red")
    if result.interrupted:
        return Exit.INTERRUPTED
    return combined_exit_code([*(outcome.error for outcome in result.outcomes), *resumed.unknown])


@jobs.command
async def reviews(
    content_ids: ContentIds | None = None,
    /,
    *,
    confirm: DecisionFlag = False,
    discard: Discard = False,
    review: DecisionFlag = False,
    yes: Yes = False,
    allow_empty: AllowEmpty = False,
    state: State = None,
    output: Output = TABLE,
) -> int:
    """List generated articles that wait for a decision, or decide on them; one request each, no credit.

    Args:
        content_ids: Only these contents; the default is all.
        confirm: Apply all of them to their drafts; asks first.
        discard: Discard all of them; asks first.
        review: Decide on each article in the terminal, comparing the old text with the new one.
    """
    if content_ids is not None:
        content_ids.require_nonempty(allow_empty)
    decision = Decision.of(confirm=confirm, discard=discard, review=review)
    async with connect_with_journal(state) as client:
        waiting = await client.jobs.reviews()
        if content_ids is not None:
            waiting = [each for each in waiting if each.content_id in content_ids]
        missing = set(content_ids or ()) - {each.content_id for each in waiting}
        if missing:
            raise cmsapi.ArgumentError(
                f"This state has no article in review for: {', '.join(map(printable, sorted(missing)))}. "
                "Nothing was decided. For articles launched elsewhere use cmsapi contents review.",
                parameter="content_ids",
            )
        code = Exit.DONE
        if not waiting:
            print_message(_nothing("articles to decide on", state))
        if waiting and decision is not Decision.LEAVE:
            verb = {Decision.CONFIRM: "Apply", Decision.DISCARD: "Discard"}.get(decision)
            if verb and not await confirmed(f"{verb} {counted(len(waiting), 'article')}?", yes):
                return Exit.FAILED
            code = await decide_all(client, waiting, {}, decision)
    if decision is Decision.LEAVE or output:
        print_list(waiting, _REVIEW_COLUMNS, output, _review_document)
    return code


def _nothing(what: str, state: str | None) -> str:
    """Return a message that the state is empty; another program may use another state."""
    return f"No {what} in {state_name(state)}. To use another state: --state."


async def _report(client: cmsapi.Client, result: FanOutResult[Any], output: Output) -> None:
    """Print the outcomes, how to wait for the other jobs, and how to decide on articles."""
    if result.outcomes or output or not result.interrupted:
        print_list(result.outcomes, OUTCOME_COLUMNS, output, outcome_document)
    await result.report(NextCommand(["jobs", "watch"]))
    reviews = [outcome.value for outcome in result.outcomes if isinstance(outcome.value, cmsapi.GenerationReview)]
    await decide_all(client, reviews, {}, Decision.LEAVE)


def _entry_document(entry: cmsapi.OpenLaunch) -> dict[str, Any]:
    return {
        "kind": entry.kind.value,
        "target": entry.target,
        "state": entry.state,
        "launchedAt": entry.asked_at.isoformat(),
        "jobId": entry.job_id,
        "batch": entry.batch,
        "item": entry.item,
        "token": entry.token,
    }


def _batch_document(batch: cmsapi.BatchStatus) -> dict[str, Any]:
    times = {"beganAt": batch.began_at, "workedAt": batch.worked_at, "doneAt": batch.done_at}
    return {
        "name": batch.name,
        "state": batch_state(batch),
        **{wire_name(name): getattr(batch.progress, name) for name in _COUNTS},
        "processes": batch.processes,
        **{name: None if time is None else time.isoformat() for name, time in times.items()},
    }


def _review_document(review: cmsapi.GenerationReview) -> dict[str, Any]:
    return {
        "contentId": review.content_id,
        "generation": cmsapi.to_dict(review.generation),
        "decision": review.decision,
    }
