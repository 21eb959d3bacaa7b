"""Credit usages (specification, sections 2.7 and 4.7)."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from cmsapi.sandbox.domain.organisation import show_person
from cmsapi.sandbox.world.billing import TYPES
from cmsapi.sandbox.world.clock import timestamp

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call, Document
    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.records import Usage

_CUT = 255


def list_credit_usages(call: Call) -> Document:
    """List the usages of one type of credit, filtered by a text in the keyword."""
    usages = call.store.usages[call.query.choice("type", TYPES)]
    if text := call.query.text("q"):
        wanted = text.casefold()
        usages = [usage for usage in usages if wanted in usage.keyword.casefold()]
    behaviour = call.world.behaviour
    if len(behaviour.stamps_ahead) > 1:
        usages = sorted(usages, key=lambda usage: usage.created_at)
    return call.page(usages, lambda usage: _show(usage, behaviour))


def _spell(keyword: str, behaviour: Behaviour) -> str:
    """Return the spelling of a keyword in usages."""
    ways = behaviour.usage_keyword
    if "nfc" in ways:
        keyword = unicodedata.normalize("NFC", keyword)
    if "trimmed" in ways:
        keyword = keyword.strip()
    if "lower" in ways:
        keyword = keyword.lower()
    return keyword[:_CUT] if "cut" in ways else keyword


def _show(usage: Usage, behaviour: Behaviour) -> Document:
    country = usage.workspace.country_code
    return {
        "id": usage.id,
        "createdAt": timestamp(usage.created_at),
        "amount": usage.amount,
        "remainingCredits": usage.remaining_credits,
        "type": usage.type,
        "keyword": {
            "keyword": _spell(usage.keyword, behaviour),
            "countryCode": country.lower() if behaviour.usage_country == "lower" else country,
            "languageCode": usage.workspace.language_code,
        },
        "user": show_person(usage.user),
        "workspace": {"id": usage.workspace.id, "name": usage.workspace.name},
    }
