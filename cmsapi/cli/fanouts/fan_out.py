"""Run the jobs of one command: launch them, report their outcomes, and say how to continue after Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs

import cmsapi
from cmsapi.cli.fanouts.batch import BatchRun
from cmsapi.cli.fanouts.options import NO_OPTIONS, RunOptions
from cmsapi.cli.support.arguments import Items, are_plain, csv_table
from cmsapi.cli.support.connecting import STATE_VARIABLE
from cmsapi.cli.terminal.exit_codes import Exit, combined_exit_code, error_text
from cmsapi.cli.terminal.output import print_message, printable
from cmsapi.cli.terminal.progress import LiveProgress, stderr_console
from cmsapi.cli.terminal.quoting import quote_word, quote_words
from cmsapi.cli.terminal.totals import hindrance
from cmsapi.jobs.fanout.forecast import counted
from cmsapi.state.redaction import redact_url

R = TypeVar("R")

# More tokens or identifiers than this are written to a file, and not to the screen.
MAX_LISTED = 3
# Seconds that reading the balance may take after the run.
_BALANCE_TIMEOUT = 5.0


@attrs.frozen
class NextCommand:
    """Write the command line that continues a run.

    Args:
        command: The words before the items.
        run: The options of the run; `--batch`, `--state` and `--max-credits` are repeated. Each run counts from 0.
        options: Other options to repeat.
    """

    command: Sequence[str]
    run: RunOptions = NO_OPTIONS
    options: Sequence[str] = ()

    def __call__(self, items: str, *more: str) -> str:
        """Return the command line.

        Args:
            items: The items, quoted for a shell.
            *more: Further options.
        """
        run = self.run
        batch = () if run.batch is None else ("--batch", run.batch)
        default_state = run.state in (None, os.environ.get(STATE_VARIABLE))
        state = () if default_state else ("--state", redact_url(str(run.state)))
        bound = () if run.max_credits is None else ("--max-credits", str(run.max_credits))
        after = quote_words([*batch, *self.options, *more, *bound, *state])
        return " ".join(filter(None, ["cmsapi", quote_words(self.command), items, after]))

    def describe_rest(self, count: int) -> str:
        """Say how many of the remaining items the command launches."""
        bound = self.run.max_credits
        return "the rest" if bound is None or bound >= count else f"up to {bound} more"


@attrs.define
class FanOutResult(Generic[R]):
    """Hold the outcomes of a run, and the jobs and items that it left.

    Args:
        items: All items of the run.
        batch_run: The batch of the items, or None.
        planned: The exit code of the plan: whether the balance pays for all items.
        outcomes: The items that finished or could not be launched, in the order of their ends.
        started: The items that have a job.
        running: The items whose jobs are still running at the service, with these jobs.
        uncertain: The items whose launch was in flight at Ctrl-C, if it has no answer or its job cannot be told apart.
        stopped: The reason why launching stopped before the last item, or None.
        remaining: Credits that remain after that, or None if this is not known.
        credits: Credits that its launches have cost, those without an answer included; of a batch the batch tells.
        interrupted: Whether Ctrl-C ended the run.
    """

    items: Items[str]
    batch_run: BatchRun | None = None
    planned: Exit = Exit.DONE
    outcomes: list[cmsapi.Outcome[str, R]] = attrs.field(factory=list)
    started: Collection[str] = ()
    running: dict[str, cmsapi.Job[R]] = attrs.field(factory=dict)
    uncertain: list[str] = attrs.field(factory=list)
    stopped: cmsapi.OutOfCreditsError | None = None
    remaining: int | None = None
    credits: int = 0
    interrupted: bool = False

    @property
    def late(self) -> bool:
        """Whether the time of an item was over before its job ended."""
        return any(isinstance(outcome.error, cmsapi.JobWaitTimeoutError) for outcome in self.outcomes)

    @property
    def code(self) -> Exit:
        """The exit code of the command."""
        if self.interrupted:
            return Exit.INTERRUPTED
        errors = [outcome.error for outcome in self.outcomes]
        code = combined_exit_code([*errors, *([self.stopped] if self.stopped else [])])
        # If all launches were in flight when the service refused the first one, there was no launching left to stop.
        refused = any(isinstance(error, cmsapi.ConflictError) for error in errors)
        return Exit.CREDITS if refused and self.planned is Exit.CREDITS and code is not Exit.UNKNOWN else code

    async def report(self, next_command: NextCommand) -> None:
        """Print to standard error which items have no result, why, and how to continue.

        Args:
            next_command: Continues the run.
        """
        # Items that failed alike share one line, with the notes and the request id of the first.
        alike: dict[str, list[cmsapi.Outcome[str, R]]] = {}
        for outcome in self.outcomes:
            if outcome.error is not None:
                alike.setdefault(_without_target(_without_request_id(outcome.error), outcome), []).append(outcome)
        for first, *others in alike.values():
            more = f" and {len(others) + 1 - MAX_LISTED} more" if len(others) >= MAX_LISTED else ""
            text = error_text(first.error) if first.error is not None else ""
            text = _without_target(text, first) if others else text
            names = ", ".join(_named(each) for each in [first, *others[: MAX_LISTED - 1]])
            print_message(f"{names}{more}: {text}", style="red")
        if self.stopped is not None:
            verb = "remains" if self.remaining == 1 else "remain"
            balance = "" if self.remaining is None else f" {counted(self.remaining, 'credit')} {verb}."
            print_message(f"{error_text(self.stopped)}{balance}", style="red")
        if self.batch_run is not None:
            await self._report_batch(self.batch_run, next_command)
        else:
            await self._report_rest(next_command)

    async def _report_rest(self, next_command: NextCommand) -> None:
        if self.interrupted and self.credits:
            print_message(f"This run has cost {'at most ' * bool(self.uncertain)}{counted(self.credits, 'credit')}.")
        if self.running:
            tokens = [job.token for job in self.running.values()]
            print_message(f"{counted(len(tokens), 'job')} launched and not finished. To wait for the results:")
            print_message(f"  cmsapi jobs watch {await _spell('jobs', tokens)}")
        if self.uncertain:
            print_message("These launches were in flight, and some may be running. Check before you launch them again:")
            print_message(f"  {quote_words(map(printable, self.uncertain))}")
        known = {outcome.item for outcome in self.outcomes} | set(self.running) | set(self.uncertain)
        if rest := [item for item in self.items if item not in known]:
            bound = next_command.describe_rest(len(rest))
            print_message(f"{counted(len(rest), 'item')} not launched and not charged. To launch {bound}:")
            print_message(f"  {next_command(await _spell('rest', rest, self.items.whole_lines))}")

    async def _report_batch(self, batch_run: BatchRun, next_command: NextCommand) -> None:
        batch = batch_run.batch
        offers: list[tuple[str, tuple[str, ...]]] = []
        if self.interrupted or self.late or self.stopped is not None:
            offers.append((self._progress(batch_run, next_command), ()))
        if batch.failed and any(isinstance(outcome.error, cmsapi.JobError) for outcome in self.outcomes):
            offers.append(("To launch failed items again, for a credit each:", ("--retry", "failed")))
        if batch.unknown:
            offers.append(("To launch unknown items again, which may be charged twice:", ("--retry", "unknown")))
        if offers:
            items = await _repeat(self.items)
            for text, options in offers:
                print_message(text)
                print_message(f"  {next_command(items, *options)}")

    def _progress(self, batch_run: BatchRun, next_command: NextCommand) -> str:
        """Return the progress of a batch, and the cost of the next run."""
        running = "Launched jobs keep running at the service. " if self.interrupted or self.late else ""
        if (counts := batch_run.counts(self.items, self.started)) is None:
            return f"{running}To continue, and pay only for items that are not launched:"
        launched, uncertain, results = counts
        rest = len(self.items) - launched - uncertain
        perhaps = f"{uncertain:,} perhaps launched, " if uncertain else ""
        bound = next_command.describe_rest(rest)
        return (
            f"Batch of {counted(len(self.items), 'item')}: {launched:,} launched and paid, {perhaps}"
            f"{results:,} with a result, {rest:,} still to launch. {running}"
            + (f"To continue, and pay only for {bound}:" if rest else "To wait for the results, for no credit:")
        )


async def _repeat(items: Items[str]) -> str:
    """Return the items as they were typed, if that is short; otherwise as `_spell` does."""
    if items.retyped is not None and (len(items) <= MAX_LISTED or all(word.startswith("@") for word in items.retyped)):
        return quote_words(items.retyped)
    return await _spell("items", items, items.whole_lines)


async def _spell(what: str, words: Sequence[str], whole_lines: bool = False) -> str:
    """Return items as arguments for a shell: the items themselves, or a new file if there are many or odd ones."""
    plain = whole_lines or are_plain(words)
    if len(words) > MAX_LISTED or not plain:
        path = Path(f"cmsapi-{what}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt")
        try:
            text = "\n".join(words) + "\n" if plain else csv_table(words)
            await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        except OSError as error:
            print_message(f"{path} cannot be written: {error.strerror}")
        else:
            return quote_word(f"@{path}")
    return quote_words(words)


def _without_request_id(error: Exception) -> str:
    request_id = error.request_id if isinstance(error, cmsapi.APIError | cmsapi.DecodeError) else None
    return str(error).replace(request_id, "") if request_id else str(error)


def _named(outcome: cmsapi.Outcome[str, Any]) -> str:
    """Return an item, and what it is called if that is known."""
    name = None if outcome.job is None else outcome.job.name
    return printable(outcome.item) + ("" if name in (None, outcome.item) else f" ({printable(name)})")


def _without_target(text: str, outcome: cmsapi.Outcome[str, Any]) -> str:
    """Return what an error says of the job, without the identifier of what the job works on."""
    target = outcome.item if outcome.job is None else outcome.job.target
    return re.sub(rf" (?:of|on) {re.escape(target)}(?!\w)", "", text)


async def fan_out(
    client: cmsapi.Client,
    launch: Callable[[str], Awaitable[cmsapi.Job[R]]],
    items: Items[str],
    options: RunOptions,
    batch_run: BatchRun | None,
    planned: Exit,
) -> FanOutResult[R]:
    """Launch a job for each item and wait for all; Ctrl-C stops launching and keeps the running jobs.

    Args:
        client: The client that waits for the jobs.
        launch: Launches the job of one item.
        items: The items.
        options: The options of the command.
        batch_run: The batch of the items; results of its earlier runs are read again, and not launched.
        planned: The exit code of the plan: whether the balance pays for all items.
    """
    item_of: dict[cmsapi.Job[R], str] = {}
    in_flight: list[str] = []

    async def launch_and_record(item: str) -> cmsapi.Job[R]:
        try:
            job = await launch(item)
        except asyncio.CancelledError:
            in_flight.append(item)
            raise
        item_of[job] = item
        return job

    result: FanOutResult[R] = FanOutResult(items, batch_run, planned, started=item_of.values())
    bound, timeout = options.max_credits, options.job_timeout
    outcomes: cmsapi.Fanout[str, R] | cmsapi.BatchOutcomes[str, R]
    if batch_run is None:
        outcomes = client.jobs.map(launch_and_record, items, max_credits=bound, timeout=timeout)
    else:
        outcomes = batch_run.batch.map(launch_and_record, items, key=batch_run.key, max_credits=bound, timeout=timeout)
    async with contextlib.aclosing(outcomes):
        await _collect(client, result, outcomes)
    result.remaining = await _remaining(client, result, item_of)
    # A batch tells of its own jobs.
    if isinstance(outcomes, cmsapi.Fanout):
        result.running = {item_of.get(job, job.target): job for job in outcomes.launched}
        result.credits = outcomes.progress.credits
        # A search has its own identifier, which does not name its seed keyword.
        result.uncertain = [item for item in await _sent(client, in_flight) if item not in result.running]
    return result


async def _sent(client: cmsapi.Client, in_flight: list[str]) -> list[str]:
    """Return the items of launches that were cut off after they were sent; all of them if that cannot be read."""
    if in_flight:
        with contextlib.suppress(cmsapi.CMSError):
            sent = {launch.target for launch in await client.jobs.journal() if launch.state != "intent"}
            return [item for item in in_flight if item in sent]
    return in_flight


async def _remaining(client: cmsapi.Client, result: FanOutResult[R], jobs: Iterable[cmsapi.Job[R]]) -> int | None:
    """Read how many credits remain for this kind of job after launching stopped; return None if this is not known."""
    kind = next((job.kind for job in jobs), None)
    if result.stopped is None or result.interrupted or kind is None:
        return None
    with contextlib.suppress(cmsapi.CMSError, TimeoutError):
        async with asyncio.timeout(_BALANCE_TIMEOUT):
            return (await client.jobs.plan(kind.value, 1)).balance
    return None


async def wait_for_jobs(
    client: cmsapi.Client,
    jobs: Sequence[cmsapi.Job[Any]],
    job_timeout: float | None = None,
) -> FanOutResult[Any]:
    """Wait for running jobs; Ctrl-C stops waiting, and the jobs keep running."""
    result: FanOutResult[Any] = FanOutResult(Items())
    async with client.jobs.as_completed(jobs, timeout=job_timeout) as outcomes:
        await _collect(client, result, outcomes)
    result.running = {job.target: job for job in jobs if not job.done()}
    return result


async def _collect(
    client: cmsapi.Client,
    result: FanOutResult[R],
    outcomes: cmsapi.Fanout[str, R] | cmsapi.BatchOutcomes[str, R] | cmsapi.AsCompleted[R],
) -> None:
    live = LiveProgress(stderr_console(), hindrance=lambda: hindrance(client.rate_limit))
    live.add("", outcomes)
    try:
        async with live.running():
            async for outcome in outcomes:
                if isinstance(outcome.error, cmsapi.OutOfCreditsError):
                    result.stopped = outcome.error
                else:
                    result.outcomes.append(outcome)
    except asyncio.CancelledError:
        result.interrupted = True
        # The command only has to print how to continue, which is quick.
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        print_message("Interrupted.")
