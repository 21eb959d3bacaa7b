"""`cmsapi keywords`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.support.output import TABLE, Columns, Output, print_list

_COLUMNS: Columns[cmsapi.Keyword] = {
    "id": lambda keyword: keyword.id,
    "keyword": lambda keyword: keyword.keyword,
    "analysis": lambda keyword: keyword.analysis_status,
    "search volume": lambda keyword: keyword.search_volume,
    "analysed": lambda keyword: keyword.last_analyzed_at,
}


async def keywords(
    workspace_id: str,
    *,
    page: Annotated[str | None, Parameter(help="Only the keywords of the page with this identifier.")] = None,
    unanalysed: Annotated[bool, Parameter(negative=(), help="Only keywords that were never analysed.")] = False,
    output: Output = TABLE,
) -> None:
    """List the keywords of a workspace's pages; one request per page, and one per hundred pages.

    Args:
        workspace_id: The workspace.
    """
    async with connect() as client:
        pages = [page] if page else [one.id async for one in client.pages.list(workspace_id)]
        found = [keyword for page_id in pages async for keyword in client.keywords.list(page_id)]
    if unanalysed:
        found = [keyword for keyword in found if keyword.analysis_status is None]
    print_list(found, _COLUMNS, output, cmsapi.to_dict)
