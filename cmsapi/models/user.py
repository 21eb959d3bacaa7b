"""Users, their organization and its credits (specification 2.1)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class Credits(Model):
    """Credits that an organization has left, by what they pay for."""

    analysis: int | None = None
    ai_writing: int | None = None
    content_ideas_searches: int | None = None


@frozen(kw_only=True, slots=False)
class Organization(Model):
    """The organization of a key."""

    id: str | None = None
    name: str | None = None
    created_at: datetime | None = None
    brand_name: str | None = None
    brand_image_url: str | None = None
    credits: Credits | None = None
    users_count: int | None = None
    workspaces_count: int | None = None


@frozen(kw_only=True, slots=False)
class User(Model):
    """The user to whom a key belongs."""

    id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    profile_image_url: str | None = None
    job_title: str | None = None
    language_code: str | None = None
    organization: Organization | None = None
    created_at: datetime | None = None


@frozen(kw_only=True, slots=False)
class Member(Model):
    """A member of an organization or of a workspace.

    Attributes:
        role: ``Admin`` or ``Member`` in an organization (specification 2.8); others in a workspace, such as ``owner``.
    """

    id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    job_title: str | None = None
    profile_image_url: str | None = None
    role: str | None = None
    created_at: datetime | None = None
