"""One row of the ledger in full: what was asked, what was answered, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cmsapi.sandbox.messages.answers import message_of

if TYPE_CHECKING:
    from cmsapi.sandbox.service.exchange_log import ExchangeLog, LoggedExchange
    from cmsapi.sandbox.service.ledger import Entry, Ledger

# A client may put a key where none belongs, and the page shows none.
_KEY = re.compile(r"sk_\w+")
_BAD = 400


def details(ledger: Ledger, exchanges: ExchangeLog, number: int) -> dict[str, Any] | None:
    """Describe a request; None if the ledger has no such entry.

    Args:
        ledger: The ledger.
        exchanges: The texts of the latest requests.
        number: Place of the entry in the ledger.
    """
    if number >= len(ledger):
        return None
    entry = ledger[number]
    exchange = exchanges.find(entry.request_id)
    query = f"?{exchange.query}" if exchange is not None and exchange.query else ""
    return {
        "why": _why(entry, exchange),
        "kept": exchange is not None,
        "request": _shown(f"{entry.method} {entry.path}{query}"),
        "request_body": None if exchange is None else _shown(exchange.asked),
        "request_id": entry.request_id,
        "status": entry.status,
        "headers": {} if exchange is None else dict(exchange.headers),
        "answer_body": None if exchange is None or exchange.answered is None else _shown(exchange.answered),
    }


def _why(entry: Entry, exchange: LoggedExchange | None) -> list[str]:
    """Say in sentences what became of a request."""
    fault = None if exchange is None else exchange.fault
    answered = entry.status is not None and entry.status < _BAD
    sentences = [] if fault is None else [f"A fault has struck it: {fault}."]
    if entry.effect:
        sentences.append(f"The service did what was asked{', which took a credit' if entry.charged else ''}.")
        if not answered:
            sentences.append("The client cannot know that from this answer, so it must not repeat the request blindly.")
        return sentences
    message = None if exchange is None or exchange.answered is None else message_of(exchange.answered)
    if fault is None and message is not None:
        sentences.append(f"The service refused it: {_shown(message)}.")
    if fault is None and answered:
        sentences.append("The service answered from what it has.")
    sentences.append("Nothing was changed, and nothing was charged.")
    return sentences


def _shown(text: str) -> str:
    return _KEY.sub("sk_…", text)
