"""The commands ``analyze``, ``ideas`` and ``generate``: each shows a plan, then runs a batch that can be continued."""

from __future__ import annotations

import re
import secrets
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attrs import frozen
from cyclopts import App, Parameter
from rich.console import Console
from rich.prompt import Prompt

from cmsapi import Client, CMSError, GenerationSettings, JobKind, JobStatus, Outcome
from cmsapi.cli.connect import DEFAULTS, Options, connect, is_there, state_of
from cmsapi.cli.inputs import read_items
from cmsapi.cli.outcomes import WORK, Stopped, show, status_of
from cmsapi.cli.output import attribute, note, text_of
from cmsapi.config import MARGIN, Timeouts
from cmsapi.errors import ConfigError

app: App = App()
Decision: TypeAlias = Literal["confirm", "cancel", "ask"]


@Parameter(name="*")
@frozen
class Launch:
    """Options for commands that launch jobs."""

    batch: str | None = None
    """Name of this piece of work. Another run with the same name continues it, and pays only for unlaunched items."""
    retry: Literal["failed", "unknown"] | None = None
    """Launch failed items again, for a credit each, or items whose launch is unknown, which may be charged twice."""
    max_credits: int | None = None
    """Maximum number of credits that this run may spend; the other items are left for another run."""
    dry_run: bool = False
    """Print the plan, and launch nothing."""


_RUN = Launch()


@app.command
async def analyze(*items: str, prompts: bool = False, launch: Launch = _RUN, options: Options = DEFAULTS) -> int:
    """Analyze keywords or prompts; one analysis credit for each.

    Args:
        items: Ids of the keywords or prompts: arguments, @file (text, CSV or JSON with ids), or - for stdin.
        prompts: Analyze prompts instead of keywords.
    """
    return await _run(JobKind.PROMPT if prompts else JobKind.ANALYSIS, read_items(items), launch, options)


@app.command
async def ideas(workspace: str, *keywords: str, launch: Launch = _RUN, options: Options = DEFAULTS) -> int:
    """Search for content ideas; one content_idea_search credit for each keyword.

    Args:
        workspace: Id of the workspace.
        keywords: Keywords or topics: arguments, @file (text, CSV or JSON with keywords), or - for stdin.
    """
    return await _run(JobKind.SEARCH, read_items(keywords, "keyword"), launch, options, workspace)


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
    """Generate articles for drafts whose keyword has been analyzed; one ai_writing credit for each.

    Without --confirm, --discard or --review, you are asked about each article at the end, which needs a terminal.

    Args:
        contents: Ids of the drafts: arguments, @file (text, CSV or JSON with ids), or - for stdin.
        confirm: Apply each article to its draft.
        discard: Discard each article; its credit stays spent.
        review: Leave each article in review, for `cmsapi jobs reviews`.
        brand_voice: Id of the brand voice.
        instructions: Further instructions for the articles.
        fact_checking: Have facts checked.
        knowledge: Source of knowledge to use; may be given several times.
    """
    decision: Decision | None = "confirm" if confirm else "cancel" if discard else None if review else "ask"
    if confirm + discard + review > 1 or (decision == "ask" and not can_ask() and not launch.dry_run):
        raise ConfigError("give one of --confirm, --discard, --review; without any, you are asked on a terminal")
    used: dict[str, Any] = {f"knowledge_{name.replace('-', '_')}_enabled": True for name in knowledge or ()}
    used["fact_checking_enabled"] = fact_checking or None
    settings = GenerationSettings(brand_voice_id=brand_voice, custom_instructions=instructions, **used)
    return await _run(JobKind.GENERATION, read_items(contents), launch, options, decision=decision, settings=settings)


async def _run(
    kind: JobKind,
    items: Sequence[str],
    launch: Launch,
    options: Options,
    *before: str,
    decision: Decision | None = None,
    **settings: Any,
) -> int:
    """Show the plan, run the batch and return the exit code. ``before`` and ``settings`` are arguments for the SDK."""
    state = state_of(options)
    if launch.dry_run and not is_there(state):
        state = "memory:"
    name = launch.batch or f"{kind}-{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(3)}"
    async with connect(options, state) as client, client.jobs.batch(name) as batch:
        launched = set(batch._named(*JobStatus))  # noqa: SLF001  no public method lists succeeded items
        launched.difference_update(getattr(batch, launch.retry) if launch.retry else ())
        earlier = len(launched.intersection(items))
        enough = await _show_plan(client, kind, len(items) - earlier, earlier, launch.max_credits)
        if launch.dry_run:
            return 0 if enough else 1
        note(f"  batch     {name} in {re.sub('(?<=//)[^/@]*@', '', state).removeprefix('sqlite:///')}")  # no password
        if unfinished := len(launched.intersection(items, batch.unfinished)):
            seconds = Timeouts().request + MARGIN
            note(f"  earlier   {unfinished} not finished; launches under way are settled within {seconds:.0f} s")
        if launch.retry:
            await (batch.retry_failed() if launch.retry == "failed" else batch.retry_unknown())
        method = partial(attribute(client, WORK[kind].method), *before, **settings)
        on_review = None if decision == "ask" else decision
        outcomes = batch.map(method, items, max_credits=launch.max_credits, on_review=on_review)
        try:
            shown = await show(outcomes, WORK[kind], options)
        except Stopped as stopped:
            status = await batch.status()
            if status.succeeded < len(items):
                parts = f"{status.succeeded} succeeded, {status.running} run on at the service and are paid for"
                again = _command_to_go_on(name, items)
                note(f"stopped: {parts}, {len(items) - status.total} were not launched; continue with\n  {again}")
            return stopped.exit_code
        counts, progress = Counter(map(status_of, shown)), outcomes.progress
        words = ", ".join(f"{number} {word}" for word, number in counts.items())
        cost = f"{progress.credits - earlier} now, {progress.credits} in all" if earlier else progress.credits
        note(f"{words}; credits: {cost}; requests: {progress.requests}")
        if decision == "ask" and await decide(client, [each.value for each in shown if status_of(each) == "review"]):
            del counts["review"]
        _advise(counts, name, items, shown)
        if not launch.batch and set(counts) <= {"succeeded"}:
            await batch.forget()  # its generated name will not be used again
        return 0 if all(each.ok for each in shown) else 1


def _advise(counts: Counter[str], name: str, items: Sequence[str], shown: Sequence[Outcome[Any, Any]]) -> None:
    """Print what to do about items that have not succeeded."""
    again = "" if set(counts) <= {"succeeded", "review"} else _command_to_go_on(name, items)
    bound = next((str(each.error).rpartition(": ")[2] for each in shown if status_of(each) == "unlaunched"), "")
    advice = {
        "review": "decide with\n  cmsapi jobs reviews",
        "unknown": f"check where the errors say; launch again (may be charged twice) with\n  {again} --retry unknown",
        "failed": f"launch again, for another credit each, with\n  {again} --retry failed",
        "running": f"wait again with\n  {again}",
        "refused": f"nothing was charged; try again with\n  {again}",
        "unlaunched": f"{bound.replace('max_credits=', '--max-credits ')}; continue with\n  {again}",
    }
    for word, text in advice.items():
        if counts[word]:
            note(f"{word}: {text}")


async def _show_plan(client: Client, kind: JobKind, new: int, earlier: int, most: int | None) -> bool:
    """Print what launching ``new`` items would cost; return False if the balance is known to be too low."""
    note(f"plan: {new:,} to launch" + (f", {earlier:,} launched before" if earlier else ""))
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


def _command_to_go_on(name: str, items: Sequence[str]) -> str:
    """Return the command that continues a batch. Items that came from standard input are saved to a file first."""
    words = [f"@{name}.txt" if word == "-" else word for word in sys.argv[1:]]
    if words != sys.argv[1:]:
        Path(f"{name}.txt").write_text("".join(f"{item}\n" for item in items), encoding="utf-8")
    named = [] if any(each.startswith("--batch") for each in words) else ["--batch", name]
    return re.sub(r" --retry[ =]\w+", "", shlex.join(["cmsapi", *words, *named]))


def can_ask() -> bool:
    """Return True if a person at a terminal can answer questions."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def decide(client: Client, reviews: Sequence[Any], answer: str | None = None) -> bool:
    """Confirm or discard articles; if ``answer`` is None, ask about each. Return True if all have a decision."""
    for review in reviews:
        choice = answer or await _ask(client, review.content_id)
        if choice is None:
            break
        try:
            if choice == "confirm":
                content = await review.confirm()
                note(f"{content.id}: applied, {content.words_count or 0:,} words")
            elif choice == "discard":
                await review.cancel()
                note(f"{review.content_id}: discarded")
        except CMSError as error:
            note(f"{review.content_id}: {text_of(error)}")
    return all(review.decision for review in reviews)


async def _ask(client: Client, content_id: str) -> str | None:
    """Show a content item and return the user's answer; None after Ctrl-C or at the end of the input."""
    content = await client.contents.get(content_id)
    note(f"\n{content.title} ({content.id}): {content.words_count or 0:,} words now")
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)  # else the first Ctrl-C has no effect
    try:
        choices, console = ["confirm", "discard", "leave"], Console(stderr=True)
        return Prompt.ask("Apply the article?", choices=choices, default="leave", console=console)
    except (KeyboardInterrupt, EOFError):
        return None
    finally:
        signal.signal(signal.SIGINT, previous)
