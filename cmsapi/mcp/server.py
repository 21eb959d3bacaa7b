"""Put the tools and the resources together."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import cmsapi
from cmsapi.extras import needs
from cmsapi.jobs.fanout.forecast import counted
from cmsapi.mcp.answers import ContentDocument
from cmsapi.mcp.launches import Launches
from cmsapi.mcp.launching import LaunchingTools
from cmsapi.mcp.reading import ReadingTools
from cmsapi.mcp.waiting import WaitingTools
from cmsapi.mcp.wording import Effect, money, told, wrong_arguments

with needs("mcp"):
    from mcp.server.lowlevel.helper_types import ReadResourceContents
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
    from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
    from pydantic import AnyUrl, ValidationError

_ABOUT = (
    "The Content Marketing Service: workspaces with contents, pages and keywords. Analyses, idea searches and "
    "generated articles are jobs that take a minute or two and cost one credit each. Balances and limits are those of "
    "the whole organisation. Requests are limited per hour; each tool says how many it takes."
)
_READS_ONLY = (
    "This server only reads: it launches nothing and decides nothing. To launch, the person starts it with "
    "--max-credits N."
)
_LAUNCHES = (
    "This server may spend at most {credits} until it ends; no tool raises that bound. Before you launch, call "
    "plan_jobs, and show the person the cost. After a launch, call wait_for_jobs. The same launch again joins its job "
    "and costs nothing. After an error, read what it says about money before you try again."
)


_SANDBOX = "It is a sandbox on this machine: nothing is real, and no real credit is spent."


class _Server(MCPServer[Any]):
    """Tell errors in the words of the SDK, those of tools with what they mean for money."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        #: What each tool may do.
        self.effects: dict[str, Effect] = {}

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by its name.

        Raises:
            ToolError: There is no such tool, an argument is wrong, or the tool failed.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            match error.__cause__:
                case ValidationError() as wrong:
                    raise ToolError(wrong_arguments(wrong)) from None
                case cmsapi.CMSError() as failed:
                    about_money = money(failed, self.effects[name])
                    text = f"Error executing tool {name}: {told(failed)}\nMoney: {about_money}"
                    raise ToolError(text) from failed
            raise

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource by its address.

        Raises:
            ResourceError: There is no such resource, or it could not be read.
        """
        try:
            return await super().read_resource(uri, context)
        except ResourceError as error:
            match error.__cause__:
                case cmsapi.NotFoundError() as missing:
                    raise ResourceNotFoundError(told(missing)) from missing
                case cmsapi.CMSError() as failed:
                    raise ResourceError(told(failed)) from failed
            raise


def build_server(client: cmsapi.Client, max_credits: int = 0, *, sandbox: bool = False) -> MCPServer[Any]:
    """Make a server.

    Args:
        client: Does the work. To launch, it has `LaunchPolicy(max_credits=max_credits)`, so that not even a mistake
            here could spend more.
        max_credits: Most credits to spend until the server ends; with 0 it has no tools that launch or decide.
        sandbox: Whether the client uses a sandbox, so that the assistant can say so.
    """
    launches = Launches(client, max_credits)

    @contextlib.asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await launches.aclose()

    rules = _LAUNCHES.format(credits=counted(max_credits, "credit")) if max_credits else _READS_ONLY
    server = _Server(
        "cmsapi",
        title="Content Marketing Service",
        instructions=" ".join([_ABOUT, *([_SANDBOX] if sandbox else []), rules]),
        version=cmsapi.__version__,
        log_level="WARNING",
        lifespan=lifespan,
    )
    _add_tools(server, client, launches)
    _add_resources(server, client)
    return server


def _add_tools(server: _Server, client: cmsapi.Client, launches: Launches) -> None:
    reading, launching = ReadingTools(client, launches), LaunchingTools(client, launches)
    waiting = WaitingTools(client, launches)
    tools: dict[Effect, tuple[Callable[..., Awaitable[Any]], ...]] = {
        "reads": (
            reading.show_account,
            reading.list_workspaces,
            reading.list_folders,
            reading.list_pages,
            reading.list_contents,
            reading.get_content,
            reading.list_keywords,
            reading.get_keyword,
            reading.list_ideas,
            reading.report_credits,
            reading.list_jobs,
            reading.list_reviews,
            reading.score_text,
            launching.plan_jobs,
            waiting.wait_for_jobs,
        ),
        "launches": (launching.analyze_keywords, launching.search_ideas, launching.generate_article),
        "decides": (waiting.confirm_article, waiting.cancel_article),
    }
    for effect, calls in tools.items():
        if effect != "reads" and not launches.bound.max_credits:
            continue
        hints = ToolAnnotations(
            read_only_hint=effect == "reads",
            destructive_hint=effect == "decides",
            idempotent_hint=True,
            open_world_hint=True,
        )
        for call in calls:
            title = call.__name__.replace("_", " ").capitalize()
            server.effects[call.__name__] = effect
            server.add_tool(call, title=title, annotations=hints, structured_output=True)


def _add_resources(server: MCPServer[Any], client: cmsapi.Client) -> None:
    async def content(content_id: str) -> str:
        """Read a content with its body and its facts."""
        return ContentDocument.of(await client.contents.get(content_id), with_html=True).model_dump_json(indent=2)

    async def content_html(content_id: str) -> str:
        """Read the body of a content, without the markers of the editor."""
        found = await client.contents.get(content_id)
        return found.html_sanitized or found.html or ""

    templates = (
        ("cmsapi://contents/{content_id}", content, "application/json", "Content"),
        ("cmsapi://contents/{content_id}/html", content_html, "text/html", "Body of a content"),
    )
    for address, read, mime_type, title in templates:
        server.resource(address, title=title, mime_type=mime_type, description=read.__doc__)(read)
