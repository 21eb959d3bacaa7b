"""Members of the organization (specification 4.8)."""

from __future__ import annotations

from cmsapi.models import Member
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT
from cmsapi.wire.paging import Paginator


class Users(Resource):
    """List the members of the organization. The key's own user is `Client.me`."""

    def list(self, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Member]:
        """List the members with their role; one request a page, no credit (specification 4.8).

        Args:
            page: Number of the first page to read, from 1.
            limit: Members a page, 1 to 100.

        Raises:
            ForbiddenError: The key's user is no admin.
        """
        return self._pipeline.list("list_users", Member, page=page, limit=limit)
