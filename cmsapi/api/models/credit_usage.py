"""Consumption of credits (specification, section 2.7)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import Model, OpenEnum
from cmsapi.api.models.user import UserRef
from cmsapi.api.models.workspace import WorkspaceRef


class CreditType(OpenEnum):
    """List what credits are spent on."""

    ANALYSIS = "analysis"
    AI_WRITING = "ai_writing"
    CONTENT_IDEA_SEARCH = "content_idea_search"


@attrs.frozen(kw_only=True)
class UsageKeyword(Model):
    """Describe the keyword on which a credit was spent.

    Args:
        keyword: The search term.
        country_code: Country, ISO 3166-1 alpha-2.
        language_code: Language, ISO 639-1.
    """

    keyword: str
    country_code: str
    language_code: str


@attrs.frozen(kw_only=True)
class CreditUsage(Model):
    """Describe one consumption of credits.

    Args:
        id: Identifier, or None where the service shows none.
        created_at: When it happened.
        amount: Number of credits.
        remaining_credits: Balance after it, in credits of the same type.
        type: Type of credit.
        keyword: On which keyword.
        user: By whom.
        workspace: In which workspace.
    """

    id: str | None = None
    created_at: datetime
    amount: int
    remaining_credits: int
    type: CreditType
    keyword: UsageKeyword
    user: UserRef
    workspace: WorkspaceRef
