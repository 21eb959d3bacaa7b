"""``analyze``, ``ideas`` and ``generate``: a plan, then a batch, which the next run can go on with."""

from __future__ import annotations

import re
import secrets
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attrs import frozen
from cyclopts import App, Parameter
from rich.console import Console
from rich.prompt import Prompt

from cmsapi import Batch, Client, CMSError, GenerationReview, GenerationSettings, Job, JobKind, JobStatus, Outcome
from cmsapi.cli.connect import DEFAULTS, Options, connect, note, state_of
from cmsapi.cli.inputs import read_items
from cmsapi.cli.outcomes import WORK, Stop, show, status_of
from cmsapi.config import MARGIN, Timeouts
from cmsapi.errors import ConfigError

app: App = App()
Begin: TypeAlias = Callable[[Client], Callable[..., Awaitable[Job[Any]]]]
Decision: TypeAlias = Literal["confirm", "cancel", "ask"]


@Parameter(name="*")
@frozen
class Launch:
    """Options of commands that launch."""

    batch: str | None = None
    """Name of this piece of work. A run with the name of an earlier one goes on with it, and pays only for the rest."""
    retry: Literal["failed", "unknown"] | None = None
    """Launch items again: those that failed; or those that may have been launched already, which may pay twice."""
    max_credits: int | None = None
    """Launch until this run has spent this number of credits; the other items stay unlaunched, for the next run."""
    dry_run: bool = False
    """Print the plan, and launch nothing."""


_RUN = Launch()


@app.command
async def analyze(*items: str, prompts: bool = False, launch: Launch = _RUN, options: Options = DEFAULTS) -> int:
    """Analyze keywords or prompts; an analysis credit each.

    Args:
        items: Their ids: arguments, @file (text, CSV or JSON with ids), or - for stdin.
        prompts: The ids are those of prompts.
    """
    kind, analyzed = (JobKind.PROMPT, "prompts") if prompts else (JobKind.ANALYSIS, "keywords")
    return await _run(kind, read_items(items), lambda client: getattr(client, analyzed).analyze, launch, options)


@app.command
async def ideas(workspace: str, *keywords: str, launch: Launch = _RUN, options: Options = DEFAULTS) -> int:
    """Search for content ideas; a content_idea_search credit for each keyword.

    Args:
        workspace: Id of the workspace.
        keywords: Keywords or topics: arguments, @file (text, CSV or JSON with keywords), or - for stdin.
    """
    items = read_items(keywords, "keyword")
    begin: Begin = lambda client: partial(client.content_ideas.search, workspace)  # noqa: E731  typed
    return await _run(JobKind.SEARCH, items, begin, launch, options)


@app.command
async def generate(
    *contents: str,
    confirm: bool = False,
    discard: bool = False,
    review: bool = False,
    brand_voice: str | None = None,
    instructions: str | None = None,
    fact_checking: bool = False,
    knowledge: list[Literal["base", "files", "web-search", "website"]] | None = None,
    launch: Launch = _RUN,
    options: Options = DEFAULTS,
) -> int:
    """Generate articles for drafts whose keyword is analyzed; ai_writing credits each.

    On a terminal you are asked about each article once all are there; elsewhere give one of the first three options.

    Args:
        contents: Ids of the drafts: arguments, @file (text, CSV or JSON with ids), or - for stdin.
        confirm: Apply each article to its draft.
        discard: Discard each article, although it was paid for.
        review: Leave each article in review, for jobs reviews.
        brand_voice: Id of the brand voice.
        instructions: Further instructions.
        fact_checking: Check facts.
        knowledge: Knowledge to use; may be repeated.
    """
    asks = not (confirm or discard or review)
    if confirm + discard + review > 1 or (asks and not can_ask() and not launch.dry_run):
        raise ConfigError("give one of --confirm, --discard, --review; none only on a terminal, where you are asked")
    used: dict[str, Any] = {f"knowledge_{name.replace('-', '_')}_enabled": True for name in knowledge or ()}
    used["fact_checking_enabled"] = fact_checking or None
    settings = GenerationSettings(brand_voice_id=brand_voice, custom_instructions=instructions, **used)
    decision: Decision | None = "ask" if asks else "confirm" if confirm else "cancel" if discard else None
    items = read_items(contents)
    begin: Begin = lambda client: partial(client.contents.generate, settings=settings)  # noqa: E731  typed
    return await _run(JobKind.GENERATION, items, begin, launch, options, decision)


async def _run(
    kind: JobKind,
    items: Sequence[str],
    begin: Begin,
    launch: Launch,
    options: Options,
    decision: Decision | None = None,
) -> int:
    try:
        state = state_of(options, create=not launch.dry_run)
    except ConfigError:  # a dry run makes no file
        state = "memory:"
    name = launch.batch or f"{kind}-{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(3)}"
    async with connect(options, state) as client:
        batch = client.jobs.batch(name)
        earlier, unsettled = await _count_known(batch, items, launch.retry)
        enough = await _show_plan(client, kind, len(items) - earlier, earlier, launch.max_credits)
        if launch.dry_run:
            return 0 if enough else 1
        note(f"  batch     {name} in {re.sub('(?<=//)[^/@]*@', '', state).removeprefix('sqlite:///')}")  # no password
        if unsettled:
            note(f"  settling  launches of an earlier run: {unsettled}; up to {Timeouts().request + MARGIN:.0f} s")
        await {"failed": batch.retry_failed, "unknown": batch.retry_unknown}.get(str(launch.retry), batch.status)()
        on_review = None if decision == "ask" else decision
        outcomes = batch.map(begin(client), items, max_credits=launch.max_credits, on_review=on_review)
        shown: list[Outcome[Any, Any]] = []
        with Stop() as stop:
            shown += await show(outcomes, WORK[kind], options)
        done = stop.signal is None and all(each.ok for each in shown)
        again = "" if done else _again(name, items)
        if stop.signal is not None:
            await outcomes.aclose()
            status = await batch.status()
            if status.succeeded < len(items):
                parts = f"{status.succeeded} succeeded, {status.running} run on at the service and are paid"
                note(f"stopped: {parts}, {len(items) - status.total} were not launched; go on with\n  {again}")
            return 128 + stop.signal
        counts, progress = Counter(map(status_of, shown)), outcomes.progress
        words = ", ".join(f"{number} {word}" for word, number in counts.items())
        cost = f"{progress.credits - earlier} now, {progress.credits} in all" if earlier else progress.credits
        note(f"{words}; credits: {cost}; requests: {progress.requests}")
        reason = next((str(each.error).rpartition(": ")[2] for each in shown if status_of(each) == "unlaunched"), "")
        in_review = [each.value for each in shown if isinstance(each.value, GenerationReview)]
        if decision == "ask" and await ask_about(client, in_review):
            del counts["review"]
        advice = {
            "review": "decide with\n  cmsapi jobs reviews",
            "unknown": f"look where the errors say; launch again, which may pay twice, with\n  {again} --retry unknown",
            "failed": f"launch again, for another credit each, with\n  {again} --retry failed",
            "running": f"wait again with\n  {again}",
            "refused": f"nothing was paid; try again with\n  {again}",
            "unlaunched": f"{reason.replace('max_credits=', '--max-credits ')}; go on with\n  {again}",
        }
        for word, text in advice.items():
            if counts[word]:
                note(f"{word}: {text}")
        if not launch.batch and all(status_of(each) == "succeeded" for each in shown):
            await batch.forget()  # its name was made up, so it is not asked for again
        return 0 if done else 1


async def _count_known(batch: Batch, items: Sequence[str], retry: str | None) -> tuple[int, int]:
    """Return how many items the next run does not launch, and for how many it finds out whether they were launched."""
    async with batch:  # whose names are private: nothing public names items that have succeeded
        known, unsettled = (set(batch._named(*each)) for each in (JobStatus, [JobStatus.SENDING]))  # noqa: SLF001  ours
    known.difference_update({"failed": batch.failed, "unknown": batch.unknown}.get(str(retry), []))
    return len(known.intersection(items)), len(unsettled.intersection(items))


async def _show_plan(client: Client, kind: JobKind, new: int, earlier: int, most: int | None) -> bool:
    """Print what the launches would cost, and return True if the balance suffices."""
    note(f"plan: {WORK[kind].nouns} to launch: {new:,}" + (f", {earlier:,} launched before" if earlier else ""))
    if most is not None and most < new:
        note(f"  bound     {most:,} of {new:,} will be launched: --max-credits")
        new = most
    if new < 1:
        return True
    plan = await client.jobs.plan(kind, new)
    left = "?" if plan.credits_left is None else f"{plan.credits_left:,}"
    missing = 0 if plan.credits_left is None else plan.credits - plan.credits_left
    note(f"  credits   {plan.credits:,} of {left}" + (f": {missing:,} will stay unlaunched" if missing > 0 else ""))
    later = "; the rest waits for the next hours" if plan.requests > plan.requests_left else ""
    note(f"  requests  about {plan.requests:,} of {plan.requests_left:,} left in this hour{later}")
    if plan.seconds is not None:
        note(f"  time      about {plan.seconds:,.0f} s")
    return missing <= 0


def _again(name: str, items: Sequence[str]) -> str:
    """Return the command that goes on with a batch; items that came from standard input are kept in a file."""
    words = [f"@{name}.txt" if word == "-" else word for word in sys.argv[1:]]
    if words != sys.argv[1:]:
        Path(f"{name}.txt").write_text("".join(f"{item}\n" for item in items), encoding="utf-8")
    named = [] if any(each.startswith("--batch") for each in words) else ["--batch", name]
    return re.sub(r" --retry[ =]\w+", "", shlex.join(["cmsapi", *words, *named]))


def can_ask() -> bool:
    """Return True if there is a person at a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_about(client: Client, reviews: Sequence[GenerationReview]) -> bool:
    """Ask for a decision on each article, and carry it out; return False if one is left in review."""
    console, choices = Console(stderr=True), ["confirm", "discard", "leave"]
    left = [review for review in reviews if review.decision is None]
    for review in tuple(left):
        content = await client.contents.get(review.content_id)
        note(f"\n{content.title} ({content.id}): {content.words_count or 0:,} words now")
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)  # else only the second Ctrl-C is heard
        try:
            answer = Prompt.ask("Apply the article?", choices=choices, default="leave", console=console)
        except (KeyboardInterrupt, EOFError):
            break
        finally:
            signal.signal(signal.SIGINT, previous)
        if answer != "leave" and await decide(review, answer):
            left.remove(review)
    return not left


async def decide(review: GenerationReview, answer: str) -> bool:
    """Carry out a decision on an article, and say what came of it; return False if it failed."""
    try:
        if answer == "confirm":
            content = await review.confirm()
            note(f"{content.id}: applied, {content.words_count or 0:,} words")
        else:
            await review.cancel()
            note(f"{review.content_id}: discarded")
    except CMSError as error:
        note(f"{review.content_id}: {error}")
        return False
    return True
