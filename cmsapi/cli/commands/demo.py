"""`cmsapi demo`: a complete run against a sandbox on this machine, over real sockets and in real time.

The demonstration verifies the key, imports pages with keywords, fans out analyses and idea searches, generates, reviews
and confirms one article, and deletes the pages again. Then it compares its results with the ledger of the sandbox,
prints a table, and says what a naive loop would have sent for the same jobs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import attrs
from rich.console import Console
from rich.table import Table

import cmsapi
from cmsapi.cli.fanouts.naive import INTERVAL, Traffic, run_naively
from cmsapi.cli.terminal.progress import ItemCount, LiveProgress, PipeConsole, stderr_console
from cmsapi.sandbox import Entry, Limits, Lognormal, Sandbox

R = TypeVar("R")

PAGES = 4
KEYWORDS_A_PAGE = 10
SEARCHES = ("trail running", "running shoes", "marathon training", "running watch", "barefoot running")
LIMIT_SECONDS = 60.0
PER_HOUR = 1000

# Much shorter than at a real service, so that the demonstration takes half a minute.
DURATIONS = {
    "keyword_analysis": Lognormal(6.0, 0.4),
    "idea_search": Lognormal(6.0, 0.4),
    "generation": Lognormal(6.0, 0.3),
}

# Requests that read the result of a job after its last poll.
RESULTS = {"keyword_analysis": 0, "idea_search": 1}

NEXT_STEPS = """\
To try next, start a sandbox in another terminal and copy its export line here:
  cmsapi sandbox
Then analyse the keywords of its workspace:
  cmsapi workspaces
  cmsapi keywords WORKSPACE_ID --unanalysed --csv > ids.csv
  cmsapi analyze @ids.csv --dry-run
  cmsapi analyze @ids.csv --batch first
Stop the last one with Ctrl-C and run it again: it pays only for the rest."""


@attrs.define
class Report:
    """Collect the results of the demonstration.

    Args:
        analyses: The analysed keywords.
        searches: The searches that succeeded, with their ideas.
        score: The content score of the article before and after.
        credits: The balances before and after.
        sent: The requests that the sandbox has seen for these analyses and searches.
        problems: Results that differ from the expected ones.
    """

    analyses: list[cmsapi.Keyword]
    searches: list[cmsapi.ContentIdeas]
    score: tuple[int | None, int | None]
    credits: tuple[cmsapi.Credits, cmsapi.Credits]
    sent: Sequence[Entry]
    problems: list[str]


async def demo() -> int:
    """Run a demonstration on a sandbox on this machine: no account, no network, about half a minute.

    The exit code is 1 if a result differs from the expected one.
    """
    console = stderr_console()
    began = time.monotonic()
    async with (
        Sandbox(durations=DURATIONS, limits=Limits(per_hour=PER_HOUR)) as sandbox,
        cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url) as client,
    ):
        console.print(f"A sandbox of the service listens at {sandbox.base_url}; nothing leaves this machine.")
        live = LiveProgress(console)
        async with live.running():
            report = await _run_everything(client, sandbox, console, live)
        _check(report, sandbox, client.statistics, time.monotonic() - began)
        screen = PipeConsole()
        screen.print(_table(report, sandbox, client.statistics, time.monotonic() - began))
        screen.print("", _contrast(report, sandbox), sep="\n")
        screen.print(f"\n{NEXT_STEPS}", markup=False, highlight=False)
    for problem in report.problems:
        console.print(f"[bold red]unexpected:[/] {problem}")
    return 1 if report.problems else 0


async def _run_everything(client: cmsapi.Client, sandbox: Sandbox, console: Console, live: LiveProgress) -> Report:
    problems: list[str] = []

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=not console.is_terminal)

    async def run(title: str, launch: Callable[[str], Awaitable[cmsapi.Job[R]]], items: Sequence[str]) -> list[R]:
        results: list[R] = []
        async with client.jobs.map(launch, items, in_flight=len(items)) as outcomes:
            live.add(title, outcomes)
            async for outcome in outcomes:
                if outcome.error is None:
                    results.append(outcome.value)
                else:
                    problems.append(f"{title}, {outcome.item}: {outcome.error}")
        return results

    async def search(keyword: str) -> cmsapi.Job[cmsapi.ContentIdeas]:
        return await client.content_ideas.search(workspace.id, keyword)

    before = (await client.me()).organization.credits
    workspace = (await client.workspaces.list())[0]
    count = PAGES * (1 + KEYWORDS_A_PAGE)
    say(f"Importing {PAGES} pages with {KEYWORDS_A_PAGE} keywords each: {count} requests, at most 20 a second.")
    live.add("pages and keywords", made := ItemCount(count))
    pages: list[str] = []
    keywords: list[str] = []
    for number in range(PAGES):
        pages.append((await client.pages.create(workspace.id, f"https://shop.example/demo/{number}")).id)
        made.done += 1
        for position in range(KEYWORDS_A_PAGE):
            keywords.append((await client.keywords.create(pages[-1], f"demo keyword {number}.{position}")).id)
            made.done += 1
    say(
        f"Launching {len(keywords)} analyses and {len(SEARCHES)} idea searches. The service takes about 6 s for each, "
        "and shows an end only to a client that asks: the SDK polls each job when it may have ended."
    )
    begin = len(sandbox.ledger)
    async with asyncio.TaskGroup() as group:
        analyses = group.create_task(run("keyword analyses", client.keywords.analyze, keywords))
        searches = group.create_task(run("idea searches", search, SEARCHES))
    sent = list(sandbox.ledger)[begin:]
    say("Generating an article, which waits for a decision, and applying it to its draft.")
    score = await _write_article(client, workspace.id, pages[0], live, problems)
    say("Deleting the pages again.")
    live.add("pages deleted again", removed := ItemCount(len(pages)))
    for page in pages:
        await client.pages.delete(page)
        removed.done += 1
    after = (await client.me()).organization.credits
    return Report(analyses.result(), searches.result(), score, (before, after), sent, problems)


async def _write_article(
    client: cmsapi.Client, workspace_id: str, page_id: str, live: LiveProgress, problems: list[str]
) -> tuple[int | None, int | None]:
    """Generate and apply an article; return the score of its draft before and after."""
    draft = await client.contents.create(workspace_id, "What to know before a first trail run", page_id=page_id)
    settings = cmsapi.GenerationSettings(fact_checking_enabled=True)

    async def generate(content_id: str) -> cmsapi.Job[cmsapi.GenerationReview]:
        return await client.contents.generate(content_id, settings)

    async with client.jobs.map(generate, [draft.id]) as written:
        live.add("article", written)
        review = (await anext(written)).result()
    article = await review.confirm()
    if not article.html_sanitized or (article.version or 0) <= (draft.version or 0):
        problems.append("the confirmed article is not in the draft")
    return draft.content_score, article.content_score


def _check(report: Report, sandbox: Sandbox, statistics: cmsapi.Statistics, seconds: float) -> None:
    problems, ledger = report.problems, sandbox.ledger
    launches = len(ledger.launches())
    before, after = map(_balance, report.credits)
    if refused := ledger.count(status=429):
        problems.append(f"{refused} requests were answered with 429")
    analyses, searches = len(report.analyses), len(report.searches)
    if (analyses, searches) != (PAGES * KEYWORDS_A_PAGE, len(SEARCHES)):
        problems.append(f"{analyses} analyses and {searches} searches succeeded")
    if launches != PAGES * KEYWORDS_A_PAGE + len(SEARCHES) + 1:
        problems.append(f"the service saw {launches} launches")
    if before - after != launches:
        problems.append(f"{before - after} credits were spent on {launches} launches")
    if statistics.requests != len(ledger):
        problems.append(f"the client counted {statistics.requests} requests, the service {len(ledger)}")
    if seconds > LIMIT_SECONDS:
        problems.append(f"it took {seconds:.0f} s")


def _balance(left: cmsapi.Credits) -> int:
    return left.analysis + left.ai_writing + left.content_ideas_searches


def _table(report: Report, sandbox: Sandbox, statistics: cmsapi.Statistics, seconds: float) -> Table:
    analyses, searches = len(report.analyses), len(report.searches)
    jobs = analyses + searches + 1
    before, after = report.credits
    table = Table("what", "seen", title="cmsapi demo", title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("jobs", f"{jobs} ({analyses} analyses, {searches} searches, 1 article)")
    launches = len(sandbox.ledger.launches())
    table.add_row("requests per job", f"{(launches + statistics.polls + searches) / jobs:.1f}")
    table.add_row("requests in all", f"{statistics.requests} of {PER_HOUR} an hour")
    table.add_row("429 answers", str(sandbox.ledger.count(status=429)))
    table.add_row("credits: analysis", f"{before.analysis} → {after.analysis}")
    table.add_row("credits: AI writing", f"{before.ai_writing} → {after.ai_writing}")
    table.add_row("credits: idea searches", f"{before.content_ideas_searches} → {after.content_ideas_searches}")
    table.add_row("ideas found", str(sum(map(len, report.searches))))
    table.add_row("content score", f"{report.score[0]} → {report.score[1]}")
    table.add_row("time", f"{seconds:.1f} s")
    return table


def _contrast(report: Report, sandbox: Sandbox) -> Table:
    """Compare the requests for the analyses and searches with those of a naive loop for the same jobs."""
    jobs = [job for job in sandbox.jobs if job.kind in RESULTS]
    naive = run_naively([(job.duration, RESULTS[job.kind]) for job in jobs], Limits(per_hour=PER_HOUR))
    refused = sum(entry.status == 429 for entry in report.sent)
    ours = Traffic(len(report.sent), refused, report.sent[-1].at - report.sent[0].at)
    table = Table(
        f"the same {len(jobs)} jobs",
        "requests",
        "429 answers",
        "last result",
        title="the analyses and searches, and what a naive loop would have sent",
        title_justify="left",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for name, run in (("cmsapi", ours), (f"all at once, a poll every {INTERVAL:.0f} s", naive)):
        table.add_row(name, f"{run.requests}", f"{run.refused}", f"after {run.seconds:.0f} s")
    return table
