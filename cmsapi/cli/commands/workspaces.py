"""`cmsapi workspaces`."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

_COLUMNS: Columns[cmsapi.Workspace] = {
    "id": lambda workspace: workspace.id,
    "name": lambda workspace: workspace.name,
    "website": lambda workspace: workspace.website_url,
    "country": lambda workspace: workspace.country_code,
    "language": lambda workspace: workspace.language_code,
}


async def workspaces(*, output: Output = TABLE) -> None:
    """List the workspaces that the key can access; one request per hundred."""
    async with connect() as client:
        found = [workspace async for workspace in client.workspaces.list()]
    print_list(found, _COLUMNS, output, cmsapi.to_dict)
