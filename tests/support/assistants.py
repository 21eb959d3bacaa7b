"""The official client of the Model Context Protocol, next to a server of ours in the same process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import attrs
import rich.logging  # noqa: F401  a server imports it when it is made, which reads files beside the loop in life
from mcp import Client

import cmsapi
from cmsapi.mcp.server import build_server


@attrs.define
class Assistant:
    """Call tools as an assistant does.

    Args:
        protocol: The official client.
        told: The progress that its calls were told.
    """

    protocol: Any
    told: list[tuple[float, float | None, str | None]] = attrs.field(factory=list)

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Return the structured answer of a tool that must succeed; the client checks it against the schema."""
        result = await self.protocol.call_tool(tool, arguments, progress_callback=self._tell)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Return the error of a tool that must fail."""
        result = await self.protocol.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        return str(result.content[0].text)

    async def _tell(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, total, message))


@contextlib.asynccontextmanager
async def assisted(client: cmsapi.Client, max_credits: int = 0, mode: str = "auto") -> AsyncIterator[Assistant]:
    """Connect an assistant to a new server that uses a client of the SDK.

    Args:
        client: The client.
        max_credits: The spending bound.
        mode: How the protocol begins; `legacy` with the handshake of the older versions.
    """
    policy = cmsapi.LaunchPolicy(max_credits=max_credits) if max_credits else cmsapi.LaunchPolicy()
    server = build_server(client.with_options(launch=policy), max_credits)
    async with Client(server, mode=mode) as protocol:
        yield Assistant(protocol)
