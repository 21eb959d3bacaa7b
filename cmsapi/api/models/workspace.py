"""Workspaces: tracked websites (specification, section 2.2)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import REQUIRED, Model


@attrs.frozen(kw_only=True)
class OrganizationRef(Model):
    """Name the organization that owns a workspace.

    Args:
        id: Identifier, or None where the service shows none.
        name: Name.
    """

    id: str | None = None
    name: str


@attrs.frozen(kw_only=True)
class Workspace(Model):
    """Describe a tracked website.

    Args:
        id: Identifier.
        name: Name.
        website_url: Root address of the website.
        country_code: Country, ISO 3166-1 alpha-2.
        country_name: Country, for people.
        language_code: Language, ISO 639-1.
        created_at: When it was created.
        organization: The owner.
    """

    id: str = attrs.field(metadata=REQUIRED)
    name: str
    website_url: str
    country_code: str
    country_name: str
    language_code: str
    created_at: datetime
    organization: OrganizationRef


@attrs.frozen(kw_only=True)
class WorkspaceRef(Model):
    """Name a workspace inside another resource.

    Args:
        id: Identifier.
        name: Name.
    """

    id: str
    name: str
