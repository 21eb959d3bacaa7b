"""Pages of the tracked website (specification 2.8)."""

from __future__ import annotations

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class WebPage(Model):
    """A page of the tracked website, with keywords and contents.

    Attributes:
        url: Address; None for the empty page of a draft (specification 4.3).
        last_status_code: HTTP status of the last visit.
    """

    id: str
    url: str | None = None
    last_status_code: int | None = None
