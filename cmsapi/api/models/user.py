"""Users and members, and the organization (specification, sections 2.1, 2.8 and 4.8)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import LENIENT, PUBLISHED, Model, OpenEnum


@attrs.frozen(kw_only=True)
class Credits(Model):
    """Describe the remaining balances of an organization.

    Args:
        analysis: Credits left for analyses of keywords and prompts.
        ai_writing: Credits left for generations of content.
        content_ideas_searches: Credits left for searches of content ideas.
    """

    analysis: int
    ai_writing: int
    content_ideas_searches: int


@attrs.frozen(kw_only=True)
class Organization(Model):
    """Describe the organization to which the key belongs.

    Args:
        id: Identifier.
        name: Name.
        created_at: When it was created.
        brand_name: Name of the brand, if any.
        brand_image_url: Address of the brand's image, if any.
        credits: Remaining balances.
        users_count: Number of members.
        workspaces_count: Number of workspaces.
    """

    # The journal belongs to the organization, and the books are its balances: nothing else of it may stop a launch.
    id: str
    name: str
    created_at: datetime = attrs.field(metadata=LENIENT)
    brand_name: str | None = None
    brand_image_url: str | None = None
    credits: Credits
    users_count: int
    workspaces_count: int


@attrs.frozen(kw_only=True)
class User(Model):
    """Describe the user who created the key.

    Args:
        id: Identifier.
        first_name: First name.
        last_name: Last name.
        email: Address for mail.
        profile_image_url: Address of the portrait, if any.
        job_title: Job title.
        language_code: Code of the language of the application.
        organization: The organization, with its credits.
        created_at: When the user was created.
    """

    id: str
    first_name: str
    last_name: str
    email: str
    profile_image_url: str | None = None
    job_title: str
    language_code: str
    organization: Organization
    created_at: datetime = attrs.field(metadata=LENIENT)


@attrs.frozen(kw_only=True)
class UserRef(Model):
    """Name a user inside another resource.

    Args:
        id: Identifier.
        first_name: First name.
        last_name: Last name.
    """

    id: str
    first_name: str
    last_name: str


class Role(OpenEnum):
    """List the roles in an organization; members of a workspace carry other words, such as `owner`."""

    ADMIN = "Admin"
    MEMBER = "Member"


@attrs.frozen(kw_only=True)
class Member(Model):
    """Describe a member.

    Args:
        id: Identifier.
        first_name: First name.
        last_name: Last name.
        email: Address for mail.
        job_title: Job title.
        profile_image_url: Address of the portrait, if any.
        role: Role.
        created_at: When the member joined.
    """

    id: str = attrs.field(metadata=PUBLISHED)
    first_name: str = attrs.field(metadata=PUBLISHED)
    last_name: str = attrs.field(metadata=PUBLISHED)
    email: str = attrs.field(metadata=PUBLISHED)
    job_title: str | None = attrs.field(default=None, metadata=PUBLISHED)
    profile_image_url: str | None = attrs.field(default=None, metadata=PUBLISHED)
    role: Role
    created_at: datetime = attrs.field(metadata=PUBLISHED)
