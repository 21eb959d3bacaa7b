"""`cmsapi keywords`: list the keywords of a workspace, and add some."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

import cmsapi
from cmsapi.cli.support.arguments import AllowEmpty, SeedKeywords
from cmsapi.cli.support.completing import PageId, WorkspaceId
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.support.repeating import for_each
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

keywords: App = App(name="keywords", help="List the keywords of a workspace's pages, or add keywords to a page.")

_COLUMNS: Columns[cmsapi.Keyword] = {
    "id": lambda keyword: keyword.id,
    "keyword": lambda keyword: keyword.keyword,
    "analysis": lambda keyword: keyword.analysis_status,
    "search volume": lambda keyword: keyword.search_volume,
    "analysed": lambda keyword: keyword.last_analyzed_at,
}


@keywords.default
async def list_keywords(
    workspace_id: WorkspaceId,
    *,
    page: Annotated[PageId | None, Parameter(help="Only the keywords of the page with this identifier.")] = None,
    unanalysed: Annotated[bool, Parameter(negative=(), help="Only keywords that were never analysed.")] = False,
    output: Output = TABLE,
) -> None:
    """List the keywords of a workspace's pages; one request per page, and one per hundred pages.

    Args:
        workspace_id: The workspace.
    """
    async with connect() as client:
        listed = client.keywords.list(page) if page else client.keywords.list(workspace_id=workspace_id)
        found = [keyword async for keyword in listed]
    if unanalysed:
        found = [keyword for keyword in found if keyword.analysis_status is None]
    print_list(found, _COLUMNS, output, cmsapi.to_dict)


@keywords.command(name="add")
async def add_keywords(
    page_id: PageId, texts: SeedKeywords, /, *, allow_empty: AllowEmpty = False, output: Output = TABLE
) -> int:
    """Track more keywords for a page; one request each, no credit. An analysis is separate: cmsapi analyze.

    Args:
        page_id: The page.
        texts: Keywords; - reads one per line, or CSV, from standard input, @FILE from a file.
    """
    texts.require_nonempty(allow_empty)
    async with connect() as client:
        added, code = await for_each(texts, lambda keyword: client.keywords.create(page_id, keyword))
    if added or output:
        print_list(added, _COLUMNS, output, cmsapi.to_dict)
    return code
