"""Members of the organisation (specification 4.8)."""

from __future__ import annotations

from cmsapi.api.models.user import Member
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class Users(Resource):
    """Read the members of the organisation."""

    def list(self, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Member, Page[Member]]:
        """List the members of the organisation; one request a page, no credit. Needs the role Admin.

        Args:
            page: Number of the page to begin with.
            limit: Members a page, 1 to 100.

        Raises:
            ForbiddenError: The key's user is not an admin.
        """
        return self._caller.paginate(Member, "list_users", page=page, limit=limit)
