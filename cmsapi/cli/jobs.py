"""The command ``jobs``: batches, articles in review, unknown launches and running jobs in the state."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from cmsapi import Client, Job
from cmsapi.cli.connect import DEFAULTS, Options, connect, connect_to_launched
from cmsapi.cli.inputs import read_items
from cmsapi.cli.launches import can_ask, decide
from cmsapi.cli.outcomes import ANY, Stopped, show
from cmsapi.cli.output import Writer, attribute, columns, note
from cmsapi.errors import ConfigError

app: App = App(name="jobs", help="Show launched jobs and continue with them; no credit.")


@app.command
async def batches(*, options: Options = DEFAULTS) -> None:
    """List the batches of all programs that share the state."""
    shown = columns("name total running review succeeded failed unknown")
    async with connect_to_launched(options) as client, Writer(options, shown) as writer:
        for status in await client.jobs.batches():
            writer.write({name: attribute(status, name) for name in shown})


@app.command(name="show")
async def items(name: str, *, options: Options = DEFAULTS) -> None:
    """List the items of the batch NAME that have not succeeded; running the batch again shows their errors."""
    async with connect_to_launched(options) as client, client.jobs.batch(name) as batch:
        if not batch.progress.total:
            raise ConfigError(f"the state has no batch {name}: `cmsapi jobs batches` lists its batches")
        async with Writer(options, columns("id status")) as writer:
            for status in ("failed", "unknown", "unfinished"):
                for item in getattr(batch, status):
                    writer.write({"id": item, "status": status})


@app.command
async def reviews(
    *contents: str, confirm: bool = False, discard: bool = False, ask: bool = False, options: Options = DEFAULTS
) -> int:
    """List articles that wait for a decision, or decide on them; at least one request per open generation.

    Args:
        contents: Ids of the contents: arguments, @file, or - for stdin. The default is all contents.
        confirm: Apply the articles to their drafts.
        discard: Discard the articles.
        ask: Ask what to do with each article.
    """
    if confirm + discard + ask > 1 or (ask and not can_ask()):
        raise ConfigError("give one of --confirm, --discard, or on a terminal --ask")
    wanted = read_items(contents) if contents else None
    async with connect_to_launched(options) as client:
        waiting = [each for each in await client.jobs.reviews() if wanted is None or each.content_id in wanted]
        if wanted is not None and len(waiting) < len(wanted):
            note(f"contents without a known article in review: {len(wanted) - len(waiting)}")
        if ask or confirm or discard:
            answer = "confirm" if confirm else "discard" if discard else None
            return 0 if await decide(client, waiting, answer) else 1
        async with Writer(options, columns("id generation")) as writer:
            for review in waiting:
                writer.write({"id": review.content_id, "generation": review.generation.id})
    return 0


@app.command
async def unknown(*, options: Options = DEFAULTS) -> None:
    """List launches that the service may or may not have accepted, and say where to check."""
    shown = columns("target attempts what")
    async with connect_to_launched(options) as client, Writer(options, shown, whole=True) as writer:
        for error in await client.jobs.unknown():
            writer.write({"target": error.target, "attempts": error.attempts, "what": str(error)})


@app.command
async def resume(*, options: Options = DEFAULTS) -> int:
    """Wait for all running jobs in the state, whichever program launched them, and show their outcomes."""
    async with connect_to_launched(options) as client:
        return await _wait(client, await client.jobs.resume(), options)


@app.command
async def watch(*tokens: str, options: Options = DEFAULTS) -> int:
    """Wait for the jobs with the given tokens, which launch commands print with --json. Needs no state.

    Args:
        tokens: Tokens of the jobs: arguments, @file (text, CSV or JSON with tokens), or - for stdin.
    """
    known = read_items(tokens, "token")
    async with connect(options) as client:
        return await _wait(client, [client.jobs.attach(token) for token in known], options)


@app.command
async def forget(*names: str, options: Options = DEFAULTS) -> None:
    """Forget batches and their results; without a name, forget all finished or unknown launches older than 30 days.

    Args:
        names: Names of batches.
    """
    async with connect_to_launched(options) as client:
        for name in names:
            note(f"{name}: items forgotten: {await client.jobs.batch(name).forget()}")
        if not names:
            note(f"launches forgotten: {await client.jobs.forget()}")


async def _wait(client: Client, jobs: list[Job[Any]], options: Options) -> int:
    note(f"jobs to wait for: {len(jobs)}")
    try:
        shown = await show(client.jobs.as_completed(jobs), ANY, options)
    except Stopped as stopped:
        note("stopped: the jobs run on at the service; run the same command to wait again")
        return stopped.exit_code
    return 0 if all(outcome.ok for outcome in shown) else 1
