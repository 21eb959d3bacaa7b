"""The organization that a key belongs to: users, workspaces and credits (specification 2.1, 2.2, 2.7)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

from cmsapi.models.base import Model, Reference, UserReference


@frozen(kw_only=True, slots=False)
class Credits(Model):
    """An organization's remaining credits, by type."""

    analysis: int | None = None
    ai_writing: int | None = None
    content_ideas_searches: int | None = None


@frozen(kw_only=True, slots=False)
class Organization(Model):
    """The organization that a key belongs to."""

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
        role: ``Admin`` or ``Member`` in an organization (specification 2.8); a workspace has others, such as ``owner``.
    """

    id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    job_title: str | None = None
    profile_image_url: str | None = None
    role: str | None = None
    created_at: datetime | None = None


@frozen(kw_only=True, slots=False)
class Workspace(Model):
    """A workspace, which tracks one website."""

    id: str
    name: str | None = None
    website_url: str | None = None
    country_code: str | None = None
    country_name: str | None = None
    language_code: str | None = None
    created_at: datetime | None = None
    organization: Reference | None = None


class CreditType(StrEnum):
    """A type of credit (specification 2.7). ``CreditType`` accepts any string, because the service may add types."""

    ANALYSIS = "analysis"
    AI_WRITING = "ai_writing"
    CONTENT_IDEA_SEARCH = "content_idea_search"

    @classmethod
    def _missing_(cls, value: object) -> CreditType | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = member._value_ = value
        return member


@frozen(kw_only=True, slots=False)
class UsageKeyword(Model):
    """The keyword for which credits were spent."""

    keyword: str | None = None
    country_code: str | None = None
    language_code: str | None = None


@frozen(kw_only=True, slots=False)
class CreditUsage(Model):
    """One use of credits.

    Attributes:
        amount: Number of credits spent.
        remaining_credits: Number of credits of this type that were left afterwards.
    """

    id: str | None = None
    created_at: datetime | None = None
    amount: int | None = None
    remaining_credits: int | None = None
    type: CreditType | None = None
    keyword: UsageKeyword | None = None
    user: UserReference | None = None
    workspace: Reference | None = None
