"""Compare cmsapi with two handwritten loops: 300 keyword analyses on the sandbox, in an hour of virtual time.

``python -m benchmarks.hour`` prints a table and draws ``docs/hour.svg``.

All jobs may start at once. An analysis takes about a minute (log-normal), a request 0.1 s, and the limits are the
sandbox's: 20 requests a second and 1,000 an hour. A loop launches its job and polls it until it has ended. The first
loop polls every 5 s, even after a 429. The second loop polls every 5 to 10 s, and after a 429 waits for ``Retry-After``
and up to a second more.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from benchmarks.work import HOUR
from cmsapi import Client
from cmsapi.messages import Request
from cmsapi.sandbox import Faults, Lognormal, Sandbox
from tests.support.strict import virtually

Program: TypeAlias = Callable[[Sandbox, Callable[[], None]], Awaitable[None]]
JOBS = 300
LEFT, RIGHT, TOP, BOTTOM = 56, 584, 62, 366  # the plot in the picture, in pixels
TARGET = Path(__file__).parent.parent / "docs" / "hour.svg"
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 412" width="600" height="412" role="img">
<title>{title}</title>
<style>
svg {{ font-family: -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; font-size: 18px }}
text {{ fill: #1f2328 }} .paper {{ fill: #ffffff }} .grid {{ stroke: #d1d9e0 }} path {{ fill: none; stroke-width: 4 }}
.head {{ font-size: 21px; font-weight: 600 }} .bold {{ font-weight: 600 }} .right {{ text-anchor: end }}
path.a {{ stroke: #0969da }} path.b {{ stroke: #bc4c00 }} path.c {{ stroke: #8250df }} .middle {{ text-anchor: middle }}
text.a {{ fill: #0969da }} text.b {{ fill: #bc4c00 }} text.c {{ fill: #8250df }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #f0f6fc }} .paper {{ fill: #0d1117 }} .grid {{ stroke: #3d444d }}
path.a {{ stroke: #58a6ff }} path.b {{ stroke: #f0883e }} path.c {{ stroke: #bc8cff }}
text.a {{ fill: #58a6ff }} text.b {{ fill: #f0883e }} text.c {{ fill: #bc8cff }}
}}
</style>
<rect class="paper" width="600" height="412" rx="8"/>
<text class="head" x="16" y="34">Results of 300 keyword analyses within an hour</text>
{parts}
</svg>
"""


@frozen
class Hour:
    """Result of one program.

    Attributes:
        ends: Seconds from the start to each result, including results after the hour.
        requests: Number of requests in the hour.
        refused: Number of these requests that were answered with 429.
    """

    ends: list[float]
    requests: int
    refused: int

    @property
    def results(self) -> int:
        """Number of results within the hour."""
        return sum(end <= HOUR for end in self.ends)


async def by_cmsapi(box: Sandbox, finish: Callable[[], None]) -> None:
    """Analyze all keywords in one fan-out of cmsapi, and call ``finish`` at each result."""
    async with Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        async for outcome in client.jobs.map(client.keywords.analyze, box.keyword_ids):
            assert outcome.ok
            finish()


async def by_loops(
    poll: Callable[[], float], wait: Callable[[float], float], box: Sandbox, finish: Callable[[], None]
) -> None:
    """Analyze each keyword in a polling loop of its own.

    Args:
        poll: Returns the seconds until the next poll.
        wait: Takes the seconds in ``Retry-After``, and returns the seconds to wait after a 429.
        box: Sandbox whose keywords are analyzed.
        finish: Called at each result.
    """

    async def ask(method: str, path: str) -> Any:
        request = Request(method, box.base_url + path, {"authorization": f"Bearer {box.api_key}"})
        answer = await box.transport.send(request)
        while answer.status == 429:
            await asyncio.sleep(wait(float(answer.headers["retry-after"])))
            answer = await box.transport.send(request)
        return answer.json()

    async def one(keyword: str) -> None:
        await ask("POST", f"/v1/keywords/{keyword}/analyze")
        status = None
        while status != "success":
            await asyncio.sleep(poll())
            status = (await ask("GET", f"/v1/keywords/{keyword}"))["analysisStatus"]
        finish()

    await asyncio.gather(*map(one, box.keyword_ids))


async def run(program: Program) -> Hour:
    """Run ``program`` on a new sandbox until it has all results, and return its figures."""
    minute, latency, plenty = Lognormal(60, 0.5), Faults(latency=0.1), {"analysis": JOBS}
    box = Sandbox(keywords=JOBS, durations={"analysis": minute}, faults=latency, credits=plenty)
    loop, ends = asyncio.get_running_loop(), list[float]()
    began = loop.time()
    await program(box, lambda: ends.append(loop.time() - began))
    statuses = [request.status for request in box.ledger.requests if request.time - began <= HOUR]
    return Hour(ends, len(statuses), statuses.count(429))


def draw(hours: dict[str, Hour]) -> str:
    """Return a chart of the results over time, with a line for each program in ``hours``, as SVG."""

    def across(seconds: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * seconds / HOUR, 1)

    def down(results: int) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * results / JOBS, 1)

    parts = []
    for results in range(0, JOBS + 1, JOBS // 2):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{down(results)}" y2="{down(results)}"/>')
        parts.append(f'<text class="right" x="{LEFT - 8}" y="{down(results) + 6}">{results}</text>')
    for minutes in range(0, 61, 15):
        place, text = ("right", "60 min") if minutes == 60 else ("middle", minutes)
        parts.append(f'<text class="{place}" x="{across(minutes * 60)}" y="392">{text}</text>')
    for letter, (name, hour) in zip("abc", hours.items(), strict=True):
        steps = "".join(f"H{across(end)}V{down(number)}" for number, end in enumerate(hour.ends[: hour.results], 1))
        parts.append(f'<path class="{letter}" d="M{LEFT} {BOTTOM}{steps}H{RIGHT}"/>')
        label = down(hour.results) + (27 if hour.results == JOBS else -36)  # below the line, or above it
        after = f" after {max(hour.ends) / 60:.0f} min" if hour.results == JOBS else ""
        parts.append(f'<text class="{letter} bold" x="150" y="{label}">{name}: {hour.results} results{after}</text>')
        counts = f"{hour.requests:,} requests, {hour.refused:,} refused"
        parts.append(f'<text class="{letter}" x="150" y="{label + 23}">{counts}</text>')
    title = "; ".join(f"{name}: {hour.results} of {JOBS} results in the hour" for name, hour in hours.items())
    return SVG.format(title=title, parts="\n".join(parts))


def main() -> None:
    """Run the programs, print a table, and write the chart to ``docs/hour.svg``."""
    rng = random.Random(0)
    programs: dict[str, Program] = {
        "cmsapi": by_cmsapi,
        "a loop that polls every 5 s": partial(by_loops, lambda: 5.0, lambda _: 5.0),
        "a loop that waits for Retry-After": partial(
            by_loops, lambda: rng.uniform(5, 10), lambda seconds: seconds + rng.uniform(0, 1)
        ),
    }
    hours = {name: virtually(run(program)) for name, program in programs.items()}
    print(f"{'':36}{'results':>8}{'requests':>10}{'refused':>9}{'last result':>14}")
    for name, hour in hours.items():
        print(f"{name:36}{hour.results:8}{hour.requests:10,}{hour.refused:9,}{max(hour.ends) / 60:10.1f} min")
    TARGET.write_text(draw(hours), encoding="utf-8")


if __name__ == "__main__":
    main()
