"""Analyse all keywords of a workspace that have no analysis yet, a bounded number at a time.

Runs on a sandbox of its own, in about half a minute:

    python examples/fan_out.py

With `--account` it uses CMSAPI_API_KEY and CMSAPI_BASE_URL instead, and **spends one credit for each keyword**; it asks
first. On the sandbox its last line is:

    20 analysed, 0 failed; 20 credits spent
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox


async def new_keywords(client: cmsapi.Client, workspace_id: str) -> AsyncIterator[cmsapi.Keyword]:
    """Yield the keywords that were never analysed, page by page."""
    async for page in client.pages.list(workspace_id):
        async for keyword in client.keywords.list(page.id):
            if keyword.analysis_status is None:
                yield keyword


async def analyse(client: cmsapi.Client, ask: bool) -> None:
    """Analyse what is new in the first workspace."""
    workspace = (await client.workspaces.list())[0]
    keywords = [keyword async for keyword in new_keywords(client, workspace.id)]
    before = (await client.me()).organization.credits.analysis
    print(f"{workspace.name}: {len(keywords)} new keywords, {before} credits")
    if ask and await asyncio.to_thread(input, "Spend one credit for each? [y/N] ") != "y":
        return
    names = {keyword.id: keyword.keyword for keyword in keywords}
    analysed = failed = 0
    async with client.jobs.map(client.keywords.analyze, names, in_flight=10) as outcomes:
        async for outcome in outcomes:
            if outcome.value is not None:
                analysed += 1
                print(f"  {names[outcome.item]}: {outcome.value.analysis_status}")
            else:
                failed += 1
                print(f"  {names[outcome.item]}: {outcome.error}")
    after = (await client.me()).organization.credits.analysis
    print(f"{analysed} analysed, {failed} failed; {before - after} credits spent")


async def main() -> None:
    """Use the account of the environment where asked to, else a sandbox."""
    if "--account" in sys.argv:
        async with cmsapi.Client() as client:
            await analyse(client, ask=True)
    else:
        async with Sandbox(durations=Fixed(8)) as box, cmsapi.Client(box.api_key, base_url=box.base_url) as client:
            await analyse(client, ask=False)


if __name__ == "__main__":
    asyncio.run(main())
