"""The commands ``sandbox`` and ``demo``: a simulated service on this machine, for trying things out."""

from __future__ import annotations

import asyncio
import secrets

from cyclopts import App
from rich.console import Console
from rich.table import Table

from cmsapi import Client, ConfigError, PollPolicy, RateLimits, Timeouts
from cmsapi.cli.outcomes import progress_bar
from cmsapi.cli.output import note
from cmsapi.sandbox import Fault, Faults, Limits, Lognormal, Sandbox

app: App = App()
_NEXT = """
Next, the same with a service that keeps running. In a second terminal:
  cmsapi sandbox --keywords 300 --seconds 20
Copy its two export lines into this terminal, and then:
  cmsapi workspaces
  cmsapi pages WORKSPACE | cmsapi keywords - --new > keywords.txt
  cmsapi analyze @keywords.txt --batch first
Stop the last command with Ctrl-C and run it again: it continues, and nothing
is paid for twice."""


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
    """Run a simulated service on this machine until Ctrl-C, and print the settings for its clients.

    Args:
        port: Port to listen on; 0 for a free one.
        seed: Seed of identifiers, keys and durations; random by default.
        keywords: Number of keywords not yet analyzed. In addition, each content item has one analyzed keyword.
        contents: Number of contents.
        seconds: Duration of every job; by default each duration is random.
        latency: Seconds from a request to its response.
        per_second: Requests that a key may send in any second.
        per_hour: Requests that a key may send in any hour.
    """
    limits, faults = Limits(per_second, per_hour), Faults(latency=latency)
    seed = secrets.randbits(32) if seed is None else seed
    box = Sandbox(seed=seed, keywords=keywords, contents=contents, limits=limits, durations=seconds, faults=faults)
    try:
        async with box.serve(port) as base_url:
            print(f"export CMSAPI_BASE_URL={base_url}\nexport CMSAPI_API_KEY={box.api_key}", flush=True)
            note(f"# key of a member: {box.member_key}\n# workspace: {box.workspace_id}; Ctrl-C ends the service")
            await asyncio.Event().wait()
    except OSError as error:
        raise ConfigError(f"{error.strerror}: give another --port, or 0 for a free one") from None
    except asyncio.CancelledError:  # Ctrl-C
        return


@app.command
async def demo(*, keywords: int = 200) -> int:
    """Show a fan-out, a lost response and an article in about 20 seconds. It needs no account or network.

    Args:
        keywords: Number of keywords to analyze.
    """
    seconds, limits, interval = 6.0, RateLimits(), PollPolicy().min_interval
    lost = Fault(match="analyze_keyword", after=keywords // 3, times=1, drop="after")
    box = Sandbox(keywords=keywords, durations=Lognormal(seconds, 1 / seconds), faults=lost)
    before, ledger = dict(box.credits), box.ledger
    print(f"A service inside this program: a job takes about {seconds:g} s, it allows {limits.per_second} requests a")
    print(f"second, one response gets lost. {keywords} keywords to analyze, an article to write.\n", flush=True)
    clock, timeouts = asyncio.get_running_loop().time, Timeouts(request=seconds)
    began = clock()
    client = Client(box.api_key, base_url=box.base_url, state="memory:", transport=box.transport, timeouts=timeouts)
    async with client:
        generation = await client.contents.generate(box.content_ids[0])
        outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids)
        async with progress_bar(outcomes):
            done = sum(outcome.ok for outcome in await outcomes)
        took = clock() - began
        draft = await client.contents.get(box.content_ids[0])
        article = await (await generation.review()).confirm()
    analyses, articles = (before[name] - box.credits[name] for name in ("analysis", "aiWriting"))
    twice = sum(launch.number > 1 for launch in ledger.launches)
    polls, refused = ledger.count("get_keyword"), ledger.count(status=429)
    burst = f"{keywords / interval:g} a second ({limits.per_second} are allowed)"
    long = f"{keywords * 60 / interval:,.0f} for jobs of a minute ({limits.per_hour:,} are allowed an hour)"
    table = Table.grid(padding=(0, 2))
    table.add_row("analyzed", f"{done} of {keywords} in {took:.0f} s")
    table.add_row("requests", f"{keywords} launches, {polls} polls; {refused} refused with 429")
    table.add_row("a loop", f"that polls each job every {interval:g} s sends {burst}, and {long}")
    table.add_row("lost response", "its analysis was seen at the service, not launched again")
    table.add_row("article", f"applied: {draft.words_count} words before, {article.words_count} now")
    table.add_row("credits", f"{analyses} analysis, {articles} ai_writing; paid twice: {twice}")
    Console().print(table)
    print(_NEXT)
    return 0 if done == keywords and not twice else 1
