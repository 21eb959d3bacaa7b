"""A Model Context Protocol server for assistants: ``python -m cmsapi.mcp``, configured by environment variables.

It spends at most ``--max-credits`` per run; no tool can raise this limit. Launches are items of a batch, so a repeated
call waits for the same jobs or returns their results at no charge, even after a restart if ``CMSAPI_STATE`` is set.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Annotated, Any, Literal, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

import cmsapi

Answer: TypeAlias = dict[str, Any]
Wait: TypeAlias = Annotated[float, Field(gt=0, description="Seconds; then repeat the call to wait on, at no charge")]
Attempt: TypeAlias = Annotated[int, Field(ge=1, description="A higher number launches, and costs, once more")]


class Tools:
    """Tools for the Content Marketing Service. Repeated calls cost nothing; an unknown launch may have been charged."""

    def __init__(self, client: cmsapi.Client, max_credits: int) -> None:
        self._client = client.with_options(launch=cmsapi.LaunchPolicy(max_credits=max_credits))

    async def account(self) -> Answer:
        """Show the user, credits, workspaces, requests left this hour, and launches that may have been charged."""
        unknown = [str(error) for error in await self._client.jobs.unknown()]
        user, workspaces, left = await self._client.me(), await self._client.workspaces.list(), self._client.rate_limit
        shown = {"user": user, "workspaces": workspaces.data, "requests_left": left.free, "unknown_launches": unknown}
        return dict(cmsapi.to_dict(shown))

    async def list_pages(self, workspace_id: str, page: int = 1, limit: int = 25) -> Answer:
        """List the pages of a workspace's website; every keyword belongs to a page."""
        return dict(cmsapi.to_dict(await self._client.pages.list(workspace_id, page=page, limit=limit)))

    async def list_keywords(self, page_id: str, page: int = 1, limit: int = 25) -> Answer:
        """List the keywords of a website page, with the status of each analysis."""
        return dict(cmsapi.to_dict(await self._client.keywords.list(page_id, page=page, limit=limit)))

    async def list_contents(self, workspace_id: str, page: int = 1, limit: int = 25) -> Answer:
        """List the contents of a workspace, with their scores and pages but without their text."""
        return dict(cmsapi.to_dict(await self._client.contents.list(workspace_id, page=page, limit=limit)))

    async def show_content(self, content_id: str, with_text: bool = False) -> Answer:
        """Show a content item; its text is included only if ``with_text`` is true."""
        content: Answer = cmsapi.to_dict(await self._client.contents.get(content_id))
        return {name: value for name, value in content.items() if with_text or not name.startswith("html")}

    async def keyword_report(self, keyword_id: str, content_id: str) -> Answer:
        """Score a content item from 0 to 1 against the recommendations for a keyword, and say what to improve."""
        return dict(cmsapi.to_dict(await self._client.keywords.score(keyword_id, content_id=content_id)))

    async def analyze_keywords(self, keyword_ids: list[str], wait: Wait = 45, attempt: Attempt = 1) -> Answer:
        """Analyze keywords; costs one analysis credit per keyword."""
        return await self._launch(self._client.keywords.analyze, keyword_ids, f"analysis {attempt}", wait)

    async def search_ideas(self, workspace_id: str, keyword: str, wait: Wait = 45, attempt: Attempt = 1) -> Answer:
        """Search for content ideas on a keyword; costs one content-idea-search credit."""
        search = partial(self._client.content_ideas.search, workspace_id)
        return await self._launch(search, [keyword], f"search {workspace_id} {attempt}", wait)

    async def generate_article(self, content_id: str, wait: Wait = 45, attempt: Attempt = 1) -> Answer:
        """Generate an article for a draft with an analyzed keyword, for one AI-writing credit. Next: decide_review."""
        return await self._launch(self._client.contents.generate, [content_id], f"generation {attempt}", wait)

    async def decide_review(self, content_id: str, generation_id: str, choice: Literal["confirm", "cancel"]) -> Answer:
        """Confirm an article (it replaces the content's text) or discard it. Cannot be undone; costs no credit."""
        waiting = [each for each in await self._client.jobs.reviews() if each.content_id == content_id]
        review = next((each for each in waiting if each.generation.id == generation_id), None)
        if review is None:
            raise ToolError(f"no article {generation_id} of this server waits for a decision; nothing was decided")
        await (review.confirm() if choice == "confirm" else review.cancel())
        return _shown(review)

    async def _launch(self, launch: Any, items: list[str], kind: str, wait: float) -> Answer:
        found: Answer = {item: {"status": "running, or not launched yet"} for item in items}
        outcomes = self._client.jobs.batch("mcp").map(launch, list(found), key=lambda item: f"{kind} {item}")
        with suppress(TimeoutError):
            async with asyncio.timeout(wait), outcomes:
                async for outcome in outcomes:
                    found[outcome.item] = _shown(outcome.error or outcome.value)
        return found


def _shown(value: Any) -> Answer:
    if isinstance(value, Exception):
        return {"status": "unknown" if isinstance(value, cmsapi.LaunchUnknownError) else "failed", "error": str(value)}
    if isinstance(value, cmsapi.GenerationReview):
        return {"status": value.decision or "waits for decide_review", "generation_id": value.generation.id}
    return {"status": "succeeded", "result": cmsapi.to_dict(getattr(value, "ideas", value))}


def make_server(client: cmsapi.Client, max_credits: int = 10) -> MCPServer[Any]:
    """Return a server that spends at most ``max_credits`` through ``client``; with 0, it can only read."""
    tools, about = Tools(client, max_credits), f"{Tools.__doc__}\nThis server may spend {max_credits} credits in all."
    server: MCPServer[Any] = MCPServer("cmsapi", instructions=about, version=cmsapi.__version__, log_level="WARNING")
    reading = (tools.account, tools.list_pages, tools.list_keywords, tools.list_contents, tools.show_content)
    launching = (tools.analyze_keywords, tools.search_ideas, tools.generate_article, tools.decide_review)
    for tool in (*reading, tools.keyword_report, *(launching if max_credits else ())):
        hints = ToolAnnotations(read_only_hint=tool not in launching, destructive_hint=tool == tools.decide_review)
        server.add_tool(_answering(tool), annotations=hints)
    return server


def _answering(tool: Any) -> Callable[..., Awaitable[Answer]]:
    @wraps(tool)
    async def call(**arguments: Any) -> Any:
        try:
            return await tool(**arguments)
        except cmsapi.CMSError as error:  # a model does not see other exceptions
            raise ToolError(str(error)) from error

    return call


async def _serve(max_credits: int) -> None:
    async with cmsapi.Client(trust_env=True) as client:
        await make_server(client, max_credits).run_stdio_async()


def main() -> None:
    """Run the server on standard input and output until the input ends. Environment variables configure the client."""
    parser = argparse.ArgumentParser(prog="python -m cmsapi.mcp", description="Serve assistants on standard input.")
    parser.add_argument("--max-credits", type=int, default=10, help="credits to spend in all; 0 for reading only")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else the thread that reads the input would block the exit
    try:
        asyncio.run(_serve(parser.parse_args().max_credits))
    except cmsapi.ConfigError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
