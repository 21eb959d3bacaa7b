"""Brand voices: editorial identities for AI generation (specification 2.8 and 4.8)."""

from __future__ import annotations

from cmsapi.api.models.brand_voice import BrandVoice
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class BrandVoices(Resource):
    """Read brand voices."""

    def list(
        self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[BrandVoice, Page[BrandVoice]]:
        """List the brand voices of a workspace; one request a page, no credit."""
        path = {"workspaceId": workspace_id}
        return self._caller.paginate(BrandVoice, "list_brand_voices", path, page=page, limit=limit)

    async def get(self, brand_voice_id: str) -> BrandVoice:
        """Read a brand voice; one request, no credit."""
        return await self._caller.call(BrandVoice, "get_brand_voice", {"brandVoiceId": brand_voice_id})
