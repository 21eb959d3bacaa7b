"""Members of an organization or a workspace (specification, sections 2.8 and 4.8, which show only the role)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import PUBLISHED, Model
from cmsapi.api.open_enum import OpenEnum


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
