"""Members of the organisation (specification 4.8)."""

from __future__ import annotations

from cmsapi.api.models.user import Member
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class Users(Resource):
    """Read the members of the organisation."""

    def list(self, *, limit: int = LARGEST_PAGE, first: int = 1) -> Paginator[Member]:
        """List the members of the organisation; one request a page. Needs the role Admin.

        Args:
            limit: Members a page, 1 to 100.
            first: Number of the page to begin with.

        Raises:
            ForbiddenError: The key's user is not an admin.
        """
        return self._caller.paginate(Member, "list_users", limit=limit, first=first)
