"""`cmsapi workspaces`."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.connecting import connect
from cmsapi.cli.output import AsCsv, AsJson, Columns, show

_COLUMNS: Columns[cmsapi.Workspace] = {
    "id": lambda workspace: workspace.id,
    "name": lambda workspace: workspace.name,
    "website": lambda workspace: workspace.website_url,
    "country": lambda workspace: workspace.country_code,
    "language": lambda workspace: workspace.language_code,
}


async def workspaces(*, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the workspaces that the key can see; one request for each hundred."""
    async with connect() as client:
        found = [workspace async for workspace in client.workspaces.list()]
    show(found, _COLUMNS, as_json=as_json, as_csv=as_csv, document=cmsapi.to_dict)
