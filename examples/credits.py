"""Show the balances, and what the last credits were spent on. Spends nothing.

Runs on a sandbox of its own:

    python examples/credits.py

With `--account` it uses CMSAPI_API_KEY and CMSAPI_BASE_URL instead. On the sandbox its last line is:

    10 credits in 10 entries, by 1 person
"""

from __future__ import annotations

import asyncio
import sys

import cmsapi
from cmsapi.sandbox import Sandbox

SHOWN = 5
READ = 200


async def show(client: cmsapi.Client) -> None:
    """Print balances and the newest entries of all three types."""
    organization = (await client.me()).organization
    left = organization.credits
    print(organization.name)
    print(f"  analysis {left.analysis}, AI writing {left.ai_writing}, idea searches {left.content_ideas_searches}")
    entries: list[cmsapi.CreditUsage] = []
    async for entry in client.credit_usages.list():
        entries.append(entry)
        if len(entries) == READ:
            break
    for entry in entries[:SHOWN]:
        who = f"{entry.user.first_name} {entry.user.last_name}"
        print(f"  {entry.created_at:%Y-%m-%d %H:%M}  {entry.type:<20} {entry.keyword.keyword:<28} {who}")
    people = {entry.user.id for entry in entries}
    spent = sum(abs(entry.amount) for entry in entries)
    print(f"{spent} credits in {len(entries)} entries, by {len(people)} {'person' if len(people) == 1 else 'people'}")


async def main() -> None:
    """Use the account of the environment where asked to, else a sandbox."""
    if "--account" in sys.argv:
        async with cmsapi.Client() as client:
            await show(client)
    else:
        async with Sandbox() as box, cmsapi.Client(box.api_key, base_url=box.base_url) as client:
            await show(client)


if __name__ == "__main__":
    asyncio.run(main())
