"""Workspaces (specification 2.2)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model
from cmsapi.models.references import Reference


@frozen(kw_only=True, slots=False)
class Workspace(Model):
    """A tracked website."""

    id: str
    name: str | None = None
    website_url: str | None = None
    country_code: str | None = None
    country_name: str | None = None
    language_code: str | None = None
    created_at: datetime | None = None
    organization: Reference | None = None
