"""Pages of the tracked website (specification 4.3 and 4.8)."""

from __future__ import annotations

from cmsapi.api.arguments import text
from cmsapi.api.models.keyword import Acknowledgement
from cmsapi.api.models.web_page import WebPage
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class Pages(Resource):
    """Read, import, crawl and delete pages."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[WebPage, Page[WebPage]]:
        """List the pages of a workspace; one request a page of the list, no credit."""
        return self._caller.paginate(WebPage, "list_pages", {"workspaceId": workspace_id}, page=page, limit=limit)

    async def create(self, workspace_id: str, url: str) -> WebPage:
        """Import a page by its URL; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. It may have been imported; list the pages before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        body = {"url": text("url", url)}
        return await self._caller.call(WebPage, "import_page", {"workspaceId": workspace_id}, body=body)

    async def get(self, page_id: str) -> WebPage:
        """Read a page; one request, no credit."""
        return await self._caller.call(WebPage, "get_page", {"pageId": page_id})

    async def crawl(self, page_id: str) -> Acknowledgement:
        """Have a page crawled again; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. The crawl may have been started.
            ServerError: The service failed; the same holds.
        """
        return await self._caller.call(Acknowledgement, "crawl_page", {"pageId": page_id})

    async def delete(self, page_id: str) -> None:
        """Delete a page **and its contents**; one request, no credit. It cannot be undone. Needs the role Admin."""
        await self._caller.exchange("delete_page", {"pageId": page_id})
