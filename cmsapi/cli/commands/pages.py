"""`cmsapi pages`: list, show, import, crawl, delete."""

from __future__ import annotations

from cyclopts import App

import cmsapi
from cmsapi.cli.support.arguments import AllowEmpty, PageIds, Urls
from cmsapi.cli.support.completing import PageId, WorkspaceId
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.support.listing import Limit, print_all
from cmsapi.cli.support.repeating import for_each
from cmsapi.cli.terminal.asking import Yes, confirmed
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.output import (
    TABLE,
    AsJson,
    Columns,
    Output,
    print_fields,
    print_json,
    print_list,
    print_message,
    printable,
)

pages: App = App(name="pages", help="List, show, import, crawl and delete pages of the tracked website.")

_COLUMNS: Columns[cmsapi.WebPage] = {
    "id": lambda page: page.id,
    "url": lambda page: page.url,
    "status": lambda page: page.last_status_code,
    "title": lambda page: page.title,
    "imported": lambda page: page.created_at,
}


@pages.command(name="list")
async def list_pages(
    workspace_id: WorkspaceId,
    *,
    limit: Limit = 100,
    output: Output = TABLE,
) -> None:
    """List the pages of a workspace; one request per hundred.

    Args:
        workspace_id: The workspace.
        limit: The largest number of pages to list.
    """
    await print_all(lambda client: client.pages.list(workspace_id, limit=min(limit, 100)), _COLUMNS, output, limit)


@pages.command(name="show")
async def show_page(page_id: PageId, *, as_json: AsJson = False) -> None:
    """Show a page; one request.

    Args:
        page_id: The page.
    """
    async with connect() as client:
        page = await client.pages.get(page_id)
    if as_json:
        print_json(cmsapi.to_dict(page))
    else:
        print_fields({title: value(page) for title, value in _COLUMNS.items()})


@pages.command(name="import")
async def import_pages(
    workspace_id: WorkspaceId, urls: Urls, /, *, allow_empty: AllowEmpty = False, output: Output = TABLE
) -> int:
    """Import pages by their addresses; one request each, no credit.

    Args:
        workspace_id: The workspace.
        urls: Addresses; - reads one per line, or CSV, from standard input, @FILE from a file.
    """
    urls.require_nonempty(allow_empty)
    async with connect() as client:
        imported, code = await for_each(urls, lambda url: client.pages.create(workspace_id, url))
    if imported or output:
        print_list(imported, _COLUMNS, output, cmsapi.to_dict)
    return code


@pages.command(name="crawl")
async def crawl_pages(page_ids: PageIds, /, *, allow_empty: AllowEmpty = False) -> int:
    """Have pages crawled again; one request each, no credit.

    Args:
        page_ids: Pages; - reads identifiers, or CSV with a column id, from standard input, @FILE from a file.
    """
    page_ids.require_nonempty(allow_empty)
    async with connect() as client:

        async def crawl(page_id: str) -> None:
            answer = await client.pages.crawl(page_id)
            print_message(f"{printable(page_id)}: {printable(answer.message)}")

        _, code = await for_each(page_ids, crawl)
    return code


@pages.command(name="delete")
async def delete_page(page_id: PageId, *, yes: Yes = False) -> int:
    """Delete a page and its contents, which cannot be undone; two requests. Needs the role Admin.

    Args:
        page_id: The page.
    """
    async with connect() as client:
        page = await client.pages.get(page_id)
        if not await confirmed(f"Delete {printable(page.url or page.id)} and its contents?", yes):
            return Exit.FAILED
        await client.pages.delete(page_id)
    return Exit.DONE
