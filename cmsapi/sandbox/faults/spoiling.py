"""Spoilings: changes to a good answer on its way back, which truncate, inflate, replace or falsify it.

Each spoiling keeps the HTTP status. The request has taken effect, and its client cannot trust the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cmsapi.sandbox.messages.answers import JSON, Answer, encode

# Larger than any answer that a client should accept.
OVERSIZED = 40 * 1024 * 1024
GARBAGE = b"\x16\x03\x01 220 smtp.invalid ready\r\n\r\n"
_DEPTH = 100_000
_DIGITS = 100_000
_GATEWAY_PAGE = b"<!doctype html><title>Sign in</title><p>Please accept the terms of this network."
_STATUSES = frozenset({"analysisStatus", "status"})


def _evolve(answer: Answer, body: bytes, content_type: str | None = None) -> Answer:
    headers = answer.headers if content_type is None else {**answer.headers, "Content-Type": content_type}
    return attrs.evolve(answer, headers=headers, body=body)


def _rewriting(rewrite: Callable[[Any], Any]) -> Callable[[Answer], Answer]:
    """Make a spoiling that changes the JSON document."""

    def spoil(answer: Answer) -> Answer:
        if not answer.body or answer.headers.get("Content-Type") != JSON:
            return answer
        return _evolve(answer, encode(rewrite(json.loads(answer.body))))

    return spoil


def _replace_status(value: Any, word: str | None) -> Any:
    """Replace each status in a document, in lists, too."""
    if isinstance(value, list):
        return [_replace_status(item, word) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: word if name in _STATUSES and isinstance(item, str) else _replace_status(item, word)
        for name, item in value.items()
    }


def _renaming(rename: Callable[[str], str]) -> Callable[[Answer], Answer]:
    """Make a spoiling that changes the identifier of a document."""

    def rewrite(document: Any) -> Any:
        if isinstance(document, dict) and "id" in document:
            return {**document, "id": rename(document["id"])}
        return document

    return _rewriting(rewrite)


SPOILINGS: Mapping[str, Callable[[Answer], Answer]] = {
    "truncated": lambda answer: _evolve(answer, answer.body[: len(answer.body) // 2]),
    "oversized": lambda answer: _evolve(answer, answer.body + b" " * (OVERSIZED - len(answer.body))),
    "empty": lambda answer: _evolve(answer, b""),
    "html": lambda answer: _evolve(answer, _GATEWAY_PAGE, "text/html"),
    "nested": lambda answer: _evolve(answer, b"[" * _DEPTH),
    "digits": lambda answer: _evolve(answer, b"9" * _DIGITS),
    "null status": _rewriting(lambda document: _replace_status(document, None)),
    "unknown status": _rewriting(lambda document: _replace_status(document, "reticulating")),
    "superseded": _renaming("{}-newer".format),
    "empty id": _renaming(lambda _: ""),
    "dots id": _renaming(lambda _: ".."),
}
# Spoilings below HTTP: a `FaultProxy` sends their bytes; without one the connection breaks.
BELOW_HTTP = frozenset({"garbage"})
NAMES = frozenset(SPOILINGS) | BELOW_HTTP
