"""Credit usages (specification, sections 2.7 and 4.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.accounts import TYPES
from cmsapi.sandbox.clock import timestamp
from cmsapi.sandbox.domain.organisation import person

if TYPE_CHECKING:
    from cmsapi.sandbox.call import Call, Document
    from cmsapi.sandbox.records import Usage


def list_credit_usages(call: Call) -> Document:
    """List the entries of one type, filtered by a text in the keyword."""
    usages = call.store.usages[call.query.choice("type", TYPES)]
    if text := call.query.text("q"):
        wanted = text.casefold()
        usages = [usage for usage in usages if wanted in usage.keyword.casefold()]
    return call.page(usages, _show)


def _show(usage: Usage) -> Document:
    return {
        "id": usage.id,
        "createdAt": timestamp(usage.created_at),
        "amount": usage.amount,
        "remainingCredits": usage.remaining_credits,
        "type": usage.type,
        "keyword": {
            "keyword": usage.keyword,
            "countryCode": usage.country_code,
            "languageCode": usage.language_code,
        },
        "user": person(usage.user),
        "workspace": {"id": usage.workspace.id, "name": usage.workspace.name},
    }
