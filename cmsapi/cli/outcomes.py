"""Outcomes of jobs as they come: rows on standard output, and on a terminal a bar below them."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from attrs import evolve, frozen
from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TaskID, TextColumn

from cmsapi import Failed, GenerationReview, JobFailedError, JobKind, LaunchUnknownError, Outcome, OutOfCreditsError
from cmsapi.cli.connect import Options, text_of
from cmsapi.cli.output import Writer, attribute, columns
from cmsapi.jobs.fan_out import FanOut


@frozen
class Work:
    """How the jobs of one kind are shown."""

    nouns: str
    item: str  # name of the column with the item, which is what the commands read
    columns: Mapping[str, str]  # of a result
    parts: Callable[[Any], Sequence[Any]] = lambda value: [value]  # of a result, each with a row of its own


_IDEAS = columns("idea=keyword volume=search_volume idea_id=id")
WORK = {
    JobKind.ANALYSIS: Work("keyword analyses", "id", columns("keyword volume=search_volume")),
    JobKind.PROMPT: Work("prompt analyses", "id", columns("prompt")),
    JobKind.SEARCH: Work("idea searches", "keyword", _IDEAS, lambda value: value.ideas or [None]),
    JobKind.GENERATION: Work(
        "articles", "id", columns("decision words=content.words_count score=content.content_score")
    ),
}
ANY = Work("jobs", "job", columns("kind"))


class Stop:
    """Context in which a signal, or a closed pipe, stops the work; the next signal ends the program at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._task: asyncio.Task[Any] | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._task, self._loop = asyncio.current_task(), asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                self._previous[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        self._restore()
        if isinstance(error, BrokenPipeError):
            self.signal = getattr(signal, "SIGPIPE", signal.SIGTERM)
        elif self.signal is not None and self._task is not None:
            self._task.uncancel()
        return self.signal is not None

    def _stop(self, number: int, frame: object) -> None:
        self.signal = number
        self._restore()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        if self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)

    def _restore(self) -> None:
        while self._previous:
            signal.signal(*self._previous.popitem())


async def show(outcomes: FanOut[Any, Any], work: Work, options: Options) -> list[Outcome[Any, Any]]:
    """Write the outcomes as they come, except of items left for want of credits, and return all."""
    shown: list[Outcome[Any, Any]] = []
    told: set[str] = set()
    names = columns(" ".join([work.item, "status", *work.columns, "error"]))
    writer = Writer(options, names, live=True)
    async with progress_bar(outcomes):
        async for outcome in outcomes:
            shown.append(outcome)
            if status_of(outcome) != "unlaunched":
                _write(writer, work, outcome, told)
    return shown


def _write(writer: Writer, work: Work, outcome: Outcome[Any, Any], told: set[str]) -> None:
    item = getattr(outcome.item, "name", outcome.item)
    status, error = status_of(outcome), text_of(outcome.error) if outcome.error else None
    error = error and (error.partition(f" of {item}: ")[2] or error)  # the row names the item
    document = {work.item: item, "status": status, "result": None, "error": error}
    document["token"] = outcome.job.token if outcome.job else None
    for part in [None] if outcome.value is None else work.parts(outcome.value):
        document["result"] = part
        if isinstance(part, GenerationReview):
            document["result"] = {"decision": part.decision, "generation": part.generation, "content": part.content}
        cells = [attribute(outcome.item if work is ANY else part, path) for path in work.columns.values()]
        known = getattr(outcome.error, "code", None) or error
        writer.write(document, [item, status, *cells, "see above" if sys.stdout.isatty() and known in told else error])
        told.add(str(known))


def status_of(outcome: Outcome[Any, Any]) -> str:
    """Return how an item ended, in a word."""
    if isinstance(outcome, Failed):
        words = {OutOfCreditsError: "unlaunched", LaunchUnknownError: "unknown", JobFailedError: "failed"}
        return words.get(type(outcome.error), "running" if outcome.job else "refused")
    undecided = isinstance(outcome.value, GenerationReview) and outcome.value.decision is None
    return "review" if undecided else "succeeded"


@asynccontextmanager
async def progress_bar(outcomes: FanOut[Any, Any]) -> AsyncIterator[None]:
    """Show how far a fan-out is, while the context is open, if standard error is a terminal for it alone."""
    console = Console(stderr=True)
    if not console.is_interactive or stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):  # whose reader writes, too
        yield
        return
    shown, above = (BarColumn(), TextColumn("{task.description}")), sys.stdout.isatty()
    with Bar(*shown, console=console, auto_refresh=False, transient=True, redirect_stdout=above) as bar:
        ticker = asyncio.create_task(_tick(bar, bar.add_task("", total=None), outcomes))
        try:
            yield
        finally:
            ticker.cancel()


async def _tick(bar: Bar, task: TaskID, outcomes: FanOut[Any, Any]) -> None:
    while True:
        progress = outcomes.progress
        early = progress.total is None or progress.done < progress.total - progress.done  # the estimate is far too long
        text = str(evolve(progress, seconds_left=None) if early else progress).replace(" 1 credits", " 1 credit")
        bar.update(task, total=progress.total, completed=progress.done, description=text)
        bar.refresh()
        await asyncio.sleep(1 / bar.live.refresh_per_second)
