"""Pages of the tracked website (specification 2.8, 4.3, 4.8)."""

from __future__ import annotations

from types import NoneType

from cmsapi.models import WebPage
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class Pages(Resource):
    """Read, import, crawl and delete pages. Only the deletion is in the specification."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[WebPage]:
        """List the pages of a workspace; one request a page of the list, no credit.

        Args:
            workspace_id: The workspace.
            page: Number of the first page of the list to read, from 1.
            limit: Pages of the website a page of the list, 1 to 100.
        """
        return self._pipeline.list("list_pages", WebPage, workspace_id, page=page, limit=limit)

    async def get(self, page_id: str) -> WebPage:
        """Return a page; one request, no credit."""
        return await self._pipeline.call("get_page", WebPage, page_id)

    async def create(self, workspace_id: str, url: str) -> WebPage:
        """Import a page of the website by its address; one request, no credit.

        Raises:
            OutcomeUnknownError: The page may be imported; list the pages before repeating the call.
        """
        return await self._pipeline.call("import_page", WebPage, workspace_id, json={"url": check_text("url", url)})

    async def crawl(self, page_id: str) -> None:
        """Ask the service to visit a page again, which it does later; one request, no credit."""
        await self._pipeline.call("crawl_page", NoneType, page_id)

    async def delete(self, page_id: str) -> None:
        """Delete a page and **all its contents** for good; one request, no credit (specification 4.3)."""
        await self._pipeline.call("delete_page", NoneType, page_id)
