"""Credit usages (specification, sections 2.7 and 4.7)."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.books import Books
    from cmsapi.sandbox.world.records import Usage

_CUT = 255


def list_credit_usages(call: Call) -> Document:
    """List the usages of one type of credit, filtered by a text in the keyword."""
    behaviour, books = call.world.behaviour, call.world.books
    if books.refused:
        raise Refusal(403, "usages are refused")
    usages = call.store.usages[call.query["type"]]
    if text := call.query["q"]:
        wanted = text.casefold()
        usages = [usage for usage in usages if wanted in usage.keyword.casefold()]
    if len(behaviour.stamps_ahead) > 1:
        usages = sorted(usages, key=lambda usage: usage.created_at)
    if books.oldest_first and behaviour.order == "newest":
        usages = usages[::-1]
    return call.page(usages, lambda usage: _show(usage, behaviour, books), largest=books.page_size, last=books.pages)


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


def _write(usage: Usage, behaviour: Behaviour, books: Books) -> Document | None:
    """Return the keyword of a usage as the books write it."""
    if books.keyword == "null":
        return None
    keyword, country = _spell(usage.keyword, behaviour), usage.workspace.country_code
    ways = {"decorated": f"{usage.type} {keyword} ({country})", "upper": keyword.upper(), "other": "a keyword"}
    return {
        "keyword": ways.get(books.keyword, keyword),
        "countryCode": country.lower() if behaviour.usage_country == "lower" else country,
        "languageCode": usage.workspace.language_code,
    }


def _identify(usage: Usage, books: Books) -> Document | None:
    """Return the user under whom a usage stands."""
    if books.user == "key":
        return show("Person", usage.user)
    return {"id": "api", "firstName": "API"} if books.user == "api" else None


def _show(usage: Usage, behaviour: Behaviour, books: Books) -> Document:
    document = show(
        "CreditUsage",
        usage,
        keyword=_write(usage, behaviour, books),
        user=_identify(usage, books),
        workspace=show("Reference", usage.workspace),
    )
    if books.keyword == "absent":
        del document["keyword"]
    return document
