"""The part of a list's envelope that says where the page stands (specification, section 1, convention 3)."""

from __future__ import annotations

import attrs

from cmsapi.api.model import Model


@attrs.frozen(kw_only=True)
class Pagination(Model):
    """Describe the place of a page in its list.

    Args:
        total: Number of items in the whole list.
        page: Number of the page, from 1.
        limit: Largest number of items on a page, 1 to 100.
        has_more: Whether another page follows.
    """

    total: int
    page: int
    limit: int
    has_more: bool
