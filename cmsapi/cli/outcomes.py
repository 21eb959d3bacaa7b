"""Show the outcomes of jobs as they arrive: rows on standard output, and a progress bar on a terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from attrs import evolve, frozen
from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TextColumn

from cmsapi import Failed, GenerationReview, JobFailedError, JobKind, LaunchUnknownError, Outcome, OutOfCreditsError
from cmsapi.cli.connect import Options
from cmsapi.cli.output import Writer, attribute, columns, text_of
from cmsapi.jobs.fan_out import FanOut


@frozen
class Work:
    """How to launch one kind of job and show its outcomes."""

    item: str  # column for the item, in the output and in input files
    columns: Mapping[str, str]  # for a result: names and attribute paths
    method: str = ""  # the client's method that launches a job


_ARTICLE = columns("decision words=content.words_count score=content.content_score")
WORK = {
    JobKind.ANALYSIS: Work("id", columns("keyword volume=search_volume"), "keywords.analyze"),
    JobKind.PROMPT: Work("id", columns("prompt"), "prompts.analyze"),
    JobKind.SEARCH: Work("keyword", columns("idea=keyword volume=search_volume idea_id=id"), "content_ideas.search"),
    JobKind.GENERATION: Work("id", _ARTICLE, "contents.generate"),
}
ANY = Work("job", columns("kind"))


class Stopped(Exception):  # noqa: N818  it is not an error
    """Raised when a signal or a closed pipe has stopped the work."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.exit_code: int = 128 + number  # as in a shell


@contextmanager
def _stoppable(outcomes: FanOut[Any, Any]) -> Iterator[None]:
    """Raise `Stopped` if a signal arrives or the output is closed. A second signal ends the program at once."""
    loop, received, closing = asyncio.get_running_loop(), list[int](), list[asyncio.Task[None]]()

    def stop(number: int, frame: object) -> None:
        received.append(number)
        for each in previous:
            signal.signal(each, signal.SIG_DFL)
        loop.call_soon_threadsafe(lambda: closing.append(loop.create_task(outcomes.aclose())))

    there = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [number for number in there if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    previous = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    except BrokenPipeError:
        raise Stopped(getattr(signal, "SIGPIPE", signal.SIGTERM)) from None
    finally:
        if not received:
            for number, handler in previous.items():
                signal.signal(number, handler)
    if received:
        raise Stopped(received[0])


async def show(outcomes: FanOut[Any, Any], work: Work, options: Options) -> list[Outcome[Any, Any]]:
    """Write outcomes as they arrive, and return them. Items that were not launched for lack of credits get no row.

    Raises:
        Stopped: A signal arrived, or the output was closed. Launches sent before that are kept in the state.
    """
    shown: list[Outcome[Any, Any]] = []
    told: set[str] = set()
    writer = Writer(options, columns(" ".join([work.item, "status", *work.columns, "error"])), live=True)
    async with outcomes, progress_bar(outcomes):
        with _stoppable(outcomes):
            async for outcome in outcomes:
                shown.append(outcome)
                if status_of(outcome) != "unlaunched":
                    _write(writer, work, outcome, told)
    return shown


def _write(writer: Writer, work: Work, outcome: Outcome[Any, Any], told: set[str]) -> None:
    """Write the rows for an outcome; on a terminal, "see above" replaces an error that was already shown."""
    item = getattr(outcome.item, "name", outcome.item)
    status, error = status_of(outcome), text_of(outcome.error) if outcome.error else None
    error = error and (error.partition(f" of {item}: ")[2] or error)  # the row names the item
    document = {work.item: item, "status": status, "result": None, "error": error}
    document["token"] = outcome.job.token if outcome.job else None
    for part in getattr(outcome.value, "ideas", [outcome.value]) or [None]:  # each idea has a row
        document["result"] = part
        if isinstance(part, GenerationReview):
            document["result"] = {"decision": part.decision, "generation": part.generation, "content": part.content}
        cells = [attribute(outcome.item if work is ANY else part, path) for path in work.columns.values()]
        known = getattr(outcome.error, "code", None) or error
        writer.write(document, [item, status, *cells, "see above" if sys.stdout.isatty() and known in told else error])
        told.add(str(known))


def status_of(outcome: Outcome[Any, Any]) -> str:
    """Return the status of an item as one word, such as ``succeeded``, ``review`` or ``unlaunched``."""
    if isinstance(outcome, Failed):
        words = {OutOfCreditsError: "unlaunched", LaunchUnknownError: "unknown", JobFailedError: "failed"}
        return words.get(type(outcome.error), "running" if outcome.job else "refused")
    undecided = isinstance(outcome.value, GenerationReview) and outcome.value.decision is None
    return "review" if undecided else "succeeded"


@asynccontextmanager
async def progress_bar(outcomes: FanOut[Any, Any]) -> AsyncIterator[None]:
    """Show a progress bar in the ``async with`` block, if stderr is a terminal and stdout is not a pipe."""
    console = Console(stderr=True)
    if not console.is_interactive or stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):  # its reader may print, too
        yield
        return
    shown, above = (BarColumn(), TextColumn("{task.description}")), sys.stdout.isatty()
    with Bar(*shown, console=console, auto_refresh=False, transient=True, redirect_stdout=above) as bar:
        task = bar.add_task("", total=None)

        async def tick() -> None:
            while True:
                progress = outcomes.progress
                if progress.total is None or 2 * progress.done < progress.total:  # the estimate is still far too long
                    progress = evolve(progress, seconds_left=None)
                bar.update(task, total=progress.total, completed=progress.done, description=str(progress))
                bar.refresh()
                await asyncio.sleep(1 / bar.live.refresh_per_second)

        ticker = asyncio.create_task(tick())
        try:
            yield
        finally:
            ticker.cancel()
