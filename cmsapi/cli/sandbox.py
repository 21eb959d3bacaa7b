"""``sandbox`` and ``demo``: the service on this machine, to try things."""

from __future__ import annotations

import asyncio
import secrets

from cyclopts import App
from rich.console import Console
from rich.table import Table

from cmsapi import Client, ConfigError, PollPolicy, RateLimits, Timeouts
from cmsapi.cli.connect import note
from cmsapi.cli.outcomes import progress_bar
from cmsapi.sandbox import Fault, Faults, Limits, Lognormal, Sandbox

app: App = App()
_NEXT = """
Next, the same with a service that stays. In a second terminal:
  cmsapi sandbox --keywords 300 --seconds 20
Copy its two export lines into this one, and then:
  cmsapi workspaces
  cmsapi pages WORKSPACE | cmsapi keywords - --new > keywords.txt
  cmsapi analyze @keywords.txt --batch first
Stop the last one with Ctrl-C and run it again: it goes on and pays nothing twice."""


@app.command(name="sandbox")
async def serve(
    *,
    port: int = 8000,
    seed: int | None = None,
    keywords: int = 20,
    contents: int = 5,
    seconds: float | None = None,
    latency: float = 0.0,
    per_second: int = 20,
    per_hour: int = 1000,
) -> None:
    """Serve the whole service on this machine until Ctrl-C, and print the settings to use it.

    Args:
        port: Port; 0 takes a free one.
        seed: Seed of identifiers, key and durations; without it each start is another service.
        keywords: Number of keywords that were never analyzed; each content has a page with an analyzed one.
        contents: Number of contents.
        seconds: Duration of every job; without it durations are drawn.
        latency: Seconds from a request to its answer.
        per_second: Requests of a key in any second.
        per_hour: Requests of a key in any hour.
    """
    limits, faults = Limits(per_second, per_hour), Faults(latency=latency)
    seed = secrets.randbits(32) if seed is None else seed
    box = Sandbox(seed=seed, keywords=keywords, contents=contents, limits=limits, durations=seconds, faults=faults)
    try:
        async with box.serve(port) as base_url:
            print(f"export CMSAPI_BASE_URL={base_url}\nexport CMSAPI_API_KEY={box.api_key}", flush=True)
            note(f"# workspace {box.workspace_id}, key of a member {box.member_key}; Ctrl-C ends the service")
            await asyncio.Event().wait()
    except OSError as error:
        raise ConfigError(f"{error.strerror}: give another --port, or 0 for a free one") from None
    except asyncio.CancelledError:  # Ctrl-C
        return


@app.command
async def demo(*, keywords: int = 200, seconds: float = 6.0) -> int:
    """Show a fan-out, a lost answer and an article, in 20 seconds; no account, no network, nothing is kept.

    Args:
        keywords: Number of keywords to analyze.
        seconds: Duration of a job, about.
    """
    lost = Fault(match="analyze_keyword", after=keywords // 3, times=1, drop="after")
    box = Sandbox(keywords=keywords, durations=Lognormal(seconds, 1 / seconds), faults=lost)
    balances, limits = dict(box.credits), RateLimits()
    print(f"A service inside this program: a job takes about {seconds:g} s, {limits.per_second} requests a second are")
    print(f"allowed, one answer gets lost. {keywords} keywords to analyze, an article to write.\n", flush=True)
    clock, timeouts = asyncio.get_running_loop().time, Timeouts(request=seconds)
    began, options = clock(), {"base_url": box.base_url, "state": "memory:"}
    async with Client(box.api_key, **options, transport=box.transport, timeouts=timeouts) as client:  # type: ignore[arg-type]  # dict
        generation = await client.contents.generate(box.content_ids[0])
        outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids)
        async with progress_bar(outcomes):
            done = sum(outcome.ok for outcome in await outcomes)
        took = clock() - began
        draft = await client.contents.get(box.content_ids[0])
        article = await (await generation.review()).confirm()
    interval, ledger = PollPolicy().min_interval, box.ledger
    names = {"analysis": "analysis", "aiWriting": "ai_writing"}  # in the sandbox, and in all commands
    spent = [f"{balances[key] - box.credits[key]} {name}" for key, name in names.items()]
    twice = sum(launch.number > 1 for launch in ledger.launches)
    table = Table.grid(padding=(0, 2))
    table.add_row("analyzed", f"{done} of {keywords} in {took:.0f} s")
    sent = f"{keywords} launches, {ledger.count('get_keyword')} polls; {ledger.count(status=429)} refused with 429"
    table.add_row("requests", sent)
    burst = f"{keywords / interval:g} a second ({limits.per_second} are allowed)"
    long = f"{keywords * 60 / interval:,.0f} for jobs of a minute ({limits.per_hour:,} are allowed an hour)"
    table.add_row("a loop", f"that polls each job every {interval:g} s sends {burst}, and {long}")
    table.add_row("lost answer", "its analysis was seen at the service, not launched again")
    table.add_row("article", f"applied: {draft.words_count} words before, {article.words_count} now")
    table.add_row("paid", f"{', '.join(spent)}; {twice} of them twice")
    Console().print(table)
    print(_NEXT)
    return 0 if done == keywords and not twice else 1
