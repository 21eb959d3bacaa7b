"""Entries of the credit account (specification 2.7)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model, OpenEnum
from cmsapi.models.references import Reference, UserReference


class CreditType(OpenEnum):
    """Kinds of credits (specification 2.7)."""

    ANALYSIS = "analysis"
    AI_WRITING = "ai_writing"
    CONTENT_IDEA_SEARCH = "content_idea_search"


@frozen(kw_only=True, slots=False)
class UsageKeyword(Model):
    """The keyword for which credits were spent."""

    keyword: str | None = None
    country_code: str | None = None
    language_code: str | None = None


@frozen(kw_only=True, slots=False)
class CreditUsage(Model):
    """An entry of the credit account.

    Attributes:
        amount: Credits spent.
        remaining_credits: Credits of this type that were left afterwards.
    """

    id: str | None = None
    created_at: datetime | None = None
    amount: int | None = None
    remaining_credits: int | None = None
    type: CreditType | None = None
    keyword: UsageKeyword | None = None
    user: UserReference | None = None
    workspace: Reference | None = None
