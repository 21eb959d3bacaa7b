"""Generate an article on a draft, let a function decide on it, and show what may be published.

Runs on a sandbox of its own, in some seconds:

    python examples/article.py

With `--account CONTENT_ID` it works on that draft of the account of CMSAPI_API_KEY and CMSAPI_BASE_URL. That **spends
AI-writing credits and changes the draft**; it asks first. On the sandbox its last line is:

    confirmed: version 2, ready to publish
"""

from __future__ import annotations

import asyncio
import sys
from typing import Literal

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox

SETTINGS = cmsapi.GenerationSettings(fact_checking_enabled=True, custom_instructions="No superlatives.")


async def write(client: cmsapi.Client, content_id: str, ask: bool) -> None:
    """Generate, decide, show."""
    draft = await client.contents.get(content_id)
    print(f"{draft.title}: version {draft.version}, score {draft.content_score}")
    if ask and await asyncio.to_thread(input, "Spend AI-writing credits and change this draft? [y/N] ") != "y":
        return

    async def decide(review: cmsapi.GenerationReview) -> Literal["confirm", "leave"]:
        """Confirm only if the draft has not changed meanwhile."""
        now = await client.contents.get(review.content_id)
        return "confirm" if now.version == draft.version else "leave"

    try:
        job = await client.contents.generate(content_id, SETTINGS, on_review=decide)
    except cmsapi.LaunchUnknownError as error:
        sys.exit(f"Look before you try again: {error}")
    print(f"launched; to find it again after a restart: {job.token[:24]}…")
    review = await job
    if review.content is None:
        sys.exit(f"not confirmed ({review.decision}); decide on it in the application")
    article = review.content
    print((article.html_sanitized or "")[:200], "…")
    print(f"confirmed: version {article.version}, ready to publish")


async def main() -> None:
    """Use the account of the environment where asked to, else a sandbox."""
    if "--account" in sys.argv:
        async with cmsapi.Client() as client:
            await write(client, sys.argv[-1], ask=True)
    else:
        async with Sandbox(durations=Fixed(8)) as box, cmsapi.Client(box.api_key, base_url=box.base_url) as client:
            await write(client, box.content_ids[0], ask=False)


if __name__ == "__main__":
    asyncio.run(main())
