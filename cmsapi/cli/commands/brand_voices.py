"""`cmsapi brand-voices`."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.support.completing import WorkspaceId
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

_COLUMNS: Columns[cmsapi.BrandVoice] = {
    "id": lambda voice: voice.id,
    "name": lambda voice: voice.name,
    "enabled": lambda voice: voice.enabled,
    "brand": lambda voice: voice.brand_name,
    "audience": lambda voice: voice.target_audience,
}


async def brand_voices(workspace_id: WorkspaceId, *, output: Output = TABLE) -> None:
    """List the brand voices of a workspace; one request per hundred.

    Args:
        workspace_id: The workspace.
    """
    async with connect() as client:
        found = [voice async for voice in client.brand_voices.list(workspace_id)]
    print_list(found, _COLUMNS, output, cmsapi.to_dict)
