"""Brand voices (specification 2.8, 4.8)."""

from __future__ import annotations

from cmsapi.models import BrandVoice
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT
from cmsapi.wire.paging import Paginator


class BrandVoices(Resource):
    """Read brand voices. The specification does not show how."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[BrandVoice]:
        """List the brand voices of a workspace; one request a page, no credit.

        Args:
            workspace_id: The workspace.
            page: Number of the first page to read, from 1.
            limit: Brand voices a page, 1 to 100.
        """
        return self._pipeline.list("list_brand_voices", BrandVoice, workspace_id, page=page, limit=limit)

    async def get(self, brand_voice_id: str) -> BrandVoice:
        """Return a brand voice; one request, no credit."""
        return await self._pipeline.call("get_brand_voice", BrandVoice, brand_voice_id)
