"""Many jobs from one command: what they will cost, how they run, and how to go on after Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import attrs
from cyclopts import Parameter
from cyclopts.validators import Number

import cmsapi
from cmsapi.cli.exits import Exit, code_of_all, told
from cmsapi.cli.output import clean, counted
from cmsapi.display import Board, progress_console

R = TypeVar("R")

# More tokens or identifiers than this go into a file, rather than over the screen.
_FEW = 3

MaxCredits: TypeAlias = Annotated[
    int | None, Parameter(validator=Number(gte=0), help="Launch no more than this many credits pay for.")
]


@attrs.define
class Harvest(Generic[R]):
    """Hold what became of several items.

    Args:
        items: All that were asked for.
        outcomes: Those that are over, or could not be launched, in the order in which they ended.
        left: Items whose jobs go on at the service, and these jobs.
        doubtful: Items whose launch was being sent at Ctrl-C, and of which it is not known which job is theirs.
        stopped: Why launching stopped before the last item, or None.
        interrupted: Whether Ctrl-C ended it.
    """

    items: Sequence[str]
    outcomes: list[cmsapi.Outcome[str, R]] = attrs.field(factory=list)
    left: dict[str, cmsapi.Job[R]] = attrs.field(factory=dict)
    doubtful: list[str] = attrs.field(factory=list)
    stopped: cmsapi.OutOfCreditsError | None = None
    interrupted: bool = False

    @property
    def code(self) -> Exit:
        """The exit code of the command."""
        if self.interrupted:
            return Exit.INTERRUPTED
        return code_of_all([*(outcome.error for outcome in self.outcomes), *([self.stopped] if self.stopped else [])])

    async def tell(self, again: str) -> None:
        """Say on standard error what has no result, why, and how to go on.

        Args:
            again: The command that takes the items that were not launched.
        """
        for outcome in self.outcomes:
            if outcome.error is not None:
                _say(f"{clean(outcome.item)}: {told(outcome.error)}", style="red")
        if self.stopped is not None:
            _say(str(self.stopped), style="red")
        if self.left:
            _say(f"{counted(len(self.left), 'job')} launched and not over: at the service they go on. Wait for them:")
            _say(f"  cmsapi jobs watch {await _named('jobs', [job.token for job in self.left.values()])}")
        if self.doubtful:
            _say("These were being launched at that moment, and some are: look before you launch them again.")
            _say(f"  {shlex.join(map(clean, self.doubtful))}")
        seen = {outcome.item for outcome in self.outcomes} | set(self.left) | set(self.doubtful)
        if rest := [item for item in self.items if item not in seen]:
            _say(f"{counted(len(rest), 'item')} not launched and not charged. Launch the rest:")
            _say(f"  {again} {await _named('rest', rest)}")


async def _named(what: str, words: Sequence[str]) -> str:
    """Return arguments as one can type them: themselves, or a new file that holds them when there are many."""
    if len(words) > _FEW:
        path = Path(f"cmsapi-{what}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt")
        try:
            await asyncio.to_thread(path.write_text, "\n".join(words) + "\n")
        except OSError as error:
            _say(f"{path} cannot be written: {error}")
        else:
            return f"@{path}"
    return shlex.join(words)


def _say(text: str, style: str | None = None) -> None:
    progress_console().print(text, style=style, markup=False, highlight=False)


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


def planned(items: Sequence[str], max_credits: int | None) -> int:
    """Return how many items will be launched."""
    return len(items) if max_credits is None else min(len(items), max_credits)


def tell_plan(forecast: cmsapi.Forecast) -> None:
    """Say on standard error what a fan-out will take."""
    seen = forecast.learned_from
    basis = f"learned from {counted(seen, 'job')}" if seen else "a guess, none seen yet"
    room = "fits into this hour's requests" if forecast.fits else "waits for requests of later hours"
    words = forecast.kind.value.replace("_", " ")
    _say(
        f"plan: {forecast.count} x {words}, {counted(forecast.credits, 'credit')}, "
        f"about {counted(forecast.requests, 'request')} and {_span(forecast.seconds)} ({basis}; {room})"
    )


async def fan_out(
    client: cmsapi.Client,
    launch: Callable[[str], Awaitable[cmsapi.Job[R]]],
    items: Sequence[str],
    *,
    max_credits: int | None,
) -> Harvest[R]:
    """Launch a job for each item and wait for all; Ctrl-C stops launching and keeps what runs."""
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

    fanout = client.jobs.map(noted, items, max_credits=max_credits)
    harvest: Harvest[R] = Harvest(items)
    board = Board(progress_console(), len(items), lambda: fanout.launched, lambda job: item_of.get(job, job.target))
    async with fanout:
        await _gather(harvest, board, fanout)
    harvest.left = {item_of.get(job, job.target): job for job in fanout.launched}
    # A search has an identifier of its own, which does not tell what was searched for.
    if not set(harvest.left) <= set(items):
        harvest.doubtful = [item for item in cut_off if item not in harvest.left]
    return harvest


async def wait_for(client: cmsapi.Client, jobs: Sequence[cmsapi.Job[Any]]) -> Harvest[Any]:
    """Wait for jobs that run already; Ctrl-C leaves them."""
    harvest: Harvest[Any] = Harvest([])
    board = Board(progress_console(), len(jobs), lambda: [job for job in jobs if not job.done], lambda job: job.target)
    async with client.jobs.as_completed(jobs) as outcomes:
        await _gather(harvest, board, outcomes)
    harvest.left = {job.target: job for job in jobs if not job.done}
    return harvest


async def _gather(harvest: Harvest[R], board: Board, outcomes: AsyncIterator[cmsapi.Outcome[str, R]]) -> None:
    try:
        async with board.live():
            async for outcome in outcomes:
                if isinstance(outcome.error, cmsapi.OutOfCreditsError):
                    harvest.stopped = outcome.error
                else:
                    harvest.outcomes.append(outcome)
                    board.ended(outcome.error)
    except asyncio.CancelledError:
        harvest.interrupted = True
        # What is left to do is quick: to say how to go on.
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        _say("Interrupted.")


def _span(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
