"""What becomes of good answers on their way back: cut, blown up, replaced by something else, or telling another story.

Each spoiling keeps the status. What it spoils took effect: whoever gets it has an answer that cannot be believed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cmsapi.sandbox.messages.answers import JSON, Answer, encode

# Larger than any client should take.
OVERSIZED = 40 * 1024 * 1024
GARBAGE = b"\x16\x03\x01 220 smtp.invalid ready\r\n\r\n"
_DEPTH = 100_000
_DIGITS = 100_000
_PAGE = b"<!doctype html><title>Sign in</title><p>Please accept the terms of this network."
_STATUSES = frozenset({"analysisStatus", "status"})


def _with(answer: Answer, body: bytes, content_type: str | None = None) -> Answer:
    headers = answer.headers if content_type is None else {**answer.headers, "Content-Type": content_type}
    return attrs.evolve(answer, headers=headers, body=body)


def _retold(tell: Callable[[Any], Any]) -> Callable[[Answer], Answer]:
    """Make a spoiling that changes what a document says."""

    def spoil(answer: Answer) -> Answer:
        if not answer.body or answer.headers.get("Content-Type") != JSON:
            return answer
        return _with(answer, encode(tell(json.loads(answer.body))))

    return spoil


def _replaced(value: Any, word: str | None) -> Any:
    """Replace the status of whatever has one, also in lists."""
    if isinstance(value, list):
        return [_replaced(item, word) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: word if name in _STATUSES and isinstance(item, str) else _replaced(item, word)
        for name, item in value.items()
    }


def _superseded(document: Any) -> Any:
    if isinstance(document, dict) and "id" in document:
        return {**document, "id": f"{document['id']}-newer"}
    return document


SPOILINGS: Mapping[str, Callable[[Answer], Answer]] = {
    "truncated": lambda answer: _with(answer, answer.body[: len(answer.body) // 2]),
    "oversized": lambda answer: _with(answer, answer.body + b" " * (OVERSIZED - len(answer.body))),
    "empty": lambda answer: _with(answer, b""),
    "html": lambda answer: _with(answer, _PAGE, "text/html"),
    "nested": lambda answer: _with(answer, b"[" * _DEPTH),
    "digits": lambda answer: _with(answer, b"9" * _DIGITS),
    "null status": _retold(lambda document: _replaced(document, None)),
    "unknown status": _retold(lambda document: _replaced(document, "reticulating")),
    "superseded": _retold(_superseded),
}
#: What is wrong below HTTP: seen as bytes behind a `FaultProxy`, elsewhere as a connection that breaks.
BELOW_HTTP = frozenset({"garbage"})
NAMES = frozenset(SPOILINGS) | BELOW_HTTP
