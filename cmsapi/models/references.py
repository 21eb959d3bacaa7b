"""Short forms of resources inside other ones."""

from __future__ import annotations

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class Reference(Model):
    """An organization, a workspace or a folder inside another resource."""

    id: str | None = None
    name: str | None = None


@frozen(kw_only=True, slots=False)
class WorkspaceReference(Reference):
    """The workspace of a knowledge document (specification 2.5b)."""

    website_url: str | None = None


@frozen(kw_only=True, slots=False)
class UserReference(Model):
    """A user inside another resource; only an assignee comes with ``email`` and ``profile_image_url``."""

    id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    profile_image_url: str | None = None
