"""Many jobs from one command: how they run, what became of them, and how to go on after Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import attrs
from cyclopts import Parameter, Token

import cmsapi
from cmsapi.cli.support.arguments import Items, are_plain, csv_table
from cmsapi.cli.support.batch import BatchRun
from cmsapi.cli.support.connecting import STATE_VARIABLE
from cmsapi.cli.support.exit_codes import Exit, combined_exit_code, error_text
from cmsapi.cli.support.output import counted, print_message, printable
from cmsapi.cli.support.progress import LiveTable, stderr_console
from cmsapi.state.redaction import redact_url

R = TypeVar("R")

# More tokens or identifiers than this go into a file, rather than over the screen.
MAX_LISTED = 3
# Seconds that reading the balance may take at the end.
_BALANCE_TIMEOUT = 5.0


def _whole(_: Any, tokens: Sequence[Token]) -> int:
    word = tokens[0].value
    # Elsewhere 1.6 is taken for 2; here that would be spent.
    if not re.fullmatch(r"[0-9]+", word):
        raise cmsapi.ArgumentError(f"It takes a whole number from 0 on, not {word}.", parameter="max_credits")
    return int(word)


MaxCredits: TypeAlias = Annotated[
    int | None, Parameter(converter=_whole, help="Launch no more than this many credits pay for.")
]
DryRun: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False, help="Only say what it would take.")]


@attrs.frozen
class NextCommand:
    """Spell the command that goes on.

    Args:
        command: Its words before the items.
        batch: What `--batch` says, or None.
        state: What `--state` says, or None.
        options: Its other options.
        max_credits: What `--max-credits` says, or None. Each run counts anew.
    """

    command: Sequence[str]
    batch: str | None = None
    state: str | None = None
    options: Sequence[str] = ()
    max_credits: int | None = None

    def __call__(self, items: str, *more: str) -> str:
        """Return it with its items, as they are typed, and more options."""
        batch = () if self.batch is None else ("--batch", self.batch)
        state = () if self.state in (None, os.environ.get(STATE_VARIABLE)) else ("--state", redact_url(str(self.state)))
        bound = () if self.max_credits is None else ("--max-credits", str(self.max_credits))
        after = shlex.join([*batch, *self.options, *more, *bound, *state])
        return " ".join(filter(None, ["cmsapi", shlex.join(self.command), items, after]))

    def describe_rest(self, count: int) -> str:
        """Say how many of the items that are left it launches."""
        return "the rest" if self.max_credits is None or self.max_credits >= count else f"up to {self.max_credits} more"


@attrs.define
class FanOutResult(Generic[R]):
    """Hold what became of several items.

    Args:
        items: All that were asked for.
        named: Their batch, or None.
        planned: What the plan said: whether the balance pays for all.
        outcomes: Those that are over, or could not be launched, in the order in which they ended.
        taken: Items that have a job.
        left: Items whose jobs go on at the service, and these jobs.
        doubtful: Items whose launch was being sent at Ctrl-C, and of which it is not known which job is theirs.
        stopped: Why launching stopped before the last item, or None.
        remaining: Credits that remain then, or None where that is not known.
        interrupted: Whether Ctrl-C ended it.
    """

    items: Items
    named: BatchRun | None = None
    planned: Exit = Exit.DONE
    outcomes: list[cmsapi.Outcome[str, R]] = attrs.field(factory=list)
    started: Collection[str] = ()
    left: dict[str, cmsapi.Job[R]] = attrs.field(factory=dict)
    uncertain: list[str] = attrs.field(factory=list)
    stopped: cmsapi.OutOfCreditsError | None = None
    remaining: int | None = None
    interrupted: bool = False

    @property
    def code(self) -> Exit:
        """The exit code of the command."""
        if self.interrupted:
            return Exit.INTERRUPTED
        errors = [outcome.error for outcome in self.outcomes]
        code = combined_exit_code([*errors, *([self.stopped] if self.stopped else [])])
        # Where all items were on their way before the first was refused, no launching was left to be stopped.
        refused = any(isinstance(error, cmsapi.ConflictError) for error in errors)
        return Exit.CREDITS if refused and self.planned is Exit.CREDITS and code is not Exit.UNKNOWN else code

    async def tell(self, again: NextCommand) -> None:
        """Say on standard error what has no result, why, and how to go on.

        Args:
            again: The command that was run.
        """
        # What is wrong with all of them is said once, with the notes of the first: how long each waited differs.
        alike: dict[str, tuple[str, list[str]]] = {}
        for outcome in self.outcomes:
            if outcome.error is not None:
                alike.setdefault(str(outcome.error), (error_text(outcome.error), []))[1].append(printable(outcome.item))
        for text, items in alike.values():
            more = f" and {len(items) - MAX_LISTED} more" if len(items) > MAX_LISTED else ""
            print_message(f"{', '.join(items[:MAX_LISTED])}{more}: {text}", style="red")
        if self.stopped is not None:
            balance = self.remaining
            verb = "remains" if balance == 1 else "remain"
            left = "" if balance is None else f" {counted(balance, 'credit')} {verb}."
            print_message(f"{error_text(self.stopped)}{left}", style="red")
        if self.named is not None:
            await self._tell_batch(self.named, again)
        else:
            await self._tell_rest(again)

    async def _tell_rest(self, again: NextCommand) -> None:
        if self.left:
            print_message(
                f"{counted(len(self.left), 'job')} launched and not over: at the service they go on. Wait for them:"
            )
            print_message(f"  cmsapi jobs watch {await _spell('jobs', [job.token for job in self.left.values()])}")
        if self.uncertain:
            print_message("These were being launched at that moment, and some are: look before you launch them again.")
            print_message(f"  {shlex.join(map(printable, self.uncertain))}")
        seen = {outcome.item for outcome in self.outcomes} | set(self.left) | set(self.uncertain)
        if rest := [item for item in self.items if item not in seen]:
            print_message(
                f"{counted(len(rest), 'item')} not launched and not charged. Launch {again.describe_rest(len(rest))}:"
            )
            print_message(f"  {again(await _spell('rest', rest, self.items.whole_lines))}")

    async def _tell_batch(self, named: BatchRun, again: NextCommand) -> None:
        batch = named.batch
        wanted: list[tuple[str, tuple[str, ...]]] = []
        if self.interrupted or self.stopped is not None:
            wanted.append((self._progress(named, again), ()))
        failed = [outcome for outcome in self.outcomes if isinstance(outcome.error, cmsapi.JobError)]
        if batch.failed and failed:
            wanted.append(("Launch failed items again, a credit each:", ("--retry", "failed")))
        if batch.unknown:
            wanted.append(("Launch unknown items again, which may be paid twice:", ("--retry", "unknown")))
        if wanted:
            items = await _repeat(self.items)
            for text, options in wanted:
                print_message(text)
                print_message(f"  {again(items, *options)}")

    def _progress(self, named: BatchRun, again: NextCommand) -> str:
        """Say how far a batch is, and what it costs to run it again."""
        goes_on = "What is launched goes on at the service. " if self.interrupted else ""
        if (counts := named.counts(self.items, self.started)) is None:
            return f"{goes_on}Go on, and pay only for what is not launched:"
        rest = len(self.items) - counts.launched - counts.uncertain
        uncertain = f"{counts.uncertain:,} perhaps launched, " if counts.uncertain else ""
        return (
            f"Batch of {counted(len(self.items), 'item')}: {counts.launched:,} launched and paid, {uncertain}"
            f"{counts.results:,} with a result, {rest:,} still to launch. {goes_on}"
            + (
                f"Go on, and pay only for {again.describe_rest(rest)}:"
                if rest
                else "Wait for the results, for no credit:"
            )
        )


async def _repeat(items: Items) -> str:
    """Return what names the items once more: the arguments as they were typed, if that is not too much."""
    if items.typed is not None and (len(items) <= MAX_LISTED or all(word.startswith("@") for word in items.typed)):
        return shlex.join(items.typed)
    return await _spell("items", items, items.whole_lines)


async def _spell(what: str, words: Sequence[str], whole_lines: bool = False) -> str:
    """Return arguments as one can type them: themselves, or a new file where they are many or odd."""
    plain = whole_lines or are_plain(words)
    if len(words) > MAX_LISTED or not plain:
        path = Path(f"cmsapi-{what}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt")
        try:
            text = "\n".join(words) + "\n" if plain else csv_table(words)
            await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        except OSError as error:
            print_message(f"{path} cannot be written: {error.strerror}")
        else:
            return f"@{path}"
    return shlex.join(words)


def outcome_document(outcome: cmsapi.Outcome[str, Any], result: Any) -> dict[str, Any]:
    """Return what became of an item as a JSON document.

    Args:
        outcome: What became of it.
        result: The document of its result, or None.
    """
    error = outcome.error
    return {
        "item": outcome.item,
        "result": result,
        "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
        "token": outcome.job.token if outcome.job else None,
    }


async def fan_out(
    client: cmsapi.Client,
    launch: Callable[[str], Awaitable[cmsapi.Job[R]]],
    items: Items,
    *,
    max_credits: int | None,
    named: BatchRun | None = None,
    planned: Exit = Exit.DONE,
) -> FanOutResult[R]:
    """Launch a job for each item and wait for all; Ctrl-C stops launching and keeps what runs.

    Args:
        client: Waits for the jobs.
        launch: Launches the job of one item.
        items: The items.
        max_credits: How many launches may be paid for; None for all.
        named: The batch that they belong to; what ended in an earlier run of it is read again, and not launched.
        planned: What the plan said: whether the balance pays for all.
    """
    item_of: dict[cmsapi.Job[R], str] = {}
    cut_off: list[str] = []

    async def noted(item: str) -> cmsapi.Job[R]:
        try:
            job = await launch(item)
        except asyncio.CancelledError:
            cut_off.append(item)
            raise
        item_of[job] = item
        return job

    def running() -> list[cmsapi.Job[R]]:
        return [job for job in item_of if not job.done]

    result: FanOutResult[R] = FanOutResult(items, named, planned, started=item_of.values())
    board = LiveTable(stderr_console(), len(items), running, lambda job: item_of.get(job, job.target))
    if named is not None:
        await _collect(result, board, named.batch.map(noted, items, key=named.key, max_credits=max_credits))
        result.remaining = await _remaining(client, result, item_of)
        return result
    fanout = client.jobs.map(noted, items, max_credits=max_credits)
    async with fanout:
        await _collect(result, board, fanout)
    result.remaining = await _remaining(client, result, item_of)
    result.left = {item_of.get(job, job.target): job for job in fanout.launched}
    # A search has an identifier of its own, which does not tell what was searched for.
    if not set(result.left) <= set(items):
        result.uncertain = [item for item in cut_off if item not in result.left]
    return result


async def _remaining(client: cmsapi.Client, result: FanOutResult[R], jobs: Iterable[cmsapi.Job[R]]) -> int | None:
    """Read how many credits of these jobs' kind remain, once launching has stopped; None where that is not known."""
    kind = next((job.kind for job in jobs), None)
    if result.stopped is None or result.interrupted or kind is None:
        return None
    with contextlib.suppress(cmsapi.CMSError, TimeoutError):
        async with asyncio.timeout(_BALANCE_TIMEOUT):
            return (await client.jobs.plan(kind.value, 1)).balance
    return None


async def wait_for_jobs(client: cmsapi.Client, jobs: Sequence[cmsapi.Job[Any]]) -> FanOutResult[Any]:
    """Wait for jobs that run already; Ctrl-C leaves them."""
    result: FanOutResult[Any] = FanOutResult(Items())
    board = LiveTable(
        stderr_console(), len(jobs), lambda: [job for job in jobs if not job.done], lambda job: job.target
    )
    async with client.jobs.as_completed(jobs) as outcomes:
        await _collect(result, board, outcomes)
    result.left = {job.target: job for job in jobs if not job.done}
    return result


async def _collect(result: FanOutResult[R], board: LiveTable, outcomes: AsyncIterator[cmsapi.Outcome[str, R]]) -> None:
    try:
        async with board.live():
            async for outcome in outcomes:
                if isinstance(outcome.error, cmsapi.OutOfCreditsError):
                    result.stopped = outcome.error
                else:
                    result.outcomes.append(outcome)
                    board.ended(outcome.error)
    except asyncio.CancelledError:
        result.interrupted = True
        # What is left to do is quick: to say how to go on.
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        print_message("Interrupted.")
