"""What credits were spent for (specification 2.7, 4.7)."""

from __future__ import annotations

from typing import Literal

from cmsapi.models import CreditType, CreditUsage
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT, check_word
from cmsapi.wire.paging import Paginator


class CreditUsages(Resource):
    """List what credits were spent for."""

    def list(
        self,
        type: CreditType | Literal["analysis", "ai_writing", "content_idea_search"],  # noqa: A002  the service's name
        *,
        text: str | None = None,
        page: int = 1,
        limit: int = MAX_LIMIT,
    ) -> Paginator[CreditUsage]:
        """List the organization's entries of one type of credits; one request a page, no credit (specification 4.7).

        Args:
            type: Type of credits; the service takes one a request.
            text: Only entries with this text.
            page: Number of the first page to read, from 1.
            limit: Entries a page, 1 to 100.
        """
        params = {"type": check_word("type", type, CreditType), "q": text}
        return self._pipeline.list("list_credit_usages", CreditUsage, params=params, page=page, limit=limit)
