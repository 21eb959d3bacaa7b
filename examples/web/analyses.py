"""Launch one analysis and answer for it later: what browsers submit, poll and wait for."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import cmsapi

if TYPE_CHECKING:
    from fan_outs import FanOuts

# Proxies close a connection on which nothing has come for 30 to 60 seconds.
LONGEST_WAIT = 25.0
KEPT_FOR = 600.0


async def submit(client: cmsapi.Client, keyword_id: str) -> dict[str, Any]:
    """Launch an analysis, or join the one that runs, and return its token and status.

    Raises:
        cmsapi.OutOfCreditsError: No credits are left.
    """
    job = await client.keywords.analyze(keyword_id)
    return {"token": job.token, **job.status.to_dict()}


async def read(client: cmsapi.Client, token: str, wait: float, stopping: asyncio.Event) -> dict[str, Any]:
    """Return the status of an analysis, and its result or error once it is finished.

    Args:
        client: The client.
        token: What `submit` returned, at any process and before any restart.
        wait: Seconds to wait for the end. All waiters of one job share its polls.
        stopping: Ends the wait when the process is asked to stop.
    """
    job = client.jobs.attach(token, "keyword_analysis")
    if wait > 0:
        either = [asyncio.create_task(job.wait()), asyncio.create_task(stopping.wait())]
        try:
            await asyncio.wait(either, timeout=min(wait, LONGEST_WAIT), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()
            await asyncio.gather(*either, return_exceptions=True)
    status = await client.jobs.status(token)
    answer = {"token": token, **status.to_dict()}
    if status.done:
        try:
            answer["result"] = cmsapi.to_dict(await job)
        except cmsapi.JobError as error:
            answer["error"] = str(error)
    return answer


def ended(outcome: cmsapi.Outcome[str, cmsapi.Keyword]) -> dict[str, Any]:
    """Write how an item of a fan-out ended, for a page."""
    if outcome.error is not None:
        reason = str(outcome.error).partition("\n")[0]
        error = f"{type(outcome.error).__name__}: {reason}"
        return {"id": outcome.item, "label": outcome.item, "state": "failed", "error": error}
    keyword = outcome.result()
    result = cmsapi.to_dict(keyword)
    return {"id": outcome.item, "label": keyword.keyword, "state": "finished", "result": result}


class NewKeywords:
    """List the keywords of the first workspace that were never analysed, without those of fan-outs.

    The service is asked once in ten minutes: one request for the workspaces, one for the pages and one for each page.

    Args:
        client: The client.
        fan_outs: The fan-outs.
    """

    def __init__(self, client: cmsapi.Client, fan_outs: FanOuts) -> None:
        self._client = client
        self._fan_outs = fan_outs
        self._found: list[dict[str, str]] = []
        self._until = 0.0

    async def read(self) -> list[dict[str, str]]:
        """Return the identifiers and the words."""
        if time.monotonic() >= self._until:
            workspace = (await self._client.workspaces.list())[0]
            self._found = [
                {"id": keyword.id, "keyword": keyword.keyword or keyword.id}
                async for page in self._client.pages.list(workspace.id)
                async for keyword in self._client.keywords.list(page.id)
                if keyword.analysis_status is None
            ]
            self._until = time.monotonic() + KEPT_FOR
        taken = await self._fan_outs.taken()
        return [keyword for keyword in self._found if keyword["id"] not in taken]
