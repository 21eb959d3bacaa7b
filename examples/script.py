"""Analyze keywords that have never been analyzed, up to a number that you choose.

Start `cmsapi sandbox` in another terminal, and set CMSAPI_BASE_URL and CMSAPI_API_KEY to what it prints; or set them
for your account, where **each keyword costs one analysis credit**. Then:

    python examples/script.py 20

This spends at most 20 credits; the sandbox needs a minute or two. For a script that may be killed, see batch.py.
"""

from __future__ import annotations

import asyncio
import sys

from cmsapi import Client


async def main(max_credits: int) -> None:
    """Search all workspaces for keywords that have never been analyzed, and analyze at most ``max_credits`` of them."""
    async with Client() as client:
        new = {
            keyword.id: keyword.keyword
            async for workspace in client.workspaces.list()
            async for page in client.pages.list(workspace.id)
            async for keyword in client.keywords.list(page.id)
            if keyword.analysis_status is None
        }
        chosen = list(new)[:max_credits]
        if not chosen:
            sys.exit("There is nothing to analyze.")
        plan = await client.jobs.plan("analysis", len(chosen))
        print(f"{len(new)} new keywords; {len(chosen)} of them cost {plan.credits} of {plan.credits_left} credits")
        fan_out = client.jobs.map(client.keywords.analyze, chosen, max_credits=max_credits)
        async for outcome in fan_out:
            print(f"  {new[outcome.item]}: {outcome.value.analysis_status if outcome.ok else outcome.error}")
        print(fan_out.progress)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit(__doc__)
    asyncio.run(main(int(sys.argv[1])))
