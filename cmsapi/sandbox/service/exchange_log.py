"""The texts of the latest requests and answers, for the live page; the ledger has all requests, without texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.answers import Answer
    from cmsapi.sandbox.messages.request import Request

# The number of exchanges that are kept, and of bytes of each body.
MOST_KEPT = 500
LONGEST_BODY = 4000
_HEADERS = ("Content-Type", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After")


@attrs.frozen
class LoggedExchange:
    """A request and its answer; no header of the request is kept, because one of them has the key.

    Args:
        query: Query of the request, percent-encoded.
        asked: Beginning of the body of the request.
        answered: Beginning of the body of the answer; None if the connection was dropped.
        headers: Headers of the answer that clients go by.
        fault: The fault that has broken the request, in words; None if none did.
    """

    query: str
    asked: str
    answered: str | None
    headers: Mapping[str, str]
    fault: str | None


class ExchangeLog:
    """Keep the latest exchanges by their request ids, from the moment a reader is there."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, LoggedExchange] | None = None

    def start(self) -> None:
        """Keep exchanges from now on."""
        self._kept = OrderedDict() if self._kept is None else self._kept

    def add(self, request: Request, answer: Answer | None, fault: str | None) -> None:
        """Keep an exchange, in place of the oldest one if there are too many."""
        if self._kept is None:
            return
        headers = {} if answer is None else {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
        answered = None if answer is None else _text(answer.body)
        self._kept[request.id] = LoggedExchange(request.query, _text(request.body), answered, headers, fault)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def find(self, request_id: str) -> LoggedExchange | None:
        """Return an exchange; None if it is not kept."""
        return None if self._kept is None else self._kept.get(request_id)


def _text(body: bytes) -> str:
    more = len(body) - LONGEST_BODY
    return body[:LONGEST_BODY].decode(errors="replace") + (f"… {more:,} bytes more" if more > 0 else "")
