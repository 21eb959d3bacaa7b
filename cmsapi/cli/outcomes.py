"""Outcomes of jobs as they come: rows on standard output, and on a terminal a bar below them."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from attrs import frozen
from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TaskID, TextColumn

from cmsapi import Failed, GenerationReview, JobFailedError, JobKind, LaunchUnknownError, Outcome
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


_ANALYZED = columns("keyword volume=search_volume analyzed=last_analyzed_at")
_IDEAS = columns("idea=keyword volume=search_volume idea_id=id")
_ARTICLE = columns("decision words=content.words_count score=content.content_score")
WORK = {
    JobKind.ANALYSIS: Work("keyword analyses", "id", _ANALYZED),
    JobKind.PROMPT: Work("prompt analyses", "id", columns("prompt analyzed=last_analyzed_at")),
    JobKind.SEARCH: Work("idea searches", "keyword", _IDEAS, lambda value: value.ideas or [None]),
    JobKind.GENERATION: Work("articles", "id", _ARTICLE),
}
ANY = Work("jobs", "job", columns("kind"), lambda value: [value])


class Stop:
    """Context in which a signal, or a closed pipe, stops the work instead of ending the program.

    The next signal ends the program at once; what is being sent then is settled by the next run.
    """

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
    """Write the outcomes as they come, and return them."""
    shown: list[Outcome[Any, Any]] = []
    names = columns(" ".join([work.item, "status", *work.columns, "error"]))
    writer = Writer(options, names, live=True)
    async with progress_bar(outcomes):
        async for outcome in outcomes:
            shown.append(outcome)
            _write(writer, work, outcome)
    return shown


def _write(writer: Writer, work: Work, outcome: Outcome[Any, Any]) -> None:
    item = getattr(outcome.item, "name", outcome.item)
    status, error = status_of(outcome), text_of(outcome.error) if outcome.error else None
    document = {work.item: item, "status": status, "result": None, "error": error}
    document["token"] = outcome.job.token if outcome.job else None
    for part in [None] if outcome.value is None else work.parts(outcome.value):
        document["result"] = part
        if isinstance(part, GenerationReview):
            document["result"] = {"decision": part.decision, "generation": part.generation, "content": part.content}
        cells = [attribute(outcome.item if work is ANY else part, path) for path in work.columns.values()]
        writer.write(document, [item, status, *cells, error])


def status_of(outcome: Outcome[Any, Any]) -> str:
    """Return how an item ended, in a word."""
    if not isinstance(outcome, Failed):
        undecided = isinstance(outcome.value, GenerationReview) and outcome.value.decision is None
        return "review" if undecided else "succeeded"
    if isinstance(outcome.error, LaunchUnknownError | JobFailedError):
        return "unknown" if isinstance(outcome.error, LaunchUnknownError) else "failed"
    return "running" if outcome.job else "refused"


@asynccontextmanager
async def progress_bar(outcomes: FanOut[Any, Any]) -> AsyncIterator[None]:
    """Show how far a fan-out is, while the context is open, if standard error is a terminal."""
    console = Console(stderr=True)
    if not console.is_interactive:
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
        bar.update(task, total=progress.total, completed=progress.done, description=str(progress))
        bar.refresh()
        await asyncio.sleep(1 / bar.live.refresh_per_second)
