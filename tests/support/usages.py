"""Credit usages around the launch of an analysis, for tests without a service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cmsapi.api.models.credit_usage import CreditType, CreditUsage, UsageKeyword
from cmsapi.api.models.user import UserRef
from cmsapi.api.models.workspace import WorkspaceRef

#: When the launch was.
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def usage(
    left: int,
    after: float = 1.0,
    *,
    keyword: str = "tents",
    user: str = "usr_1",
    name: str = "Grace Hopper",
    amount: int = 1,
) -> CreditUsage:
    """Make a usage that leaves a balance, some seconds after the launch."""
    first_name, last_name = name.split()
    return CreditUsage(
        id=f"use_{left}",
        created_at=NOW + timedelta(seconds=after),
        amount=amount,
        remaining_credits=left,
        type=CreditType.ANALYSIS,
        keyword=UsageKeyword(keyword=keyword, country_code="US", language_code="en"),
        user=UserRef(id=user, first_name=first_name, last_name=last_name),
        workspace=WorkspaceRef(id="ws_1", name=""),
    )
