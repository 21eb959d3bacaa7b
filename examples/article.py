"""Generate an article for a draft, then confirm it, which replaces the draft's text, or cancel it, which discards it.

Start `cmsapi sandbox` in another terminal, and set CMSAPI_BASE_URL and CMSAPI_API_KEY to what it prints; or set them
for your account, where **an article costs one AI-writing credit**, and confirming **replaces the draft's text**. Then:

    python examples/article.py CONTENT_ID

Without an identifier, it lists drafts. A keyword of the draft's page must have been analyzed. An article takes a few
minutes in the sandbox. If you stop the example, the finished article waits for review, and the next run decides on it.
The state is stored in the file articles.db, or at the address in CMSAPI_STATE.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Literal

from cmsapi import Client, CMSError, GenerationReview, GenerationSettings

STATE = os.environ.get("CMSAPI_STATE", "sqlite:///articles.db")
SETTINGS = GenerationSettings(fact_checking_enabled=True, custom_instructions="Short sentences. No superlatives.")


async def drafts(client: Client) -> None:
    """Print the drafts of all workspaces."""
    async for workspace in client.workspaces.list():
        async for content in client.contents.list(workspace.id):
            if content.type == "DRAFT":
                print(content.id, content.title, f"({content.words_count} words)")


async def write(client: Client, content_id: str) -> None:
    """Generate an article, or find one in review, and decide on it; print it if it is applied, else exit."""
    before = await client.contents.get(content_id)
    print(f"{before.title}: version {before.version}, score {before.content_score}")

    async def decide(review: GenerationReview) -> Literal["confirm", "cancel"]:
        """Confirm, unless the draft has changed since this run began: confirming would overwrite the change."""
        now = await client.contents.get(review.content_id)
        return "confirm" if now.version == before.version else "cancel"

    waiting = [review for review in await client.jobs.reviews() if review.content_id == content_id]
    if waiting:
        review = waiting[0]
        await review.ask(decide)
    else:
        job = await client.contents.generate(content_id, SETTINGS, on_review=decide)
        print("The article is being written …", flush=True)
        review = await job
    if review.content is None:
        sys.exit(f"not applied: {review.decision}")
    after = review.content
    print(
        f"applied: version {after.version}, score {after.content_score}, {after.words_count} words, ready to publish:"
    )
    print((after.html_sanitized or "")[:300], "…")  # never `html`, which may contain editors' comments


async def main(content_ids: list[str]) -> None:
    """Write an article for the given draft, or list the drafts."""
    async with Client(state=STATE) as client:
        try:
            await (write(client, content_ids[0]) if content_ids else drafts(client))
        except CMSError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
